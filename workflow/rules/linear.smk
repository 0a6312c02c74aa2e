# Linear and quantile regression, `snakemake reimherr_awan`, and geodesics on the sphere, `snakemake
# kulkarni_soto_first_version`.
# In: config/linear.yaml, resources/published. Out: below results/linear, verdicts by paper, figures,
# and tables by study.
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
