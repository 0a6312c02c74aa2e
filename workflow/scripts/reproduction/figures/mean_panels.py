"""What figures of private means share: names of mechanisms, means over data sets, panels."""

from geodp.mechanisms.base import FALSE, NONE, PROVED
from reproduction.figures import style

# What mechanisms are called.
NAMES = {
    "laplace_as_published": "Laplace, sensitivity of a grid",
    "laplace": "Laplace",
    "laplace_general": "Laplace, twice the scale",
    "ambient_laplace": "Laplace in the ambient space",
    "kng": "K-norm gradient, as published",
    "wrapped_laplace": "wrapped Laplace",
    "wrapped_gaussian": "wrapped Gaussian, delta = 1e-6",
    "wrapped_laplace_at_centre": "wrapped Laplace at the centre",
    "wrapped_gaussian_at_centre": "wrapped Gaussian at the centre, delta = 1e-6",
    "tangent_laplace": "Laplace in the tangent space at the centre",
    "tangent_gaussian": "Gaussian in the tangent space, delta = 1e-6",
    "private_steps": "two private steps",
}

HOLLOW = {"markerfacecolor": "white"}


def means_by_size(errors):
    """Mean distances of draws, with their standard errors, by space, mechanism and size."""
    keys = ["space", "mechanism", "guarantee", "n", "budget"]
    found = errors.groupby(keys, sort=False).agg(
        mean=("distance", "mean"),
        standard_error=("distance", "sem"),
        outside=("outside", "mean"),
        bias=("bias", "mean"),
        data_sets=("distance", "size"),
    )
    return found.reset_index()


def about_means(by_size, shown):
    """Lines on what bands are, and whether the budgets of mechanisms hold."""
    yield (
        f"Means over {by_size['data_sets'].max():,} data sets of each size, with two standard "
        "errors."
    )
    for space, rows in by_size[by_size["mechanism"].isin(shown)].groupby("space", sort=False):
        said = [f"{space}, budget {rows['budget'].iloc[0]:g}"]
        for status, word in ((PROVED, "Proved"), (NONE, "Without a proof"), (FALSE, "Not kept")):
            names = dict.fromkeys(rows.loc[rows["guarantee"] == status, "mechanism"])
            if names:
                said.append(f"{word}: {'; '.join(NAMES[name] for name in names)}")
        yield ". ".join(said) + "."


def space_title(name):
    """Name of a space, where a power is set as one."""
    return f"${name}$" if "^" in name else name


def panels(table, width, height, **keywords):
    """A figure with a titled panel for each space; with each panel, the space and its rows."""
    by_space = list(table.groupby("space", sort=False))
    figure, axes = style.new_figure(1, len(by_space), width * len(by_space), height, **keywords)
    for panel, (space, _) in zip(axes[0], by_space, strict=True):
        panel.set_title(space_title(space))
    style.letter_panels(axes)
    return figure, [(panel, *part) for panel, part in zip(axes[0], by_space, strict=True)]
