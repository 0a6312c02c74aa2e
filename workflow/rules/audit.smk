# The audit, `snakemake audit`: realised beside stated privacy losses.
# In: config/audit.yaml. Out: results/audit/audit.csv, neighbours.csv, sensitivity.csv,
# black_box.csv, draw_times.csv, release_times.csv, audit.pdf, .svg, .png and .html.
# Record and replay, `snakemake replay`: 10^5 pairs of neighbours take some 40 minutes on two cores,
# so that the audit does not wait for them; its page shows what is there.
# Out: results/audit/replay.csv, planted.csv.


def audit_budgets(number):
    """Stated budgets at a number of records: all at 2 and the first n, else the middle one."""
    sphere = settings_of("audit")["sphere"]
    budgets = sphere["budgets"]
    return budgets if number in (2, sphere["n"][0]) else [budgets[len(budgets) // 2]]


def audit_parts(name):
    """An input function: a table for each number of records, and for the worst case of two."""

    def files(wildcards):
        numbers = [2, *settings_of("audit")["sphere"]["n"]]
        return [f"{AUDIT_RESULTS}/parts/{name}_n{n}.csv" for n in numbers]

    return files


MEASURED |= {
    "audit_sensitivity": {
        "module": "audit.sensitivity",
        "settings": ("seed", "sphere"),
        "output": {"table": "sensitivity.csv"},
        "message": "audit: search how far one record moves a gradient",
    },
    "audit_losses": {
        "module": "audit.losses",
        "settings": ("seed", "sphere", "two_points"),
        "arguments": lambda wildcards: {
            "number": int(wildcards.n),
            "budgets": audit_budgets(int(wildcards.n)),
        },
        "output": {
            "losses": "parts/losses_n{n}.csv",
            "neighbours": "parts/neighbours_n{n}.csv",
        },
        # The longest jobs start first.
        "priority": 1,
        "message": "audit: search for large privacy losses, n = {wildcards.n}",
    },
    "audit_black_box": {
        "module": "audit.black_box",
        "settings": ("seed", "black_box"),
        "input": {"rats": shipped("resources/vilmann_rats.csv")},
        "output": {"table": "parts/black_box.csv"},
        "message": "audit: bound budgets from draws alone",
    },
    "audit_releases": {
        "module": "audit.releases",
        "settings": ("seed", "releases"),
        "arguments": lambda wildcards: {"space": wildcards.space},
        "output": {"table": "parts/releases_{space}.csv"},
        "wildcards": {"space": "sphere|spd"},
        "priority": 2,
        "message": "audit: test whole releases by their draws, space {wildcards.space}",
    },
    "audit_times": {
        "module": "audit.times",
        "settings": ("seed", "times"),
        "output": {"draws": "draw_times.csv", "releases": "release_times.csv"},
        "message": "audit: time releases with extreme records, and draws of noise",
    },
    "replay_block": {
        "module": "audit.replay",
        "settings": ("seed", "replay"),
        "arguments": lambda wildcards: {"block": int(wildcards.block)},
        "output": {"table": "parts/replay_{block}.csv"},
        "message": "replay: whole releases of neighbouring tables, block {wildcards.block}",
    },
    "replay_planted": {
        "module": "audit.replay",
        "function": "planted",
        "settings": ("seed", "replay"),
        "output": {"table": "planted.csv"},
        "message": "replay: look for mistakes that are planted",
    },
    "replay": {
        "module": "audit.replay",
        "function": "all_blocks",
        "input": {
            "blocks": lambda wildcards: [
                f"{AUDIT_RESULTS}/parts/replay_{block}.csv"
                for block in range(settings_of("audit")["replay"]["blocks"])
            ],
            "planted": f"{AUDIT_RESULTS}/planted.csv",
        },
        "output": {"table": "replay.csv"},
        "message": "replay: write the table",
    },
}

SUMMARISED["audit"] = {
    "module": "audit.summary",
    "settings": ("sphere",),
    "besides": {name: f"{AUDIT_RESULTS}/{name}.csv" for name in ("replay", "planted")},
    "input": {
        "draw_times": f"{AUDIT_RESULTS}/draw_times.csv",
        "release_times": f"{AUDIT_RESULTS}/release_times.csv",
        "losses": audit_parts("losses"),
        "neighbours": audit_parts("neighbours"),
        "sensitivity": f"{AUDIT_RESULTS}/sensitivity.csv",
        "black_box": [
            f"{AUDIT_RESULTS}/parts/{part}.csv"
            for part in ("black_box", "releases_sphere", "releases_spd")
        ],
        "template": shipped("workflow/report/audit.html.j2"),
    },
    "output": {
        "csv": "audit.csv",
        "neighbours": "neighbours.csv",
        "black_box": "black_box.csv",
        "page": "audit.html",
        **pictures("audit"),
    },
    "message": "audit: write the tables, the figure and the page",
}
