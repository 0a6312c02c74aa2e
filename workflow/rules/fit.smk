# Fit of every data set of a group, without privacy.
# In: data.npz. Out: fit.json with parameters, energies and largest residuals.
rule fit:
    input:
        data=f"{GROUPS}/data.npz",
    output:
        f"{GROUPS}/fit.json",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/fit.log",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        model=settings("model"),
        code=code_of("fit.py"),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}, {wildcards.group}: fit without privacy"
    script:
        "../scripts/fit.py"
