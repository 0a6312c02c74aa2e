"""Draws of a block of budget cells by one sampler, with traces for its diagnostics."""

from reproduction.jobs import job, made_by, save_arrays

with job() as snakemake:
    from functools import partial

    from geodp.errors import DataError
    from geodp.mechanisms.draws import draw_pairs, trace_chains
    from geodp.randomness import random_stream
    from geodp.samplers.base import Plan
    from geodp.samplers.choice import plan
    from geodp.samplers.random_walk import fixed_or_tuned
    from reproduction.manifolds import study_manifold
    from reproduction.mechanism import load_mechanism

    params, files = snakemake.params, snakemake.input
    mechanism = load_mechanism(
        study_manifold(params.manifold), files.data, files.fit, files.sensitivity
    )
    settings = params.settings
    if params.sampler == "default":
        warm_up, thin = 0, None
        planner = partial(plan, **settings["plan"])
    else:
        # For comparison only: the first data set is enough.
        mechanism = mechanism.take(slice(0, 1))
        warm_up, thin = settings["steps"], 1

        def planner(rng, target, draws):
            kernel = fixed_or_tuned(
                rng, target, settings["chains"], settings["step_scale"], settings["warm_up"]
            )
            return Plan(kernel, settings["steps"], proposals=settings["steps"])

    for path, (cell, texts) in zip(snakemake.output, params.cells.items(), strict=True):
        budgets = tuple(float(text) for text in texts.values())
        names = (params.seed, params.study, params.group, cell, params.sampler)
        try:
            draws = draw_pairs(
                random_stream(*names, "draws"), mechanism, budgets, **params.draws, planner=planner
            )
        except DataError as problem:
            raise DataError(f"cell {cell} of the group {params.group}: {problem}") from None
        traces = trace_chains(
            random_stream(*names, "traces"),
            mechanism,
            budgets,
            draws,
            planner,
            settings["chains"],
            settings["states"],
            warm_up,
            thin,
        )
        origin = made_by(
            snakemake, study=params.study, group=params.group, cell=cell, sampler=params.sampler
        )
        save_arrays(path, origin, **draws.arrays(), **traces)
