# Papers with settings of their own, a target each: private Frechet means (config/means.yaml), and
# linear and quantile regression and geodesics on the sphere (config/linear.yaml).
# In: those settings, resources/published. Out: below results/means and results/linear, tables by
# space or study, figures, verdicts by paper.

# By module of `reproduction.measurements`: keys of the settings, and tables. Those of a space have
# the section of the settings that has the spaces. Each is a row of MEASURED.
PAPER_TABLES = {
    "means.draws": (["budget", "replicates", "n", "spaces"], ["{space}/errors"], []),
    "means.neighbours": (
        ["budget", "neighbours", "losses", "spaces"],
        ["{space}/neighbours", "{space}/losses"],
        [],
    ),
    "means.audit": (["budget", "spaces", "audit"], ["{space}/audit"], []),
    "means.shapes": (["budget", "shapes"], ["{space}/draws", "{space}/landmarks"], ["shapes"]),
    "means.walks": (["walks"], ["{space}/walks"], ["walks"]),
    "means.medians": (["budget", "medians"], ["{space}/medians"], ["medians"]),
    "means.own": (["budget", "own"], ["own/estimates", "own/draws"], None),
    "linear.moments": (["kng_linear"], ["kng_linear/parts/{part}"], None),
    "linear.regression": (["budget", "kng_linear"], ["kng_linear/errors"], None),
    "linear.quantile": (["budget", "kng_quantile"], ["kng_quantile/errors"], None),
    "linear.location": (
        ["budget", "kng_location"],
        ["kng_location/errors", "kng_location/losses"],
        None,
    ),
    "linear.geodesics": (
        ["geodesic_vs_notebook"],
        ["geodesic_vs_notebook/parts/{cell}", "geodesic_vs_notebook/draws/{cell}"],
        None,
    ),
    "linear.neighbours": (
        ["geodesic_vs_notebook"],
        ["geodesic_vs_notebook/neighbours", "geodesic_vs_notebook/bounds"],
        None,
    ),
}

# By stage and figure: its tables, by what its function calls them. Each is a row of SUMMARISED.
PAPER_FIGURES = {
    "means": {
        "laplace_means": {"errors": "{space}/errors", "neighbours": "{space}/neighbours"},
        "sensitivities": {},
        "kng_means": {"errors": "{space}/errors"},
        "audit": {"audit": "{space}/audit"},
        "mean_shapes": {"landmarks": "{space}/landmarks"},
        "walks": {"walks": "{space}/walks"},
        "medians": {"medians": "{space}/medians"},
    },
    "linear": {
        "kng_linear": {"errors": "kng_linear/errors"},
        "kng_quantile": {"errors": "kng_quantile/errors"},
        "kng_location": {"errors": "kng_location/errors", "losses": "kng_location/losses"},
        # Draws of the cell that claims are judged at.
        "notebook": {
            "shown": "geodesic_vs_notebook/draws/0",
            "neighbours": "geodesic_vs_notebook/neighbours",
        },
        "notebook_sizes": {"errors": "geodesic_vs_notebook/errors"},
    },
}

# Jobs among which the data sets of linear regression are dealt out.
MOMENTS_JOBS = 4
PAPER_WILDCARDS = {"space": "(?!own/|figures/)[a-z0-9]+", "part": r"\d+", "cell": r"\d+"}

# The paper that compares lines with those of other tools.
COMPARES_TOOLS = "kulkarni_soto_first_version"


def paper_arguments(stage, section):
    """A function of the wildcards: the space, part or cell of a table."""

    def arguments(wildcards):
        found = {name: int(value) for name, value in wildcards.items() if name != "space"}
        found |= {"parts": MOMENTS_JOBS} if "part" in found else {}
        return found | (
            {} if section is None else {"space": space_named(stage, wildcards, *section)}
        )

    return arguments


def own_table(wildcards):
    """The table of one's own whose means are drawn."""
    try:
        return find_table(settings_of("means")["own"]["data"], "own.data.path")
    except DataError as problem:
        sys.exit(f"Error: {problem}")


def outlines_table(wildcards):
    """The table of outlines that takes the place of simulated ones; an empty list without one."""
    name = space_named("means", wildcards, "shapes")
    file = settings_of("means")["shapes"]["spaces"][name].get("file")
    return (file and find_table(file, f"shapes.spaces.{name}.file.path", needed=False)) or []


def with_table(table, **others):
    """Input of a row, and the digest of its table, since a user's file may become an older one."""
    return {
        "input": {"table": table, **others},
        "params": {"digest": lambda wildcards: digest_of(table(wildcards))},
    }


