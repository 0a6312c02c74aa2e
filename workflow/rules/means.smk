# Private Frechet means, `snakemake reimherr_bharath_soto` and `snakemake soto`.
# In: config/means.yaml, resources/published. Out: below results/means, verdicts by paper, figures,
# and tables by space.
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
