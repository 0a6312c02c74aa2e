# Realised privacy losses, for the worst neighbours that a search finds; and realised changes of
# gradients, for pairs of neighbouring data sets.
# In: the configuration. Out: tables/losses.csv, tables/neighbours.csv.
rule privacy_losses:
    output:
        shown_table("losses"),
    log:
        f"{RESULTS}/{{study}}/logs/privacy_losses.log",
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        study="{study}",
        module="losses",
        function="losses",
        settings=settings("losses"),
        seed=study_seed,
        code=code_of("table.py", "reproduction.tables.losses", "geodp.mechanisms.kng_as_published"),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}: search for large privacy losses"
    script:
        "../scripts/table.py"


use rule privacy_losses as neighbour_ratios with:
    output:
        shown_table("neighbours"),
    log:
        f"{RESULTS}/{{study}}/logs/neighbour_ratios.log",
    params:
        **{key: settings(key) for key in ("manifold", "model", "data_radius")},
        function="neighbours",
        data=settings(
            "data",
            "shooting_vector_length",
            "covariates",
            "first_point",
            "last_point",
            "random_point_radius",
            "noise",
        ),
        settings=settings("neighbours"),
    message:
        "{wildcards.study}: compare pairs of neighbouring data sets"
