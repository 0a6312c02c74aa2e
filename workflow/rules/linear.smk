# Linear and quantile regression, `snakemake reimherr_awan`, and geodesics on the sphere, `snakemake
# kulkarni_soto_first_version`.
# In: config/linear.yaml, resources/published. Out: below results/linear, verdicts by paper, figures,
# and tables by study.
LINEAR_RESULTS = "results/linear"
# The paper that compares lines with those of other tools.
COMPARES_TOOLS = "kulkarni_soto_first_version"
# Jobs of a study: data sets are dealt out among them.
LINEAR_JOBS = 4
# Tables that a figure takes, by study and name; draws are of the cell that claims are judged at.
LINEAR_FIGURES = {
    "kng_linear": {"errors": "kng_linear/errors"},
    "kng_quantile": {"errors": "kng_quantile/errors"},
    "kng_location": {"errors": "kng_location/errors", "losses": "kng_location/losses"},
    "notebook": {
        "shown": "geodesic_vs_notebook/draws/0",
        "neighbours": "geodesic_vs_notebook/neighbours",
    },
    "notebook_sizes": {"errors": "geodesic_vs_notebook/errors"},
}


def linear_tables(study, name, parts):
    """Tables of the parts of a study."""
    return [f"{LINEAR_RESULTS}/{study}/{name}_{part}.csv" for part in parts]


def quantile_parts(wildcards):
    """Tables of quantile regression: by size, and by the share of the data sets."""
    sizes = settings_of("linear")["kng_quantile"]["n"]
    return linear_tables(
        "kng_quantile", "parts/n", [f"{n}_{part}" for n in sizes for part in range(LINEAR_JOBS)]
    )


def notebook_parts(wildcards):
    """Tables of geodesics by cell."""
    cells = settings_of("linear")["geodesic_vs_notebook"]["cells"]
    return linear_tables("geodesic_vs_notebook", "parts/cell", range(len(cells)))


def linear_figure_tables(wildcards):
    """Tables of a figure, by what its function calls them."""
    tables = LINEAR_FIGURES[wildcards.figure]
    return {name: f"{LINEAR_RESULTS}/{table}.csv" for name, table in tables.items()}


def linear_claimed(paper):
    """Tables that claims of a paper are about: from (study, table) to its file."""
    studies = ("kng_linear", "kng_quantile", "kng_location", "geodesic_vs_notebook")
    found = {(study, "errors"): f"{LINEAR_RESULTS}/{study}/errors.csv" for study in studies}
    for study in ("kng_linear", "kng_quantile"):
        found[study, "bounds"] = f"{LINEAR_RESULTS}/figures/{study}.csv"
    found["kng_location", "losses"] = f"{LINEAR_RESULTS}/kng_location/losses.csv"
    for name in ("neighbours", "bounds"):
        found["geodesic_vs_notebook", name] = f"{LINEAR_RESULTS}/geodesic_vs_notebook/{name}.csv"
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


rule linear_moments:
    output:
        f"{LINEAR_RESULTS}/kng_linear/parts/{{part}}.csv",
    log:
        f"{LINEAR_RESULTS}/logs/moments_{{part}}.log",
    wildcard_constraints:
        part=r"\d+",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("linear.moments"),
        arguments=lambda wildcards: {
            "settings": part_of("linear", "seed", "kng_linear"),
            "part": int(wildcards.part),
            "parts": LINEAR_JOBS,
        },
    message:
        "linear: moments of records, part {wildcards.part}"
    script:
        "../scripts/measure.py"


use rule linear_moments as linear_regression with:
    input:
        moments=[f"{LINEAR_RESULTS}/kng_linear/parts/{part}.csv" for part in range(LINEAR_JOBS)],
    output:
        errors=f"{LINEAR_RESULTS}/kng_linear/errors.csv",
        chains=f"{LINEAR_RESULTS}/kng_linear/chains.csv",
    log:
        f"{LINEAR_RESULTS}/logs/regression.log",
    params:
        **measurement("linear.regression"),
        arguments=lambda wildcards: {
            "settings": part_of("linear", "seed", "budget", "kng_linear"),
        },
    message:
        "linear: private linear regression"


use rule linear_moments as linear_quantile with:
    output:
        f"{LINEAR_RESULTS}/kng_quantile/parts/n_{{number}}_{{part}}.csv",
    log:
        f"{LINEAR_RESULTS}/logs/quantile_{{number}}_{{part}}.log",
    wildcard_constraints:
        number=r"\d+",
        part=r"\d+",
    params:
        **measurement("linear.quantile"),
        arguments=lambda wildcards: {
            "settings": part_of("linear", "seed", "budget", "kng_quantile"),
            "number": int(wildcards.number),
            "part": int(wildcards.part),
            "parts": LINEAR_JOBS,
        },
    message:
        "linear: quantile regression, n = {wildcards.number}, part {wildcards.part}"


