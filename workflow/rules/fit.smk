# Data sets of a group: simulated along random geodesics, read from the study's file, or simulated
# outlines in place of a missing file.  Their fit without privacy.  Sensitivities, support and
# guarantee of the mechanism.
# In: the configuration, or a file. Out: data.npz with covariates in [0, 1] and points; fit.json with
# parameters, energies and largest residuals; sensitivity.npz.
rule fit:
    input:
        table=lambda wildcards: STUDIES[wildcards.study].table or [],
    output:
        data=f"{GROUPS}/data.npz",
        fit=f"{GROUPS}/fit.json",
        sensitivity=f"{GROUPS}/sensitivity.npz",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/fit.log",
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        **{key: settings(key) for key in ("manifold", "model", "data_radius", "support")},
        # Without budgets nothing is drawn, and there is nothing to bound.
        source=lambda wildcards: STUDIES[wildcards.study].source,
        mechanism=lambda wildcards: (
            STUDIES[wildcards.study].settings["mechanism"]
            if STUDIES[wildcards.study].grids
            else None
        ),
        settings=settings("data"),
        group=group_of,
        # No seed where a file is read. The digest is a parameter since a replaced file may be older
        # than the results of the last one.
        seed=lambda wildcards: None if STUDIES[wildcards.study].table else study_seed(wildcards),
        digest=lambda wildcards: digest_of(STUDIES[wildcards.study].table),
        code=lambda wildcards: code(
            "fit.py",
            f"reproduction.data.{STUDIES[wildcards.study].source}",
            STUDIES[wildcards.study].sampling_module("default"),
        ),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}, {wildcards.group}: make data ({params.source}), fit, bound sensitivities"
    script:
        "../scripts/fit.py"
