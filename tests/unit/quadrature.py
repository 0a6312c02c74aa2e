"""Quadrature of densities in two and three dimensions, and data sets whose densities need it."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
from scipy import special, stats
from scipy.integrate import cumulative_simpson
from twin import spd

from geodp import SPD, GeodesicModel, PublicSettings
from geodp.manifolds.supports import Ball
from geodp.mechanisms.density import FootpointDensity, ShootingVectorDensity
from geodp.mechanisms.kng_as_published import KNGAsPublished, PublishedSupport
from geodp.samplers.kernel import Target


@cache
def published_mechanism(manifold, noise_variances, number=20):
    """The published mechanism for data sets along random geodesics, one for each noise variance."""
    rng, sets = np.random.default_rng(1), len(noise_variances)
    covariates = np.tile(np.linspace(0.0, 1.0, number), (sets, 1))
    start = np.expand_dims(manifold.random_point(rng, (sets,)), -manifold.point_ndim - 1)
    velocity = 0.25 * np.pi * manifold.random_direction(rng, start)
    clean = manifold.exp(start, manifold.expand(covariates) * velocity)
    spread = manifold.expand(np.sqrt(noise_variances)[:, None])
    points = manifold.exp(clean, spread * manifold.random_tangent(rng, clean))
    model = GeodesicModel(manifold)
    found = model.fit(covariates, points)
    assert np.all(found.converged)
    public = PublicSettings(data_radius=1.0 if manifold.curvature_bounds[0] < 0.0 else None)
    return KNGAsPublished.prepare(model, covariates, points, public, found)


def beside_the_fit(mechanism, distance):
    """Places so far from fitted footpoints, (data_sets, *point_shape)."""
    space, fitted = mechanism.manifold, mechanism.fit.footpoint
    unit = np.broadcast_to(np.eye(space.dim)[0], (len(fitted), space.dim))
    return space.exp(fitted, distance * space.vector(space.frame(fitted), unit))


def target_in_a_ball(mechanism, budget, radius, aside=0.0):
    """Density of footpoints in a ball whose centre is beside the fit."""
    centre = beside_the_fit(mechanism, aside)
    lengths = mechanism.support.shooting_vector_length
    support = PublishedSupport(lengths, centre, np.full(len(centre), radius))
    return replace(mechanism, support=support).footpoint_target(budget)


def footpoint_density(space, covariates, points, scale, footpoint, vector):
    """Published density of footpoints, covariates (*data_sets, n) and the fit in two parts."""
    model = GeodesicModel(space)
    fitted = model.parameters(footpoint, vector)
    return FootpointDensity(model, covariates[..., None], points, scale, fitted)


def shooting_vector_density(space, covariates, points, scale, footpoint, frame):
    """Published density of shooting vectors at footpoints; covariates (*data_sets, n)."""
    model = GeodesicModel(space)
    return ShootingVectorDensity(model, covariates[..., None], points, scale, footpoint, frame)


def ball_target(space, mode, centre, radius, log_density, sigma=1.0):
    """Density on balls; one member for each radius."""
    batch = np.shape(radius)
    shape = (*batch, *space.point_shape)
    return Target(
        space=space,
        unrestricted=log_density,
        centre=np.broadcast_to(mode, shape),
        hessian=np.broadcast_to(np.eye(space.dim), (*batch, space.dim, space.dim)),
        scale=np.broadcast_to(sigma, batch),
        support=Ball(space, np.broadcast_to(centre, shape), np.asarray(radius)),
    )


def laplace_target(space, sigma, mode=None, centre=None, radius=None):
    """Density ``exp(-dist(z, mode) / sigma)``, on a ball if given; a member for each scale."""
    sigma = np.asarray(sigma)
    mode = space.random_point(np.random.default_rng(0)) if mode is None else mode

    def log_density(states):
        return -space.dist(mode, states) / sigma[..., None]

    radius = np.full(sigma.shape, space.injectivity_radius if radius is None else radius)
    return ball_target(space, mode, mode if centre is None else centre, radius, log_density, sigma)


norm = partial(np.linalg.norm, axis=-1)


def distribution(log_density, low, high):
    """Distribution function of a radius, from its log density up to a constant."""
    radius = np.linspace(low, high, 20001)
    with np.errstate(divide="ignore"):
        values = log_density(radius)
    values = cumulative_simpson(np.exp(values - np.max(values)), x=radius, initial=0.0)
    return lambda places: np.interp(places, radius, values / values[-1])


def laplace_radius(space, scale, volume=True):
    """Distribution function of the distance of Laplace draws from their centre."""
    across = space.dim - 1
    log_size = {
        "Euclidean": lambda r: across * np.log(r),
        "Sphere": lambda r: across * np.log(np.sin(r)),
        "Hyperbolic": lambda r: across * np.log(np.sinh(r)),
        # One direction across is four times as curved as the others.
        "KendallPlanarShapes": lambda r: np.log(np.sin(2.0 * r)) + (across - 1) * np.log(np.sin(r)),
        # Hajri et al. 2016, at m = 2, integrated over the angle.
        "SPD": lambda r: np.log(r * special.modstruve(0, r / np.sqrt(2.0))),
    }[type(space).__name__]
    reach = min(100.0 * scale, (1.0 - 1e-9) * space.injectivity_radius)
    return distribution(lambda r: -r / scale + (log_size(r) if volume else 0.0), 1e-9, reach)


_laguerre = cache(special.roots_genlaguerre)


def matrix_laplace_log_density(noise, fine=4):
    """Log density of matrix Laplace noise of scale one, of a symmetric matrix of size two or three.

    It is the convolution of the densities of the two Wishart matrices, in a cone.
    """
    values = np.linalg.eigvalsh(noise)
    size = len(values)
    constant = special.multigammaln(0.5 * (size + 1), size)
    return np.sum(values) + np.log(_above(values, fine)) - 2.0 * constant


def _above(values, fine):
    """Integral of ``exp(-2 tr V)`` over ``V >= 0`` and ``V >= N``, from eigenvalues of N.

    In a basis where N is diagonal, its least eigenvalue n first, V has a corner v and beside it ``b
    sqrt(v)``.  Where ``n < 0`` the rest less ``b b'`` is, by Schur complements, such a V for the
    rest of N less ``share b b'``.  With one number left the integral over it and b is closed.
    """
    least, rest = values[..., 0], values[..., 1:]
    size = values.shape[-1]
    v, weights = _laguerre(4 * fine, 0.5 * (size - 1))
    below = np.maximum(-least, 0.0)[..., None]
    share = np.maximum(below / (0.5 * v + below), 1e-300)
    if size == 2:
        end, left = np.maximum(rest, 0.0), np.sqrt(1.0 - share)
        root = np.sqrt(2.0 * end / share)
        inner = special.erfc(root) + np.exp(-2.0 * end) * special.erf(left * root) / left
        inner *= 0.5 * np.sqrt(0.5 * np.pi)
    else:
        # The square of b's length, and its angle in a quarter of the circle.
        squares, of_squares = _laguerre(2 * fine, 0.0)
        angle = (np.arange(fine) + 0.5) * np.pi / fine
        less = 0.25 * share[..., None, None] * squares[:, None]
        one, two = np.moveaxis(0.5 * rest, -1, 0)[..., None, None, None]
        mean = one + two - less
        radius = np.hypot(one - two - less * np.cos(angle), less * np.sin(angle))
        found = _above(np.stack(np.broadcast_arrays(mean - radius, mean + radius), axis=-1), fine)
        inner = 0.5 * np.pi * np.mean(found, axis=-1) @ of_squares
    whole = 0.5 ** (0.5 * (size + 1)) * np.sum(weights * inner, axis=-1)
    return np.exp(-2.0 * np.maximum(least, 0.0)) * whole


class PolarChart:
    """Polar coordinates about a pole, on a surface of constant curvature or of SPD(2).

    Coordinates are those of the unit box: a function of the radius, which is ``middle`` in the
    middle and ``reach`` at the end, and angles.  The library's volume density is part of what is
    tested: on surfaces circles have their known lengths, and all of SPD(2) is that of the twin.
    """

    def __init__(self, space, pole, reach, middle):
        self.dim = space.dim
        # Halvings of the unit box at most, and those that quadrature starts with; and the
        # difference that a halving may leave, as a share of the whole.
        self.depth, self.start, self.tolerance = {2: (26, 6, 5e-8), 3: (20, 3, 3e-6)}[self.dim]
        middle = min(middle, 0.5 * reach)
        self.slope = middle * reach / (reach - middle)
        self.bend = 1.0 - self.slope / reach
        if isinstance(space, SPD):
            self.exp, self.log = partial(spd.exp, pole), partial(spd.log, pole)
            self.volume = spd.volume
            return
        frame = space.frame(pole)
        length = {1: np.sin, 0: lambda r: r, -1: np.sinh}[int(space.curvature_bounds[1])]
        self.exp = lambda steps: space.exp(pole, space.vector(frame, steps))
        self.log = lambda states: space.coordinates(pole, space.log(pole, states), frame)
        self.volume = lambda steps: length(norm(steps)) / norm(steps)

    def states(self, unit):
        """States at coordinates (m, dim), and the logarithm of the volume element there."""
        below = 1.0 - self.bend * unit[:, 0]
        radius = self.slope * unit[:, 0] / below
        angle = 2.0 * np.pi * unit[:, -1] - np.pi
        directions = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        element = 2.0 * np.pi * radius * self.slope / below**2
        if self.dim == 3:
            polar = np.pi * unit[:, 1]
            across = np.sin(polar)[:, None] * directions
            directions = np.column_stack([np.cos(polar), across])
            element = element * np.pi * radius * np.sin(polar)
        steps = radius[:, None] * directions
        return self.exp(steps), np.log(element * self.volume(steps))

    def unit(self, states):
        """Coordinates of states; the first is above one for states out of reach."""
        steps = self.log(states)
        radius = norm(steps)
        angles = [(np.arctan2(steps[:, -1], steps[:, -2]) + np.pi) / (2.0 * np.pi)]
        if self.dim == 3:
            angles.insert(0, np.arctan2(norm(steps[:, 1:]), steps[:, 0]) / np.pi)
        return np.stack([radius / (self.slope + self.bend * radius), *angles], axis=-1)


class CellLaw:
    """A density in two dimensions or three, integrated over cells of a chart.

    A cell is integrated by Gauss's rule of two nodes an axis, and halved along every axis as long
    as that makes a difference, or its nodes leave room for a peak between them.  Cells are in
    Morton order, in which neighbours lie together; ``error`` is the sum of the differences that
    halving last made to their probabilities.
    """

    # The most in a cell, and differences of log density between nodes that make a cell suspect.
    LARGEST_MASS, STEEP = 1e-3, 3.0

    def __init__(self, chart, log_density):
        """Integrate a log density, a function from states (m, ...) to (m,)."""
        self.chart, dim = chart, chart.dim
        corners = np.indices((2,) * dim).reshape((dim, -1)).T
        nodes = 0.5 + (corners - 0.5) / np.sqrt(3.0)
        self._offset = None

        def integrate(cells, level):
            unit = (cells[:, None, :] + nodes) / 2**level
            states, log_volume = chart.states(unit.reshape((-1, dim)))
            value = (log_density(states) + log_volume).reshape((len(cells), -1))
            if self._offset is None:
                self._offset = np.max(value)
            value = value - self._offset - level * dim * np.log(2.0)
            highest = np.max(value, axis=-1)
            lowest = np.min(value, axis=-1, where=np.isfinite(value), initial=np.inf)
            drop = np.where(np.isfinite(highest) & np.isfinite(lowest), highest - lowest, 0.0)
            steep = drop > self.STEEP
            peak = np.where(steep, np.exp(np.minimum(highest + 2.0 * drop, 0.0)), 0.0)
            return np.mean(np.exp(value), axis=-1), peak

        level = chart.start
        cells = np.indices((2**level,) * dim).reshape((dim, -1)).T
        mass, peak = integrate(cells, level)
        kept, error, settled = [], 0.0, 0.0
        while len(cells):
            halves = (2 * cells[:, None, :] + corners).reshape((-1, dim))
            level += 1
            half_mass, half_peak = integrate(halves, level)
            half_mass = half_mass.reshape((len(cells), -1))
            whole = settled + np.sum(half_mass)
            difference = np.abs(np.sum(half_mass, axis=-1) - mass)
            split = np.maximum(difference, peak) > chart.tolerance * whole
            split |= np.max(half_mass, axis=-1) > self.LARGEST_MASS * whole
            split &= level < chart.depth
            error += float(np.sum(difference[~split]))
            settled += float(np.sum(half_mass[~split]))
            among = np.repeat(split, 2**dim)
            kept.append((self._morton(halves[~among], level), half_mass.ravel()[~among]))
            cells, mass, peak = halves[among], half_mass.ravel()[among], half_peak[among]
        codes, masses = map(np.concatenate, zip(*kept, strict=True))
        order, total = np.argsort(codes), np.sum(masses)
        self.codes, self.masses, self.error = codes[order], masses[order] / total, error / total

    def _morton(self, cells, level):
        """Bits of the indices of cells of a level in turn: where they start in Morton order."""
        dim, depth = self.chart.dim, self.chart.depth
        cells = cells.astype(np.int64) << (depth - level)
        codes = np.zeros(len(cells), dtype=np.int64)
        for bit in range(depth):
            for axis in range(dim):
                codes |= ((cells[:, axis] >> bit) & 1) << (dim * bit + dim - 1 - axis)
        return codes

    def counts(self, states, bins):
        """Numbers of states in runs of cells of about equal probability, these, and the others."""
        middle = np.cumsum(self.masses) - 0.5 * self.masses
        bin_of_cell = np.minimum((middle * bins).astype(int), bins - 1)
        unit = self.chart.unit(states)
        inside = unit[:, 0] <= 1.0 + 1e-9
        size = 2**self.chart.depth
        cells = np.clip((unit[inside] * size).astype(np.int64), 0, size - 1)
        cell = np.searchsorted(self.codes, self._morton(cells, self.chart.depth), "right") - 1
        found = np.bincount(bin_of_cell[cell], minlength=bins)
        return found, np.bincount(bin_of_cell, self.masses, minlength=bins), np.sum(~inside)

    def total_variation(self, states, bins):
        """Half the sum of differences of shares, and what a perfect sampler's is on average."""
        found, probability, outside = self.counts(states, bins)
        number = len(states)
        measured = 0.5 * (np.sum(np.abs(found / number - probability)) + outside / number)
        spread = np.sqrt(2.0 * probability * (1.0 - probability) / (np.pi * number))
        return measured, 0.5 * float(np.sum(spread))

    def p_value(self, states, bins):
        """Chi-square over bins."""
        found, probability, outside = self.counts(states, bins)
        return 0.0 if outside else stats.chisquare(found, len(states) * probability).pvalue


def law_of(target, chart, member=None):
    """Law of a member of a target, by default the first."""
    member = (0,) * len(target.batch) if member is None else member

    def log_density(states):
        return target.log_density(np.broadcast_to(states, (*target.batch, *states.shape)))[member]

    return CellLaw(chart, log_density)
