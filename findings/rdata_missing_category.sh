#!/bin/sh
# A missing category comes back as a category from an R file that rdata wrote.
#
# rdata 1.1.0 with pandas 3.0 or later, on Python 3.11: write_rds writes a missing value of a pandas
# categorical as code 0 of the factor, where R has its missing integer, and read_rds takes code 0 for
# the last level.  So a table that goes through a file has people of a sex that nobody stated, and
# nothing is said.
#
# Seen on 29 November 2026:
#     written: ['F', None, 'M', 'F']
#     codes in the file: [1, 0, 2, 1]
#     read: ['F', 'M', 'M', 'F']
#
# It fails if that changes.  Tables of R that this project reads take code 0 for a missing value.
set -eu

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet rdata==1.1.0 pandas==3.0.1
"$place/venv/bin/python" - "$place/table.rds" <<'PYTHON'
import sys

import pandas as pd
import rdata

path = sys.argv[1]
sexes = ["F", None, "M", "F"]
frame = pd.DataFrame({"sex": pd.Categorical(sexes, ["F", "M"]), "age": [1.0, 2.0, 3.0, 4.0]})
rdata.write_rds(path, frame)
codes = []


def factor(values, attributes):
    codes.extend(values.tolist())
    return values


rdata.conversion.convert(
    rdata.parser.parse_file(path), {**rdata.conversion.DEFAULT_CLASS_MAP, "factor": factor}
)
found = rdata.read_rds(path)["sex"].tolist()
print("written:", sexes)
print("codes in the file:", codes)
print("read:", found)
if (codes, found) != ([1, 0, 2, 1], ["F", "M", "M", "F"]):
    sys.exit("rdata does otherwise now: look again, and correct or remove this finding")
PYTHON
