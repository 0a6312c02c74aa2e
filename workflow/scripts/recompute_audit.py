"""Compute a loss of the audit again, from its neighbours: `recompute_audit.py FOLDER PAIR`.

The folder is results/audit, and the pair a name in the first column of audit.csv.  Run from the
folder of the checkout, whose config/audit.yaml has the public choices.
"""

import sys
from pathlib import Path

import pandas as pd
from audits import recompute
from configuration import load_audit


def main(folder, name):
    folder = Path(folder)
    table = pd.read_csv(folder / "audit.csv").set_index("pair")
    if name not in table.index:
        sys.exit(f"{folder / 'audit.csv'} has no pair {name!r}: copy one from its first column")
    neighbours = pd.read_csv(folder / "neighbours.csv")
    found = recompute(load_audit(Path("config")), table.loc[name], neighbours, name)
    print(f"{name}: realised {found.loss:.6g}, the table has {table.loc[name, 'realised']:.6g}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    main(*sys.argv[1:])
