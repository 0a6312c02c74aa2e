# Private Frechet means, `snakemake reimherr_bharath_soto` and `snakemake soto`.
# In: config/means.yaml, resources/published. Out: below results/means, verdicts by paper, figures,
# and tables by space.
MEANS_RESULTS = "results/means"
# Jobs of a space: sizes are dealt out among them.
MEANS_JOBS = 4


def means_jobs():
    """Numbers of the jobs of a space."""
    return range(min(MEANS_JOBS, len(settings_of("means")["n"])))


def means_sizes(part):
    """Sizes of one job, large and small ones alike."""
    return settings_of("means")["n"][int(part) :: len(means_jobs())]


def polar_space():
    """The sphere of the figure of sensitivities, as in names of files."""
    spaces = settings_of("means")["spaces"]
    [found] = [
        name for name, space in spaces_by_file("means").items() if spaces[space]["data"] == "polar"
    ]
    return found


def means_tables(name, *part):
    """Tables of all spaces, or of those of a part of the settings."""
    return [f"{MEANS_RESULTS}/{space}/{name}.csv" for space in spaces_by_file("means", *part)]


# Tables that a figure takes, each with the part of the settings that has its spaces.
MEANS_FIGURES = {
    "laplace_means": {"errors": [], "neighbours": []},
    "sensitivities": {},
    "kng_means": {"errors": []},
    "audit": {"audit": []},
    "mean_shapes": {"landmarks": ["shapes"]},
    "walks": {"walks": ["walks"]},
    "medians": {"medians": ["medians"]},
}


def means_figure_tables(wildcards):
    """Tables of a figure, by what its function calls them."""
    tables = MEANS_FIGURES[wildcards.figure]
    return {name: means_tables(name, *part) for name, part in tables.items()}


def means_wrapped():
    """Tables of spaces where exact draws are compared with wrapped ones."""
    spaces = settings_of("means")["spaces"]
    return [
        f"{MEANS_RESULTS}/{file}/wrapped.csv"
        for file, name in spaces_by_file("means").items()
        if "wrapped_laplace" in spaces[name]["mechanisms"]
    ]


def means_outlines(wildcards):
    """File of outlines that takes the place of simulated ones; an empty list without one."""
    name = space_named("means", wildcards, "shapes")
    file = settings_of("means")["shapes"]["spaces"][name].get("file")
    return (file and find_table(file, f"shapes.spaces.{name}.file.path", needed=False)) or []


def means_own_table():
    """File of a table of one's own."""
    try:
        return find_table(settings_of("means")["own"]["data"], "own.data.path")
    except DataError as problem:
        sys.exit(f"Error: {problem}")


def means_claimed(paper):
    """Tables that claims of a paper are about: from (study, table) to its file."""
    found = {
        (f"means_{space}", table): f"{MEANS_RESULTS}/{space}/{table}.csv"
        for space in spaces_by_file("means")
        for table in ("errors", "neighbours", "losses")
    }
    for space in spaces_by_file("means", "shapes"):
        found[f"means_{space}", "errors"] = f"{MEANS_RESULTS}/{space}/draws.csv"
    found[f"means_{polar_space()}", "bounds"] = f"{MEANS_RESULTS}/figures/sensitivities.csv"
    return claimed_by(paper, found)


rule means_draws:
    output:
        f"{MEANS_RESULTS}/{{space}}/parts/{{part}}.csv",
    log:
        f"{MEANS_RESULTS}/logs/draws_{{space}}_{{part}}.log",
    wildcard_constraints:
        space="(?!figures/)[a-z0-9]+",
        part=r"\d",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("means.draws"),
        arguments=lambda wildcards: {
            "settings": part_of("means", "seed", "budget", "replicates", "spaces"),
            "space": space_named("means", wildcards),
            "sizes": means_sizes(wildcards.part),
        },
    message:
        "means: private means on {wildcards.space}, part {wildcards.part}"
    script:
        "../scripts/measure.py"


use rule means_draws as means_neighbours with:
    output:
        neighbours=f"{MEANS_RESULTS}/{{space}}/neighbours.csv",
        losses=f"{MEANS_RESULTS}/{{space}}/losses.csv",
    log:
        f"{MEANS_RESULTS}/logs/neighbours_{{space}}.log",
    params:
        **measurement("means.neighbours"),
        arguments=lambda wildcards: {
            "settings": part_of("means", "seed", "budget", "neighbours", "losses", "spaces"),
            "space": space_named("means", wildcards),
        },
    message:
        "means: neighbours on {wildcards.space}"


use rule means_draws as means_shapes with:
    input:
        rats=shipped("resources/vilmann_rats.csv"),
        table=means_outlines,
    output:
        draws=f"{MEANS_RESULTS}/{{space}}/draws.csv",
        landmarks=f"{MEANS_RESULTS}/{{space}}/landmarks.csv",
    log:
        f"{MEANS_RESULTS}/logs/shapes_{{space}}.log",
    params:
        **measurement("means.shapes"),
        arguments=lambda wildcards: {
            "settings": part_of("means", "seed", "budget", "shapes"),
            "space": space_named("means", wildcards, "shapes"),
        },
        # A file may be replaced by an older one.
        digest=lambda wildcards: digest_of(means_outlines(wildcards)),
    message:
        "means: private mean shapes of {wildcards.space}"


