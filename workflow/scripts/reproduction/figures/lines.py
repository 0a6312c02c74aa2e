"""Curves over a column of tidy tables, with bands; panels, curves and their names are settings."""

from dataclasses import replace
from itertools import chain, zip_longest
from numbers import Number

import numpy as np
import pandas as pd

from geodp.errors import DataError
from geodp.mechanisms.mechanism import FALSE, NONE, PROVED
from reproduction.figures import style


def draw(*tables, params):
    settings = params.figure
    names = dict.fromkeys(panel["table"] for panel in settings["panels"])
    read = dict(zip(names, tables, strict=True))
    parts = [_parts(panel, read[panel["table"]]) for panel in settings["panels"]]
    # The panels of one value stand in a row.
    shown = [part for part in chain(*zip_longest(*parts)) if part]
    columns = len(parts) if len(parts) > 1 else len(shown) if len(shown) < 4 else 2
    rows, labels, numbers = -(-len(shown) // columns), settings["labels"], []
    figure, axes = style.new_figure(rows, columns, width=3.5 * columns, height=2.8 * rows + 0.7)
    found = [(*part, _curves(*part, labels)) for part in shown]
    curves = [name for name in labels if any(name in each for *_, each in found)]
    known = {*curves, *(value for _, value, *_ in found)}
    for name in chain(labels, *(panel["dots"] for panel in settings["panels"])):
        if name not in known:
            raise DataError(
                f"labels or dots of the figure name {name}, which is no curve of it with a label "
                f"(there are: {', '.join(curves)}): name one of these or leave it out"
            )
    looks = {name: _look(k) for k, name in enumerate(curves)}
    for axis, (panel, value, _, each) in zip(axes.ravel(), found, strict=False):
        title = labels.get(value, value)
        # A power is set as one.
        title = f"${title}$" if "^" in title else title
        for name, part in each.items():
            dots = name in panel["dots"]
            _draw_curve(axis, part, looks[name], labels[name], dots)
            numbers.append(part.assign(panel=title, curve=name, label=labels[name]))
        _finish(axis, panel, title)
    for axis in axes.ravel()[len(shown) :]:
        axis.set_visible(False)
    style.share_legend(figure, axes, 3)
    return figure, pd.concat(numbers, ignore_index=True)


def _look(number):
    """Style of a curve by its place: after all colours other markers and lines."""
    styles = (*style.CURVES, style.Curve("#7a7a7a", "v", ":"))
    last = styles[(number + number // len(styles)) % len(styles)]
    return replace(last, colour=styles[number % len(styles)].colour)


def _parts(panel, table):
    """Panels of a section: the section, the value that the rows share, and the rows."""
    for column, value in panel["where"].items():
        # Variances are text.
        table = table[pd.to_numeric(table[column], errors="coerce") == value]
    if table.empty:
        raise DataError(
            f"no row of the table {panel['table']} is as where of the figure wants it: change that"
        )
    if "each" not in panel:
        return [(panel, "", table)]
    keys = _names(table[panel["each"]])
    return [(panel, value, rows) for value, rows in table.groupby(keys, sort=False)]


def _names(column):
    """Values of a column as labels have them."""
    return column.map(lambda each: f"{each:g}" if isinstance(each, Number) else str(each))


def _curves(panel, value, rows, labels):
    """Numbers of the curves of a panel that have a label, by name and in that order."""
    if "of" in panel:
        named = {name: (panel["y"], each) for name, each in rows.groupby(_names(rows[panel["of"]]))}
    else:
        named = {y: (y, rows) for y in np.atleast_1d(panel["y"]).tolist()}
    found = {name: _numbers(panel, name, *named[name]) for name in labels if name in named}
    wanted = panel.get("over", next(iter(found), "of labels"))
    if wanted not in named:
        raise DataError(
            f"the table {panel['table']} has no curve {wanted} (there are: {', '.join(named)}): "
            "name one of these in the figure"
        )
    if "over" in panel:
        base = _numbers(panel, panel["over"], *named[panel["over"]]).set_index("x")["y"]
        for part in found.values():
            beside = part["x"].map(base)
            part[["y", "low", "high"]] = part[["y", "low", "high"]].div(beside, axis=0)
    return found


def _numbers(panel, name, y, part):
    """Rows of a curve: as they are if they are dots or have a band, else means at each x."""
    x = part[panel["x"]]
    found = {"x_is": panel["x"], "x": x, "y_is": y, "y": part[y]}
    if name in panel["dots"]:
        return pd.DataFrame(found)
    if "band" in panel:
        low, high = (part[end] for end in panel["band"])
        return pd.DataFrame(found | {"low": low, "high": high})
    grouped = part.groupby(panel["x"])
    error = grouped[y].sem().fillna(0.0)
    mean = grouped[y].mean()
    columns = {"y": mean, "low": mean - 2.0 * error, "high": mean + 2.0 * error}
    found = pd.DataFrame(columns | {"rows": grouped.size()}).rename_axis("x").reset_index()
    if panel.get("of") == "mechanism" and part["guarantee"].nunique() == 1:
        found["guarantee"] = part["guarantee"].iloc[0]
    return found.assign(x_is=panel["x"], y_is=y)


def _draw_curve(axis, part, look, label, dots):
    if dots:
        few = {"color": look.colour, "markersize": 3, "label": label}
        axis.plot(part["x"], part["y"], ".", **few)
        return
    marker = look.marker if len(part) < 40 else ""
    columns = part[["x", "y", "low", "high"]].to_numpy().T
    style.plot_band(axis, *columns, look, marker=marker, label=label, markersize=3)


def _finish(axis, panel, title):
    scales = {f"{name}scale": "log" for name in panel["log"]}
    axis.set(xlabel=panel["xlabel"], ylabel=panel["ylabel"], title=title, **scales)
    if "y" not in panel["log"]:
        axis.set_ylim(0.0 if panel["from_zero"] else None, None)
    elif "over" in panel:
        style.label_few_steps(axis.yaxis)
    thin = {"color": "0.3", "linewidth": 0.8, "zorder": 0}
    if "over" in panel or "line" in panel:
        axis.axhline(panel.get("line", 1.0), **thin)


def notes(numbers):
    """Lines below the figure: what bands are, and whether the budgets of curves hold."""
    if "rows" in numbers and numbers["rows"].max() > 1:
        yield f"Means over up to {numbers['rows'].max():,.0f} data sets, with two standard errors."
    if "guarantee" not in numbers:
        return
    statuses = {PROVED: "Proved", NONE: "Without a proof", FALSE: "Not kept"}
    stated = numbers[numbers["curve"] != "non_private"]
    for title, rows in stated.groupby("panel", sort=False):
        said = [title] if title else []
        for status, word in statuses.items():
            labels = dict.fromkeys(rows.loc[rows["guarantee"] == status, "label"])
            if labels:
                said.append(f"{word}: {'; '.join(labels)}")
        if said[bool(title) :]:
            yield ". ".join(said) + "."
