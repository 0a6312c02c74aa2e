# Data sets of a group: simulated along random geodesics, read from the file a study names, or
# outlines that stand in for a file that is not there.
# In: the configuration, or a file. Out: data.npz with covariates in [0, 1] and points; tables/data.csv.
rule simulate_data:
    input:
        library=library("simulate_data.py"),
    output:
        f"{GROUPS}/data.npz",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/simulate_data.log",
    wildcard_constraints:
        study=studies_from("simulated"),
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        settings=settings("data"),
        group=lambda wildcards: STUDIES[wildcards.study].groups[wildcards.group],
        seed=config["seed"],
        lock=LOCK,
    script:
        "../scripts/simulate_data.py"


rule read_data:
    input:
        table=lambda wildcards: STUDIES[wildcards.study].table,
        library=library("read_data.py"),
    output:
        f"{GROUPS}/data.npz",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/read_data.log",
    wildcard_constraints:
        study=studies_from("table"),
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        settings=settings("data"),
        # Another file may be older than what was made of the last one.
        digest=lambda wildcards: STUDIES[wildcards.study].table_digest,
        lock=LOCK,
    script:
        "../scripts/read_data.py"


rule stand_in_data:
    input:
        library=library("stand_in_data.py"),
    output:
        f"{GROUPS}/data.npz",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/stand_in_data.log",
    wildcard_constraints:
        study=studies_from("stand_in"),
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        settings=settings("data"),
        seed=config["seed"],
        lock=LOCK,
    script:
        "../scripts/stand_in_data.py"


rule describe_data:
    input:
        data=group_files("data.npz"),
        library=library("describe_data.py"),
    output:
        f"{RESULTS}/{{study}}/tables/data.csv",
    log:
        f"{RESULTS}/{{study}}/logs/describe_data.log",
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        groups=lambda wildcards: list(STUDIES[wildcards.study].groups),
        transformation=lambda wildcards: STUDIES[wildcards.study]
        .settings["data"]
        .get("transformation", "none"),
        seed=config["seed"],
        lock=LOCK,
    script:
        "../scripts/describe_data.py"
