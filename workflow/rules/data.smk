# Data sets of a group: simulated along random geodesics, read from the study's file, or simulated
# outlines in place of a missing file.
# In: the configuration, or a file. Out: data.npz with covariates in [0, 1] and points;
# tables/data.csv.
rule make_data:
    input:
        table=lambda wildcards: STUDIES[wildcards.study].table or [],
    output:
        f"{GROUPS}/data.npz",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/make_data.log",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    params:
        source=lambda wildcards: STUDIES[wildcards.study].source,
        manifold=settings("manifold"),
        model=settings("model"),
        settings=settings("data"),
        group=lambda wildcards: STUDIES[wildcards.study].groups[wildcards.group],
        # No seed where a file is read. The digest is a parameter since a replaced file may be older
        # than the results of the last one.
        seed=lambda wildcards: None if STUDIES[wildcards.study].table else config["seed"],
        digest=lambda wildcards: STUDIES[wildcards.study].table_digest,
        code=lambda wildcards: code(
            "make_data.py", f"reproduction.data.{STUDIES[wildcards.study].source}"
        ),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}, {wildcards.group}: make data ({params.source})"
    script:
        "../scripts/make_data.py"


rule describe_data:
    input:
        data=group_files("data.npz"),
    output:
        f"{RESULTS}/{{study}}/tables/data.csv",
    log:
        f"{RESULTS}/{{study}}/logs/describe_data.log",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    params:
        kind="description",
        manifold=settings("manifold"),
        groups=lambda wildcards: list(STUDIES[wildcards.study].groups),
        transformation=lambda wildcards: STUDIES[wildcards.study].transformation,
        seed=config["seed"],
        code=code_of("table.py", "reproduction.tables.description"),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}: describe the data"
    script:
        "../scripts/table.py"
