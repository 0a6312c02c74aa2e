"""Checks of any model, as rows of `geodp.testing`: derivatives by differences, and the fit."""

from types import SimpleNamespace

import numpy as np

from geodp import testing
from geodp.models.blocks import FOOTPOINT
from geodp.models.losses import Distance

# Records, data sets, and directions in which derivatives are tested.
RECORDS, DATA_SETS, DIRECTIONS = 12, 2, 6


def check_model(model, *more, reach=0.6):
    """Check that a model's energy, derivatives and fit are consistent, on geodesics so long.

    Residuals are from a third to two thirds of that length.  There may be ``more`` checks.
    """
    checks = _energies, _gradients, _hessians, _fits, *more
    testing._run(checks, study(model, np.random.default_rng(0), reach))


def study(model, rng, reach):
    """Data sets about random parameters, with residuals whose lengths are known there."""
    manifold, k = model.manifold, model.number_of_covariates
    footpoint = manifold.random_point(rng, (DATA_SETS,))
    vectors = [reach / k * manifold.random_direction(rng, footpoint) for _ in range(k)]
    # One data set is at rest beside another that is not.
    vectors = [manifold.expand(np.arange(DATA_SETS) > 0) * vector for vector in vectors]
    parameters = model.parameters(footpoint, *vectors)
    x = rng.uniform(-0.5, 1.0, (DATA_SETS, RECORDS, k))
    predictions = model.predict(parameters, x)
    direction = manifold.random_direction(rng, predictions)
    # Not near half of ``reach``, where losses of the tests bend and differences prove nothing.
    low, high = (np.linspace(*ends, RECORDS // 2) for ends in ((1 / 3, 0.45), (0.55, 2 / 3)))
    lengths = np.broadcast_to(reach * np.concatenate([low, high]), (DATA_SETS, RECORDS))
    lengths = manifold.expand(rng.permuted(lengths, axis=-1))
    data = x, manifold.exp(predictions, lengths * direction)
    return SimpleNamespace(
        model=model,
        manifold=manifold,
        name=f"{k} covariates and the loss {model.loss.name} on {manifold.name}",
        places=[f"data set {index + 1}" for index in range(DATA_SETS)],
        rng=rng,
        parameters=parameters,
        data=data,
        predictions=predictions,
        gradient=model.energy_gradient(parameters, *data).gradient,
        rounding=testing.ROUNDING * np.max(manifold.magnification(predictions), axis=1) ** 2,
    )


def _energy(at, parameters):
    return at.model.energy_gradient(parameters, *at.data, blocks=()).energy


def _energies(at):
    manifold, model = at.manifold, at.model
    x, points = at.data
    distances = manifold.dist(at.predictions, points)
    expected = np.mean(model.loss.values(distances**2), axis=-1)
    yield "the energy is the mean loss", _energy(at, at.parameters), expected, at.rounding
    found = model.residual_distances(at.parameters, *at.data)
    # A distance comes from its square where that is faster.
    yield "residual_distances are the distances to predict", found**2, distances**2, at.rounding
    at_zero = model.predict(at.parameters, np.zeros_like(x))
    error = manifold.dist(np.expand_dims(at.parameters[FOOTPOINT], 1), at_zero)
    yield "predict at covariates zero is the footpoint", error, 0.0, at.rounding


def directions(at, blocks):
    """Places, and directions there: (data_sets, DIRECTIONS, *point_shape) by block."""
    manifold = at.manifold
    places = {
        block: np.repeat(np.expand_dims(value, 1), DIRECTIONS, axis=1)
        for block, value in at.parameters.items()
    }
    steps = {block: manifold.random_tangent(at.rng, places[FOOTPOINT]) for block in blocks}
    size = np.sqrt(sum(manifold.inner(places[FOOTPOINT], s, s) for s in steps.values()))
    return places, {block: step / manifold.expand(size) for block, step in steps.items()}


def moved(at, places, step, size):
    return at.model.retract(places, {block: size * value for block, value in step.items()})


def _gradients(at):
    for block in at.model.blocks:
        places, step = directions(at, (block,))
        expected = testing._derivative(
            lambda size, places=places, step=step: _energy(at, moved(at, places, step, size))
        )
        gradient = np.expand_dims(at.gradient[block], 1)
        found = at.manifold.inner(places[FOOTPOINT], gradient, step[block])
        # Gradients are about 0.1 long.
        what = f"the gradient in {block} is the derivative of the energy"
        yield what, found, expected, 2e-12 + 50.0 * at.rounding


def _hessians(at):
    manifold, model = at.manifold, at.model
    matrix = model.hessian(at.parameters, *at.data)
    yield "the Hessian is symmetric", matrix, np.swapaxes(matrix, -1, -2), 0.0
    # Directions across all blocks see the mixed derivatives too.
    places, step = directions(at, model.blocks)
    start = places[FOOTPOINT]

    def slope(size):
        end = moved(at, places, step, size)
        found = model.energy_gradient(end, *at.data).gradient
        p, along = end[FOOTPOINT], size * step[FOOTPOINT]
        carried = {b: manifold.transport(start, along, value) for b, value in step.items()}
        return sum(manifold.inner(p, found[b], value) for b, value in carried.items())

    frame = np.expand_dims(manifold.frame(at.parameters[FOOTPOINT]), 1)
    flat = np.concatenate(
        [manifold.coordinates(start, value, frame) for value in step.values()], axis=-1
    )
    found = np.einsum("dci,dij,dcj->dc", flat, matrix, flat)
    size = np.maximum(1.0, np.max(abs(matrix), axis=(-1, -2)))
    what = "the Hessian is the derivative of the gradient"
    yield what, found, testing._derivative(slope), 1e-8 * size


def _fits(at):
    manifold, model = at.manifold, at.model
    found = model.fit(*at.data)
    yield "the fit converges", found.converged, 1.0, 0.0
    yield "the gradient at the fit is small", found.gradient_norm, 0.0, 1e-10
    truth = _energy(at, at.parameters)
    excess = np.maximum(0.0, found.energy - truth)
    yield "the fit has no more energy than the truth", excess, 0.0, at.rounding
    places, step = directions(testing._changed(at, parameters=found.parameters), model.blocks)
    for size in (1e-3, 1e-2, 0.1):
        excess = found.energy[:, None] - _energy(at, moved(at, places, step, size))
        yield "the fit is a minimum", np.maximum(0.0, excess + 1e-4 * size**2), 0.0, 0.0
    distances = model.residual_distances(found.parameters, *at.data)
    largest = np.max(distances, axis=-1)
    # One may come from the square of the other.
    error = found.largest_residual**2 - largest**2
    yield "largest_residual is that of the fit", error, 0.0, at.rounding
    singles = [model.fit(*data) for data in zip(*at.data, strict=True)]
    for block, value in found.parameters.items():
        each = np.stack([single.parameters[block] for single in singles])
        if block == FOOTPOINT:
            error = manifold.dist(value, each)
        else:
            error = manifold.norm(found.footpoint, value - each)
        yield f"a batch of fits has the {block} of single ones", error, 0.0, 1e-8
    exact = model.fit(at.data[0], at.predictions)
    yield "a fit without noise converges", exact.converged, 1.0, 0.0
    # Steps are Newton's there, but where a loss has no second derivative.
    more = np.full(DATA_SETS, max(exact.iterations - 3, 0)) * (model.loss.name != Distance.name)
    yield "a fit without noise takes few steps", more, 0.0, 0.0
    error = manifold.dist(model.predict(exact.parameters, at.data[0]), at.predictions)
    yield "a fit without noise finds the truth", error, 0.0, 1e-8
