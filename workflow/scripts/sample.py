"""Draws of a block of budget cells by one sampler, with diagnostics of its chains."""

from reproduction.jobs import job, made_by, save_cells

with job() as snakemake:
    from functools import partial
    from types import SimpleNamespace

    from geodp.errors import DataError
    from geodp.randomness import random_stream
    from geodp.samplers.choice import plan
    from geodp.samplers.kernel import SamplerPlan
    from geodp.samplers.random_walk import RandomWalk
    from reproduction.diagnostics import convergence
    from reproduction.models import load_mechanism, study_model

    params, files, of = snakemake.params, snakemake.input, snakemake.wildcards
    chosen, settings = SimpleNamespace(**params.mechanism), params.settings
    mechanism = load_mechanism(study_model(chosen), chosen, of.study, files.data, files.fit)
    stated = {
        "mechanism": mechanism.name,
        "guarantee": mechanism.guarantee.line,
        "support": mechanism.support_description,
    }
    lengths = {key: settings.get(key, 0) for key in ("chains", "states")}
    # A release beside the draws of the study's mechanism, or where that is one itself.
    block, is_release = {}, mechanism.name == "release"
    if "data_sets" in settings:
        # Releases, and the random walk for comparison, are of the first data sets only.
        mechanism = mechanism.take(slice(0, settings["data_sets"]))
    if is_release:
        stated["error_without_data"] = mechanism.errors_without_data()
        plan_sampler = None
    elif "plan" in settings:
        plan_sampler = partial(plan, **settings["plan"])
    else:
        steps = settings["steps"]
        lengths |= {"warm_up": steps, "thin": 1}
        walk = SamplerPlan(RandomWalk(settings["step_scale"]), steps, proposals=steps)

        def plan_sampler(rng, target, draws):
            return walk

    for cell, budgets in params.cells.items():
        if is_release:
            # Whether a holder's plan at this budget is refused, since it would be noise.
            stated["refused"] = mechanism.plan(budgets).is_noise
        names = (params.seed, of.study, of.group, cell, of.sampler)
        try:
            draws = mechanism.draw(
                random_stream(*names, "draws"), budgets, params.draws, plan_sampler
            )
        except DataError as problem:
            raise DataError(f"cell {cell} of the group {of.group}: {problem}") from None
        traces = mechanism.traces(random_stream(*names, "traces"), budgets, draws, **lengths)
        judged = {
            f"{name}_{key}": value
            for name in budgets
            for key, value in convergence(**traces.get(name, {})).items()
        }
        block[cell] = draws.arrays() | judged | stated
    origin = made_by(snakemake, study=of.study, group=of.group, sampler=of.sampler)
    save_cells(snakemake.output[0], origin, block)
