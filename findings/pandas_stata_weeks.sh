#!/bin/sh
# pandas writes the last day of a year as the first week of the next one in files of Stata.
#
# pandas 3.1.1, on Python 3.11: to_stata with convert_dates={"day": "tw"} keeps a day as a number of
# weeks.  Stata has 52 of them a year, of which the last has eight or nine days.  pandas counts
# 31 December, and 30 December of a leap year, to a 53rd week, which is the first of the next year:
# the file, read again by pandas, has a week that begins after the day that was written.
#
# Seen on 30 November 2026:
#     2001-12-30 week 2183, read 2001-12-24
#     2001-12-31 week 2184, read 2002-01-01
#     2004-12-29 week 2339, read 2004-12-23
#     2004-12-30 week 2340, read 2005-01-01
#
# It fails if that changes.  This project reads numbers of weeks as Stata counts them, so that such
# a file has the days that pandas reads, not those that were written: write days (%td) instead.
set -eu

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet pandas==3.1.1 numpy==2.4.6
"$place/venv/bin/python" - "$place/table.dta" <<'PYTHON'
import sys

import pandas as pd

path = sys.argv[1]
days = pd.to_datetime(["2001-12-30", "2001-12-31", "2004-12-29", "2004-12-30"])
pd.DataFrame({"day": days}).to_stata(path, convert_dates={"day": "tw"}, write_index=False)
weeks = pd.read_stata(path, convert_dates=False)["day"].astype(int).tolist()
read = pd.read_stata(path)["day"].dt.strftime("%Y-%m-%d").tolist()
for day, week, again in zip(days, weeks, read):
    print(f"{day:%Y-%m-%d} week {week}, read {again}")
if (weeks, read) != (
    [2183, 2184, 2339, 2340],
    ["2001-12-24", "2002-01-01", "2004-12-23", "2005-01-01"],
):
    sys.exit("pandas does otherwise now: look again, and correct or remove this finding")
PYTHON
