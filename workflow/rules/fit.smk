# The non-private fit of every data set of a group.
# In: data.npz. Out: fit.json with footpoints, shooting vectors, energies and largest residuals.
rule fit_geodesics:
    input:
        data=f"{GROUPS}/data.npz",
        library=library("fit_geodesics.py"),
    output:
        f"{GROUPS}/fit.json",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/fit_geodesics.log",
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        lock=LOCK,
    script:
        "../scripts/fit_geodesics.py"
