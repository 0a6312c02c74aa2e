#!/bin/sh
# One date beyond Python's calendar makes a whole file of SPSS unreadable.
#
# pyreadstat 1.3.7, on Python 3.11: a column of dates in SPSS holds seconds since 1582.  One such date
# after the year 9999, as in a code for "never", and read_sav
# of all rows and columns ends in an OverflowError; with disable_datetime_conversion=True the same
# file is read, with seconds for dates.
#
# Seen on 29 November 2026:
#     as dates: OverflowError: date value out of range
#     as numbers: [13000000000.0, 300000000000.0]
#
# It fails if that changes.  Files that this project reads are read with numbers for dates, so that
# no record decides whether the others can be read.
set -eu

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet pyreadstat==1.3.7 pandas==3.0.1
"$place/venv/bin/python" - "$place/table.sav" <<'PYTHON'
import sys

import pandas as pd
import pyreadstat

path = sys.argv[1]
frame = pd.DataFrame({"id": [1.0, 2.0], "seen": [1.3e10, 3e11]})
pyreadstat.write_sav(frame, path, variable_format={"seen": "DATE11"})
try:
    pyreadstat.read_sav(path)
    words = "read"
except OverflowError as problem:
    words = f"OverflowError: {problem}"
numbers, _ = pyreadstat.read_sav(path, disable_datetime_conversion=True)
print("as dates:", words)
print("as numbers:", numbers["seen"].tolist())
if words != "OverflowError: date value out of range" or numbers["seen"].tolist() != [1.3e10, 3e11]:
    sys.exit("pyreadstat does otherwise now: look again, and correct or remove this finding")
PYTHON
