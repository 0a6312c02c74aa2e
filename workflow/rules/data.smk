# Data sets of a group: simulated along random geodesics, or read from the table a study names.
# In: the configuration, or a table. Out: data.npz with covariates in [0, 1] and points.
SIMULATED = [name for name, study in STUDIES.items() if study.simulated]
OBSERVED = [name for name, study in STUDIES.items() if not study.simulated]


rule simulate_data:
    input:
        library=library("simulate_data.py"),
    output:
        f"{GROUPS}/data.npz",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/simulate_data.log",
    wildcard_constraints:
        study="|".join(SIMULATED) or "no_such_study",
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
        table=lambda wildcards: STUDIES[wildcards.study].settings["data"]["path"],
        library=library("read_data.py"),
    output:
        f"{GROUPS}/data.npz",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/read_data.log",
    wildcard_constraints:
        study="|".join(OBSERVED) or "no_such_study",
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        settings=settings("data"),
        lock=LOCK,
    script:
        "../scripts/read_data.py"
