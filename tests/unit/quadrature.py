"""Two-dimensional quadrature of a density, and data sets whose densities are worth it."""

from itertools import pairwise

import numpy as np
from scipy import stats

from geodp.mechanisms.as_published import AsPublished, configured_support
from geodp.mechanisms.target import Target
from geodp.regression import fit
from geodp.sensitivity import published_sensitivity


def records(manifold, noise_variances, number=20, length=np.pi / 4, seed=1):
    """Data sets along random geodesics, one for each noise variance."""
    rng = np.random.default_rng(seed)
    sets = len(noise_variances)
    covariates = np.tile(np.linspace(0.0, 1.0, number), (sets, 1))
    axis = -manifold.point_ndim - 1
    start = np.expand_dims(manifold.random_point(rng, (sets,)), axis)
    velocity = manifold.random_tangent(rng, start)
    velocity = manifold.expand(length / manifold.norm(start, velocity)) * velocity
    clean = manifold.exp(start, manifold.expand(covariates) * velocity)
    spread = manifold.expand(np.sqrt(noise_variances)[:, None])
    return covariates, manifold.exp(clean, spread * manifold.random_tangent(rng, clean))


def published_mechanism(manifold, noise_variances, number=20, support=None, seed=1):
    """The published mechanism for such data sets."""
    covariates, points = records(manifold, noise_variances, number, seed=seed)
    found = fit(manifold, covariates, points)
    assert np.all(found.converged)
    radius = 1.0 if manifold.curvature_bounds[0] < 0.0 else None
    sensitivity = published_sensitivity(manifold, found.largest_residual, number, radius)
    if support is None:
        support = configured_support(manifold, sensitivity)
    return AsPublished(manifold, covariates, points, found, sensitivity, support)


def laplace_target(space, centre, sigma):
    """Density ``exp(-dist(z, centre) / sigma)``; batches of centres and scales."""
    sigma = np.asarray(sigma)
    axis = -space.point_ndim - 1

    def log_density(states):
        return -space.dist(np.expand_dims(centre, axis), states) / sigma[..., None]

    return Target(
        space=space,
        unrestricted=log_density,
        centre=centre,
        hessian=np.broadcast_to(np.eye(space.dim), (*sigma.shape, space.dim, space.dim)),
        scale=sigma,
        support_centre=centre,
        support_radius=np.full(sigma.shape, space.injectivity_radius),
    )


def origin(space, *batch):
    point = space.random_point(np.random.default_rng(0))
    return np.broadcast_to(point, (*batch, *space.point_shape))


def polar_laws(target, fine, reach=np.pi, pole=None, shells=500, sectors=200):
    """`PolarQuadrature` of each member of a target's batch, by its index.

    Parameters
    ----------
    target : Target
        On a space of dimension two.
    fine, reach : float or ndarray, shape (*batch)
        Radius below which cells are narrow (the width of the density), and the largest radius.
    pole : ndarray, shape (*batch, *point_shape), optional
        Where the coordinates start; the mode if not given.
    """
    fine, reach = np.broadcast_to(fine, target.batch), np.broadcast_to(reach, target.batch)
    pole = target.centre if pole is None else pole
    laws = {
        member: PolarQuadrature(
            target.space, pole[member], fine[member], reach[member], shells, sectors
        )
        for member in np.ndindex(target.batch)
    }
    states = np.stack([law.states for law in laws.values()])
    cells = target.space.point_shape
    log_density = target.log_density(states.reshape((*target.batch, -1, *cells)))
    for member, law in laws.items():
        law.weigh(log_density[member])
    return laws


class PolarQuadrature:
    """Law of a density on a surface, on cells in polar coordinates about a pole."""

    def __init__(self, space, pole, fine, reach, shells, sectors):
        self.space = space
        self.pole = pole
        self.frame = space.frame(pole)
        steps = np.linspace(0.0, 1.0, shells // 2 + 1)
        narrow = fine * np.sinh(steps * np.arcsinh(reach / fine))
        self.radii = np.sort(np.concatenate([narrow[:-1], reach * steps[1:]]))
        self.radius = 0.5 * (self.radii[1:] + self.radii[:-1])
        self.angles = np.linspace(-np.pi, np.pi, sectors + 1)
        angle = 0.5 * (self.angles[1:] + self.angles[:-1])
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        self.states = space.exp(pole, space.vector(self.frame, self.radius[:, None, None] * circle))

    def weigh(self, log_density):
        """Take the log density at the cells' ``states``, up to a constant."""
        # The length of a circle is known on a surface of constant curvature; the library's
        # volume density is part of what is tested.
        curvature = self.space.curvature_bounds[1]
        length = self.radius * np.sinc(np.sqrt(curvature) * self.radius / np.pi)
        density = np.exp(log_density - np.max(log_density)).reshape((len(self.radius), -1))
        mass = density * (length * np.diff(self.radii))[:, None]
        self.mass = mass / np.sum(mass)

    def expectation(self, values):
        """Mean of a function given on the cells, as (shells,) or (shells, sectors)."""
        return float(np.sum(self.mass * values.reshape((len(self.radius), -1))))

    def polar(self, states):
        """Radius and angle of states."""
        place = self.space.coordinates(self.pole, self.space.log(self.pole, states), self.frame)
        return np.sqrt(np.sum(place**2, axis=-1)), np.arctan2(place[..., 1], place[..., 0])

    def valley(self):
        """Radius where the density about the pole is least: between the mode and another."""
        marginal = np.sum(self.mass, axis=1) / np.diff(self.radii)
        between = (self.radius > 1.5) & (self.radius < 2.9)
        return self.radii[1:][between][np.argmin(marginal[between])]

    def mass_beyond(self, radius):
        return float(np.sum(self.mass[self.radii[:-1] >= radius]))

    def bins(self, states, shells=8, sectors=8):
        """Numbers of states, found and expected, in bins of radius and direction."""
        radius, angle = self.polar(states)
        expected, observed = [], []
        shell_cuts = _equal_parts(np.sum(self.mass, axis=1), shells)
        shell = np.searchsorted(self.radii[shell_cuts[1:-1]], radius)
        for index, (first, last) in enumerate(pairwise(shell_cuts)):
            around = np.sum(self.mass[first:last], axis=0)
            cuts = _equal_parts(around, sectors)
            sector = np.searchsorted(self.angles[cuts[1:-1]], angle[shell == index])
            expected.extend(np.add.reduceat(around, cuts[:-1]))
            observed.extend(np.bincount(sector, minlength=len(cuts) - 1))
        return np.array(observed), np.array(expected) * len(states)

    def p_value(self, states):
        """Chi-square over bins of about equal probability."""
        return stats.chisquare(*self.bins(states)).pvalue


def _equal_parts(mass, parts):
    """Cuts of a row of cells into parts of about equal mass, fewer where cells are coarse."""
    share = np.cumsum(mass) / np.sum(mass)
    inner = np.searchsorted(share, np.arange(1, parts) / parts) + 1
    return np.unique(np.concatenate([[0], inner, [len(mass)]]))