# By module, of those that have some.
PAPER_INPUTS = {
    "means.own": with_table(own_table),
    "means.shapes": with_table(outlines_table, rats=shipped("resources/vilmann_rats.csv")),
    "linear.regression": {
        "input": {
            "moments": [
                f"results/linear/kng_linear/parts/{part}.csv" for part in range(MOMENTS_JOBS)
            ]
        }
    },
}


def paper_table(stage, table):
    """Files of a table: one, or that of each space."""
    if "{space}" not in table:
        return [f"results/{stage}/{table}.csv"]
    [section] = [section for _, tables, section in PAPER_TABLES.values() if table in tables]
    return [
        f"results/{stage}/{table.format(space=space)}.csv"
        for space in spaces_by_file(stage, *section)
    ]


def output_name(table):
    """Name of a table among the outputs of its job: that of its folder if its own is a wildcard."""
    path = Path(table)
    return path.parent.name if path.name.startswith("{") else path.name


def geodesic_parts(wildcards):
    """Tables of geodesics by cell."""
    cells = settings_of("linear")["geodesic_vs_notebook"]["cells"]
    folder = "results/linear/geodesic_vs_notebook"
    return [f"{folder}/parts/{cell}.csv" for cell in range(len(cells))]


def polar_space():
    """The sphere of the figure of sensitivities, as in names of files."""
    spaces = settings_of("means")["spaces"]
    named = spaces_by_file("means").items()
    return next(file for file, name in named if spaces[name]["data"] == "polar")


def paper_claimed(paper):
    """Tables that claims of a paper are about: from (study, table) to its file."""
    stage = ALL_PAPERS[paper].stage
    prefix = "means_" if stage == "means" else ""
    tables = ["geodesic_vs_notebook/errors"] if stage == "linear" else []
    for module, (_, made, _) in PAPER_TABLES.items():
        if module.startswith(stage):
            tables += [table for table in made if "{part}" not in table and "{cell}" not in table]
    found = {}
    for file in (file for table in tables for file in paper_table(stage, table)):
        study, name = Path(file).parent.name, Path(file).stem
        found[f"{prefix}{study}", "errors" if name == "draws" else name] = file
    # Numbers of figures.
    if stage == "means":
        bounds = {f"means_{polar_space()}": "sensitivities"}
    else:
        bounds = {study: study for study in ("kng_linear", "kng_quantile")}
    for study, figure in bounds.items():
        found[study, "bounds"] = f"results/{stage}/figures/{figure}.csv"
    return claimed_by(paper, found)


def claimed_of_tools(wildcards, output):
    """The table of lines beside other tools that a paper's claims are about, or what makes it."""
    if wildcards.paper != COMPARES_TOOLS:
        return {}
    path = f"{TOOLS_RESULTS}/draws.csv"
    return {
        "named": ("tools", "draws"),
        "made": digest_if_made(path, output),
        "otherwise": f"./run --with competitors snakemake linear_tools makes {placed(path, output)}",
    }


for module, (keys, tables, section) in PAPER_TABLES.items():
    stage, part = module.split(".")
    MEASURED[f"{stage}_{part}"] = {
        "module": module,
        "settings": ("seed", *keys),
        "arguments": paper_arguments(stage, section),
        "output": {output_name(table): f"{table}.csv" for table in tables},
        "wildcards": PAPER_WILDCARDS,
        "message": f"{stage}: make {' and '.join(tables)}".replace("{", "{wildcards."),
        **PAPER_INPUTS.get(module, {}),
    }

SUMMARISED["linear_geodesic_errors"] = {
    "module": "linear.geodesics",
    "input": {"tables": geodesic_parts},
    "output": {"csv": "geodesic_vs_notebook/errors.csv"},
    "message": "linear: join the tables of geodesics",
}

for stage, figures in PAPER_FIGURES.items():
    for figure, tables in figures.items():
        SUMMARISED[f"{stage}_figure_{figure}"] = {
            "module": f"{stage}.figures",
            "settings": ("radii", "shown", "spaces") if stage == "means" else (),
            "arguments": lambda wildcards, figure=figure: {"name": figure},
            "input": {
                name: lambda wildcards, stage=stage, table=table: paper_table(stage, table)
                for name, table in tables.items()
            },
            "output": {"csv": f"figures/{figure}.csv", **pictures(f"figures/{figure}")},
            "message": f"{stage}: draw {figure}",
        }