use rule linear_moments as linear_location with:
    output:
        errors=f"{LINEAR_RESULTS}/kng_location/errors.csv",
        losses=f"{LINEAR_RESULTS}/kng_location/losses.csv",
    log:
        f"{LINEAR_RESULTS}/logs/location.log",
    params:
        **measurement("linear.location"),
        arguments=lambda wildcards: {
            "settings": part_of("linear", "seed", "budget", "kng_location"),
        },
    message:
        "linear: means, medians and quantiles"


use rule linear_moments as linear_geodesics with:
    output:
        errors=f"{LINEAR_RESULTS}/geodesic_vs_notebook/parts/cell_{{cell}}.csv",
        shown=f"{LINEAR_RESULTS}/geodesic_vs_notebook/draws/{{cell}}.csv",
    log:
        f"{LINEAR_RESULTS}/logs/geodesics_{{cell}}.log",
    wildcard_constraints:
        cell=r"\d+",
    params:
        **measurement("linear.geodesics"),
        arguments=lambda wildcards: {
            "settings": part_of("linear", "seed", "geodesic_vs_notebook"),
            "cell": int(wildcards.cell),
        },
    message:
        "linear: geodesics on the sphere, cell {wildcards.cell}"


use rule linear_moments as linear_neighbours with:
    output:
        neighbours=f"{LINEAR_RESULTS}/geodesic_vs_notebook/neighbours.csv",
        bounds=f"{LINEAR_RESULTS}/geodesic_vs_notebook/bounds.csv",
    log:
        f"{LINEAR_RESULTS}/logs/neighbours.log",
    params:
        **measurement("linear.neighbours"),
        arguments=lambda wildcards: {
            "settings": part_of("linear", "seed", "geodesic_vs_notebook"),
        },
    message:
        "linear: sensitivities of neighbours on the sphere"


rule linear_quantile_errors:
    input:
        tables=quantile_parts,
    output:
        csv=f"{LINEAR_RESULTS}/kng_quantile/errors.csv",
    log:
        f"{LINEAR_RESULTS}/logs/quantile_errors.log",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("means.summary", "summarise.py"),
        arguments={},
    message:
        "linear: join the tables of quantile regression"
    script:
        "../scripts/summarise.py"


use rule linear_quantile_errors as linear_geodesic_errors with:
    input:
        tables=notebook_parts,
    output:
        csv=f"{LINEAR_RESULTS}/geodesic_vs_notebook/errors.csv",
    log:
        f"{LINEAR_RESULTS}/logs/geodesic_errors.log",
    message:
        "linear: join the tables of geodesics"


use rule linear_quantile_errors as linear_figure with:
    input:
        unpack(linear_figure_tables),
    output:
        csv=f"{LINEAR_RESULTS}/figures/{{figure}}.csv",
        pdf=f"{LINEAR_RESULTS}/figures/{{figure}}.pdf",
        svg=f"{LINEAR_RESULTS}/figures/{{figure}}.svg",
        png=f"{LINEAR_RESULTS}/figures/{{figure}}.png",
    log:
        f"{LINEAR_RESULTS}/logs/figure_{{figure}}.log",
    wildcard_constraints:
        figure="|".join(LINEAR_FIGURES),
    params:
        **measurement("linear.figures", "summarise.py"),
        arguments=lambda wildcards: {"name": wildcards.figure},
    message:
        "linear: draw {wildcards.figure}"


use rule evaluate_claims as linear_claims with:
    input:
        **CLAIMS_TEMPLATES,
        claims=[shipped("resources/published/{paper}_claims.csv")],
        tables=lambda wildcards: list(linear_claimed(wildcards.paper).values()),
    output:
        csv=f"{LINEAR_RESULTS}/{{paper}}_claims.csv",
        page=f"{LINEAR_RESULTS}/{{paper}}_claims.html",
    log:
        f"{LINEAR_RESULTS}/logs/{{paper}}_claims.log",
    wildcard_constraints:
        paper="|".join(papers_of("linear")),
    params:
        **claims_parameters(
            lambda wildcards: [ALL_PAPERS[wildcards.paper].name],
            tables=lambda wildcards: list(linear_claimed(wildcards.paper)),
            seed=lambda wildcards: settings_of("linear")["seed"],
        ),
        besides=claimed_of_tools,
        seen=lambda wildcards: digests_of(
            [f"{TOOLS_RESULTS}/draws.csv"] if wildcards.paper == COMPARES_TOOLS else []
        ),
    message:
        "linear: judge the claims of {wildcards.paper}"
