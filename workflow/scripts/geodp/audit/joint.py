"""Realised privacy loss of joint distributions of footpoint and shooting vector, on any manifold.

Normalising constants are integrals in as many dimensions as a geodesic has, four on S^2.  They are
found by importance sampling at randomised Sobol points, with an interval from repetitions; the
points are the same for both data sets, so that the ratio of two constants is known better than
either.  The largest loss over geodesics is searched for.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, gammaln, logsumexp, stdtrit

from geodp.audit.search import climb, log_ratio
from geodp.errors import DataError
from geodp.manifolds.supports import ProductSupport, cube_directions, sobol_points
from geodp.manifolds.tangent_bundle import TangentBundle
from geodp.mechanisms.certified import CertifiedDistribution, map_records
from geodp.models.fitting import FitError
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Huber

# Proposals about an optimum: the distribution it would have in flat space, this many times as wide.
WIDTHS = (1.0, 4.0, 16.0)

# Of the interval for the difference of log constants.
CONFIDENCE = 0.99

# Geodesics from which the largest loss is climbed to.
PLACES = 24


def certified_distribution(public, covariates, points):
    """The certified distribution of data sets (*data_sets, n); mutants have this form too."""
    return CertifiedDistribution(public, map_records(public, covariates, points))


@dataclass(frozen=True)
class UniformProposal:
    """Both coordinates of a geodesic, as seen from the support's centre, uniform in balls.

    Attributes
    ----------
    support : ProductSupport
    """

    support: ProductSupport

    def states(self, cube):
        """Geodesics from points (count, cube_dim) of the unit cube."""
        return self.support.from_cube(cube)[0]

    def log_density(self, states):
        """For the bundle's volume, at geodesics in the support."""
        return self.support.log_draw_density(states)


@dataclass(frozen=True)
class LocalProposal:
    """The certified distribution near an optimum in flat space: the gradients at the two ends of
    the geodesic are independent l2 Laplace draws.

    Attributes
    ----------
    bundle : TangentBundle
    centre : ndarray, shape (2, *point_shape)
    matrix : ndarray, shape (2 dim, 2 dim)
        Hessian of the energy there.
    rate : float
        Of the Laplace distributions, per unit of gradient.
    """

    bundle: TangentBundle
    centre: np.ndarray
    matrix: np.ndarray
    rate: float

    def states(self, cube):
        """As `UniformProposal.states`."""
        dim = self.bundle.base.dim
        ends = [
            cube_directions(part[:, :dim]) * (gammaincinv(dim, part[:, dim:]) / self.rate)
            for part in (cube[:, : dim + 1], cube[:, dim + 1 :])
        ]
        gradient = np.concatenate([ends[0] + ends[1], 0.5 * (ends[0] - ends[1])], axis=-1)
        place = np.linalg.solve(self.matrix, gradient.T).T
        return self.bundle.exp(self.centre, self.bundle.vector(self._frame, place))

    def log_density(self, states):
        """For the bundle's volume, of states reached within the injectivity radius."""
        dim = self.bundle.base.dim
        step = self.bundle.log(self.centre, states)
        place = self.bundle.coordinates(self.centre, step, self._frame)
        gradient = place @ self.matrix.T
        first, second = gradient[..., :dim], gradient[..., dim:]
        norms = sum(np.linalg.norm(0.5 * first + sign * second, axis=-1) for sign in (1.0, -1.0))
        # Of one Laplace distribution; the two ends are (a/2 + b, a/2 - b), with Jacobian one.
        log_unit = (
            dim * np.log(self.rate)
            + gammaln(0.5 * dim)
            - np.log(2.0)
            - 0.5 * dim * np.log(np.pi)
            - gammaln(dim)
        )
        volume = np.log(self.bundle.exp_volume(self.centre, step))
        return 2.0 * log_unit - self.rate * norms + np.linalg.slogdet(self.matrix)[1] - volume

    @property
    def _frame(self):
        return self.bundle.frame(self.centre)


def local_proposals(public, covariates, points, budget):
    """Proposals about the optimum of one data set, or none where it has none to be found.

    The energy with Huber's loss has about the gradient that is clipped.
    """
    manifold = public.manifold
    low, high = public.covariate_range
    x = (np.clip(covariates, low, high) - 0.5 * (low + high)) / (high - low)
    tau = public.gradient_scale
    model = GeodesicModel(manifold, loss=Huber(tau))
    try:
        found = model.fit(x, points, max_iterations=50)
    except FitError:
        return []
    matrix = model.hessian(found.parameters, x, points)
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(np.abs(values), 1e-3 * np.max(np.abs(values)))
    matrix = (vectors * values) @ vectors.T
    bundle = public.support.space
    centre = bundle.join(found.footpoint, found.shooting_vector)
    rate = budget * public.number / (4.0 * tau)
    return [LocalProposal(bundle, centre, matrix, rate / width) for width in WIDTHS]


