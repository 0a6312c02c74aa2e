# Published sensitivities and the support of the densities; and, for pairs of neighbours, how far
# the gradients really move.
# In: data.npz, fit.json. Out: sensitivity.npz; tables/neighbours.csv.
rule bound_sensitivity:
    input:
        data=f"{GROUPS}/data.npz",
        fit=f"{GROUPS}/fit.json",
        library=library("bound_sensitivity.py"),
    output:
        f"{GROUPS}/sensitivity.npz",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/bound_sensitivity.log",
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        data_radius=settings("data_radius"),
        support=settings("support"),
        lock=LOCK,
    script:
        "../scripts/bound_sensitivity.py"


rule neighbour_ratios:
    input:
        library=library("neighbour_ratios.py"),
    output:
        f"{RESULTS}/{{study}}/tables/neighbours.csv",
    log:
        f"{RESULTS}/{{study}}/logs/neighbour_ratios.log",
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        data=settings(
            "data",
            "shooting_vector_length",
            "covariates",
            "first_point",
            "last_point",
            "random_point_radius",
            "noise",
        ),
        data_radius=settings("data_radius"),
        settings=settings("neighbours"),
        seed=config["seed"],
        lock=LOCK,
    script:
        "../scripts/neighbour_ratios.py"
