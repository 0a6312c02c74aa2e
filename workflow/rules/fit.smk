# The non-private fit of every data set of a group.
# In: data.npz. Out: fit.json with footpoints, shooting vectors, energies and largest residuals.
rule fit:
    input:
        data=f"{GROUPS}/data.npz",
    output:
        f"{GROUPS}/fit.json",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/fit.log",
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        model=settings("model"),
        code=code("fit.py"),
        lock=LOCK,
    message:
        "{wildcards.study}, {wildcards.group}: fit geodesics without privacy"
    script:
        "../scripts/fit.py"
