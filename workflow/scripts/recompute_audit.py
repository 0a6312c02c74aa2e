"""Recompute a privacy loss of the audit from its neighbours: `recompute_audit.py FOLDER PAIR`.

The folder is results/audit, and the pair a name in the first column of audit.csv.  The public
choices are those of config/audit.yaml.
"""

import sys
from pathlib import Path

import pandas as pd

from reproduction.configuration import load_settings
from reproduction.measurements.audit.losses import recompute, verdict
from reproduction.places import shipped


def main(folder, name):
    folder = Path(folder)
    table = pd.read_csv(folder / "audit.csv").set_index("pair")
    if name not in table.index:
        sys.exit(f"{folder / 'audit.csv'} has no pair {name!r}: copy one from its first column")
    neighbours = pd.read_csv(folder / "neighbours.csv")
    row = table.loc[name]
    found = recompute(load_settings(shipped("config/audit.yaml")), row, neighbours, name)
    again = verdict(found.loss, found.error, row["stated"])
    print(f"{name}: realised {found.loss:.6g}, the table has {row['realised']:.6g}")
    print(f"stated {row['stated']:g}: {again}, the table has {row['verdict']}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    main(*sys.argv[1:])
