"""What the scripts of evaluation/Snakefile share: a job's files, tables in words, figures."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

STYLE = {
    "savefig.dpi": 200,
    "savefig.bbox": "tight",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    # Text stays text, and the same figure gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "geodp",
    "pdf.fonttype": 42,
}

# Keywords of curves, dark to light; told apart in greyscale and by colour-blind readers.
CURVES = (
    {"color": "#14315f", "marker": "o", "linestyle": "-"},
    {"color": "#c2480c", "marker": "s", "linestyle": "--"},
    {"color": "#e0a526", "marker": "^", "linestyle": "-."},
    {"color": "#5aa7c7", "marker": "D", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
)


def run(snakemake, measure, summarise=None):
    """Carry out the job of a rule.

    Parameters
    ----------
    snakemake : object
        The job, as Snakemake gives it to a script.
    measure : callable
        From the rule's params and named inputs to a table; for a rule without inputs ``parts``.
    summarise : callable, optional
        From a table to tables of docs/evaluation.md by their mark and to a figure, for a rule with
        an output ``page``.  The table is that of `measure`, or the parts joined; of these it gets
        the params as well.
    """
    given, inputs = dict(snakemake.params.items()), dict(snakemake.input.items())
    output = dict(snakemake.output.items())
    if parts := inputs.pop("parts", None):
        table = pd.concat(map(pd.read_csv, [parts] if isinstance(parts, str) else parts))
    else:
        table, given = measure(**given, **inputs), {}
    table.to_csv(output.pop("table"), index=False)
    if "page" in output:
        shown, figure = summarise(table.reset_index(drop=True), **given)
        with open(output.pop("page"), "w", encoding="utf-8") as page:
            page.writelines(
                f"<!-- {mark} -->\n{in_words(each)}<!-- end -->\n" for mark, each in shown.items()
            )
        for path in output.values():
            figure.savefig(path, metadata={"Date": None} if path.endswith("svg") else None)


def new_figure(rows, columns, width, height, **keywords):
    """Figure and array of axes (rows, columns); sizes in inches."""
    mpl.rcParams.update(STYLE)
    keywords = {"squeeze": False, "layout": "constrained", **keywords}
    return plt.subplots(rows, columns, figsize=(width, height), **keywords)


def number(value):
    """A number as a reader wants it: two digits, and no exponent."""
    if not np.isfinite(value) or value == 0.0:
        return "" if np.isnan(value) else f"{value:g}"
    digits = 1 - int(np.floor(np.log10(abs(value))))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def in_words(table):
    """A table in Markdown, its numbers with two digits but for whole ones."""
    words = table.map(lambda value: number(value) if isinstance(value, float) else str(value))
    lines = [words.columns, ["---"] * len(words.columns), *words.to_numpy()]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
