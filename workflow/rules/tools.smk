# Private linear regression beside other tools: `./run --with competitors snakemake linear_tools`,
# and Opacus by `./run --with opacus snakemake linear_opacus`.
# In: config/tools.yaml. Out: results/tools/tools.md, tables and a figure.
TOOLS_TABLES = ("sets", "shares", "medians", "against", "comparison", "draws")
SGD_DRAWS = f"{TOOLS_RESULTS}/comparison/dp_sgd.csv"


def wine_table(wildcards):
    """The table of red wine, if it is there."""
    found = find([settings_of("tools")["comparison"]["path"]])
    return found[0] if found else []


def tools_shares(name):
    """An input function: a table of each data set of the benchmark."""

    def files(wildcards):
        chosen = settings_of("tools")["benchmark"]
        sets = (*chosen["sets"], *chosen["held_out"]["sets"])
        return [f"{TOOLS_RESULTS}/benchmark/{each}.{name}.csv" for each in sets]

    return files


def tools_draws(wildcards):
    """Tables of the methods of the comparison."""
    methods = settings_of("tools")["comparison"]["methods"]
    return [f"{TOOLS_RESULTS}/comparison/{method}.csv" for method in methods]


LINES = {
    "module": "tools.comparison",
    "settings": ("seed", "comparison"),
    "input": {"path": wine_table},
    # A file may be replaced by an older one.
    "params": {"digest": lambda wildcards: digest_of(wine_table(wildcards))},
}

MEASURED |= {
    "tools_shares": {
        "module": "tools.benchmark",
        "settings": ("seed", "benchmark"),
        "arguments": lambda wildcards: {"data_set": wildcards.data_set},
        "output": {
            "about": "benchmark/{data_set}.about.csv",
            "shares": "benchmark/{data_set}.shares.csv",
        },
        "wildcards": {"data_set": "[a-z][a-z0-9_]*"},
        "needs": "competitors",
        "message": "tools: private lines of {wildcards.data_set}",
    },
    "tools_draws": LINES
    | {
        "arguments": lambda wildcards: {"method": wildcards.method},
        "output": {"table": "comparison/{method}.csv"},
        "wildcards": {"method": "(?!dp_sgd)[a-z_]+"},
        "needs": "competitors",
        "message": "tools: lines by {wildcards.method}",
    },
    "tools_sgd": LINES
    | {
        "arguments": lambda wildcards: {"method": "dp_sgd"},
        "output": {"table": "comparison/dp_sgd.csv"},
        "needs": "opacus",
        "message": "tools: lines by DP-SGD of Opacus",
    },
}

SUMMARISED["linear_tools"] = {
    "module": "tools.summary",
    "besides": {"dp_sgd": SGD_DRAWS},
    "input": {
        "about": tools_shares("about"),
        "shares": tools_shares("shares"),
        "comparison": tools_draws,
    },
    "output": {
        **{name: f"{name}.csv" for name in TOOLS_TABLES},
        "text": "tools.md",
        **pictures("tools"),
    },
    "needs": "competitors",
    "message": "tools: write the tables, the page and the figure",
}