use rule means_draws as means_wrapped with:
    output:
        f"{MEANS_RESULTS}/{{space}}/wrapped.csv",
    log:
        f"{MEANS_RESULTS}/logs/wrapped_{{space}}.log",
    params:
        **measurement("means.wrapped"),
        arguments=lambda wildcards: {
            "settings": part_of("means", "seed", "budget", "n", "spaces"),
            "space": space_named("means", wildcards),
        },
    message:
        "means: exact and wrapped draws on {wildcards.space}"


use rule means_draws as means_own with:
    input:
        table=lambda wildcards: means_own_table(),
    output:
        estimates=f"{MEANS_RESULTS}/own/estimates.csv",
        draws=f"{MEANS_RESULTS}/own/draws.csv",
    log:
        f"{MEANS_RESULTS}/logs/own.log",
    params:
        **measurement("means.own"),
        arguments=lambda wildcards: {"settings": part_of("means", "seed", "budget", "own")},
        digest=lambda wildcards: digest_of(means_own_table()),
    message:
        "means: a table of your own"


use rule means_draws as means_walks with:
    output:
        f"{MEANS_RESULTS}/{{space}}/walks.csv",
    log:
        f"{MEANS_RESULTS}/logs/walks_{{space}}.log",
    params:
        **measurement("means.walks"),
        arguments=lambda wildcards: {
            "settings": part_of("means", "seed", "walks"),
            "space": space_named("means", wildcards, "walks"),
        },
    message:
        "means: walks against exact draws on {wildcards.space}"


use rule means_draws as means_audit with:
    output:
        f"{MEANS_RESULTS}/{{space}}/audit.csv",
    log:
        f"{MEANS_RESULTS}/logs/audit_{{space}}.log",
    params:
        **measurement("means.audit"),
        arguments=lambda wildcards: {
            "settings": part_of("means", "seed", "budget", "spaces", "audit"),
            "space": space_named("means", wildcards),
        },
    message:
        "means: draws for neighbours on {wildcards.space}"


use rule means_draws as means_medians with:
    output:
        f"{MEANS_RESULTS}/{{space}}/medians.csv",
    log:
        f"{MEANS_RESULTS}/logs/medians_{{space}}.log",
    params:
        **measurement("means.medians"),
        arguments=lambda wildcards: {
            "settings": part_of("means", "seed", "budget", "medians"),
            "space": space_named("means", wildcards, "medians"),
        },
    message:
        "means: medians on {wildcards.space}"


rule means_errors:
    input:
        tables=lambda wildcards: [
            f"{MEANS_RESULTS}/{wildcards.space}/parts/{part}.csv" for part in means_jobs()
        ],
    output:
        csv=f"{MEANS_RESULTS}/{{space}}/errors.csv",
    log:
        f"{MEANS_RESULTS}/logs/errors_{{space}}.log",
    wildcard_constraints:
        space="(?!figures/)[a-z0-9]+",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("means.summary", "summarise.py"),
        arguments={},
    message:
        "means: join the tables of {wildcards.space}"
    script:
        "../scripts/summarise.py"


use rule means_errors as means_figure with:
    input:
        unpack(means_figure_tables),
    output:
        csv=f"{MEANS_RESULTS}/figures/{{figure}}.csv",
        pdf=f"{MEANS_RESULTS}/figures/{{figure}}.pdf",
        svg=f"{MEANS_RESULTS}/figures/{{figure}}.svg",
        png=f"{MEANS_RESULTS}/figures/{{figure}}.png",
    log:
        f"{MEANS_RESULTS}/logs/figure_{{figure}}.log",
    wildcard_constraints:
        figure="|".join(MEANS_FIGURES),
    params:
        **measurement("means.figures", "summarise.py"),
        arguments=lambda wildcards: {
            "name": wildcards.figure,
            "settings": part_of("means", "radii", "shown", "spaces"),
        },
    message:
        "means: draw {wildcards.figure}"


use rule evaluate_claims as means_claims with:
    input:
        **CLAIMS_TEMPLATES,
        claims=[shipped("resources/published/{paper}_claims.csv")],
        tables=lambda wildcards: list(means_claimed(wildcards.paper).values()),
    output:
        csv=f"{MEANS_RESULTS}/{{paper}}_claims.csv",
        page=f"{MEANS_RESULTS}/{{paper}}_claims.html",
    log:
        f"{MEANS_RESULTS}/logs/{{paper}}_claims.log",
    wildcard_constraints:
        paper="|".join(papers_of("means")),
    params:
        **claims_parameters(
            lambda wildcards: [ALL_PAPERS[wildcards.paper].name],
            tables=lambda wildcards: list(means_claimed(wildcards.paper)),
            seed=lambda wildcards: settings_of("means")["seed"],
        ),
    message:
        "means: judge the claims of {wildcards.paper}"
