"""Published sensitivities of a group's data sets, and the support of the published densities."""

from reproduction.jobs import job, load_arrays, load_json, made_by, save_arrays

with job() as snakemake:
    import numpy as np

    from geodp.errors import DataError
    from geodp.mechanisms.kng_as_published import configured_support
    from geodp.models.regression import Fit
    from geodp.models.sensitivity import published_sensitivity
    from reproduction.manifolds import study_manifold
    from reproduction.mechanism import configured_centre

    # Below this fraction of the geodesic's length residuals are rounding.
    SMALLEST_RELATIVE_RESIDUAL = 1e-7
    manifold = study_manifold(snakemake.params.manifold)
    data = load_arrays(snakemake.input.data)
    found = Fit(**load_json(snakemake.input.fit))
    length = manifold.norm(found.footpoint, found.shooting_vector)
    if np.any(found.largest_residual <= SMALLEST_RELATIVE_RESIDUAL * length):
        raise DataError(
            f"{snakemake.input.data}: the records of a data set lie exactly on a geodesic, and the "
            "published scale, their largest residual, would be zero: add noise or check the data"
        )
    bound = published_sensitivity(
        manifold, found.largest_residual, data["covariates"].shape[-1], snakemake.params.data_radius
    )
    chosen = snakemake.params.support
    support = configured_support(
        manifold,
        bound,
        configured_centre(
            manifold, chosen["footpoint_centre"], snakemake.wildcards.study, data, found
        ),
        chosen["footpoint_radius"],
        chosen["shooting_vector_length"],
    )
    centre = support.footpoint_centre
    described = support.describe()
    if centre is not None:
        spread = np.max(manifold.dist(np.expand_dims(centre, 1), data["points"]), axis=-1)
        reach = support.footpoint_radius + support.shooting_vector_length + spread
        if np.any(reach >= manifold.injectivity_radius):
            # There residuals jump and nearly cancel, and the density can have most of its mass.
            described += ", predictions may reach the cut locus of the data"
    save_arrays(
        snakemake.output[0],
        made_by(snakemake, study=snakemake.wildcards.study, group=snakemake.wildcards.group),
        footpoint=bound.footpoint,
        shooting_vector=bound.shooting_vector,
        tau=bound.tau,
        reach=bound.reach,
        shooting_vector_length=support.shooting_vector_length,
        footpoint_centre=np.zeros(0) if centre is None else centre,
        footpoint_radius=support.footpoint_radius,
        description=np.array(described),
    )