def draw_sample(support, proposals, power, seeds):
    """Sobol points of each proposal, weighted for the mixture of all (the balance heuristic).

    Parameters
    ----------
    support : ProductSupport
    proposals : list
    power : int
        Each proposal has 2^power points in each repetition.
    seeds : sequence
        One for each repetition.

    Returns
    -------
    states : ndarray, shape (repetitions, count, 2, *point_shape)
    log_weights : ndarray, shape (repetitions, count)
        Minus infinity off the support.
    """
    bundle = support.space
    states = np.stack(
        [
            np.concatenate(
                [
                    proposal.states(sobol_points(support.cube_dim, 1 << power, [seed, index]))
                    for index, proposal in enumerate(proposals)
                ]
            )
            for seed in seeds
        ]
    )
    inside = support.contains(states)
    safe = np.where(bundle.expand(inside), states, support.origin)
    mixture = logsumexp([proposal.log_density(safe) for proposal in proposals], axis=0)
    log_weights = np.where(inside, -mixture, -np.inf) - np.log(states.shape[1] / len(proposals))
    return states, log_weights


@dataclass(frozen=True)
class JointLoss:
    """Realised privacy loss of a pair of data sets.

    Attributes
    ----------
    loss : float
        Infinite where one distribution has no mass and the other has.
    error : float
        Half width of the interval, at `CONFIDENCE`, for the difference of the log constants.
    place : ndarray, shape (2, *point_shape)
        The geodesic at which it was found.
    log_constants : ndarray, shape (2,)
    """

    loss: float
    error: float
    place: np.ndarray
    log_constants: np.ndarray


def log_densities(distributions, states, budget):
    """Of distributions (k data sets) at states (m, 2, *point_shape); shape (k, m)."""
    count = distributions.records.covariates.shape[0]
    return distributions.log_density(np.broadcast_to(states, (count, *states.shape)), budget)


def joint_loss(rng, make, public, pair, budget, power=9, repetitions=8, proposals=None):
    """Realised loss of a joint distribution for one pair of neighbours.

    Parameters
    ----------
    rng : numpy.random.Generator
    make : callable
        From public inputs, covariates (2, n) and points to a distribution with a ``log_density``,
        such as `certified_distribution`.
    public : PublicInputs
        As they ought to be; the places looked at fill their support.
    pair : Pair
    budget : float
        At which the mechanism is run.
    power, repetitions : int
        Of `draw_sample`.
    proposals : list, optional
        In place of those about the data sets' optima.

    Returns
    -------
    JointLoss
    """
    support = public.support
    if proposals is None:
        proposals = [
            proposal
            for x, y in zip(pair.covariates, pair.points, strict=True)
            for proposal in local_proposals(public, x, y, budget)
        ]
    mixed = [UniformProposal(support), *proposals]
    seeds = rng.integers(1 << 32, size=repetitions)
    states, log_weights = draw_sample(support, mixed, power, seeds)
    distributions = make(public, pair.covariates, pair.points)
    space = support.space
    states = states.reshape((-1, *space.point_shape))
    value = log_densities(distributions, states, budget)
    terms = value.reshape((2, repetitions, -1)) + log_weights
    by_repetition = logsumexp(terms, axis=-1)
    constants = logsumexp(by_repetition, axis=-1) - np.log(repetitions)
    if not np.all(np.isfinite(constants)):
        raise DataError("a distribution has no mass that the audit finds: widen the public support")
    ratio = by_repetition[0] - by_repetition[1]
    spread = np.std(ratio, ddof=1) / np.sqrt(repetitions)
    error = stdtrit(repetitions - 1, 0.5 + 0.5 * CONFIDENCE) * spread

    def gap(value):
        outside = np.all(np.isneginf(value), axis=0)
        return np.where(outside, -np.inf, log_ratio(*(value - constants[:, None])))

    found = gap(value)
    start = np.argsort(-found, kind="stable")[:PLACES]
    if np.isposinf(found[start[0]]):
        return JointLoss(np.inf, float(error), states[start[0]], constants)

    def at(trial):
        inside = support.contains(trial)
        safe = np.where(space.expand(inside), trial, support.origin)
        flat = gap(log_densities(distributions, safe.reshape((-1, *space.point_shape)), budget))
        return np.where(inside, flat.reshape(inside.shape), -np.inf)

    longest = 0.3 * min(support.footpoint_radius, support.shooting_vector_length, 1.0)
    width = 4.0 * public.gradient_scale / (budget * public.number)
    places, values = climb(
        rng, space, at, states[start], (longest, 0.03 * min(width, longest)), rounds=20, trials=12
    )
    best = int(np.argmax(values))
    return JointLoss(float(values[best]), float(error), places[best], constants)


def search_joint_loss(make, public, budget, first):
    """The function of neighbours that `worst_neighbour` makes large; cheap and rough.

    Parameters
    ----------
    make, public, budget
        As in `joint_loss`.
    first : tuple of ndarray
        Covariates (n,) and points of the data set whose neighbours they are.
    """
    support = public.support
    covariates, points = first
    proposals = [UniformProposal(support), *local_proposals(public, covariates, points, budget)]
    # The same places for every neighbour.
    [states], [log_weights] = draw_sample(support, proposals, 7, [0])

    def normalised(covariates, points):
        value = log_densities(make(public, covariates, points), states, budget)
        return value - logsumexp(value + log_weights, axis=-1, keepdims=True)

    base = normalised(covariates[None], points[None])

    def loss(covariates, points):
        return np.max(log_ratio(normalised(covariates, points), base), axis=-1)

    return loss
