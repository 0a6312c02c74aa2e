"""Simulated records about true geodesics, with normal, skewed, heavy-tailed or other residuals."""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from geodp import Assumptions, GeodesicModel
from geodp.manifolds.registry import make_manifold
from geodp.models.terms import LINE
from geodp.randomness import random_stream
from geodp_release.promise.public_inputs import TWO_GROUPS

# Deviation of the curvature that is added to residuals, orthogonal to 1 and x.
CURVED = 0.7


def assumed(space, seed, *names):
    """Assumptions about an entry of SPACES of evaluation/Snakefile, but for its residual scale.

    The centre is random, from a stream of a seed and names, unless the entry has one.
    """
    manifold = make_manifold(*space["manifold"])
    centre = space.get("centre", manifold.random_point(random_stream(seed, *names, "centre")))
    spreads = tuple(space.get("covariate_spread", ["unknown"]))
    radii = space["footpoint_radius"], space["shooting_vector_length"]
    public = *radii, space.get("ranges", ((-0.5, 0.5),) * len(spreads)), space["n"]
    more = {"covariate_spread": spreads, "basis": space.get("basis", LINE)}
    return Assumptions(manifold, np.array(centre), *public, **more)


def places_of(covariates, number):
    """Covariates (number, k) of predictions: the first spread out, others at their ends."""
    if not covariates:
        return np.zeros((1, 0))
    places = np.where(np.arange(number)[:, None] % (2 + np.arange(covariates)) == 0, -0.5, 0.5)
    places[:, 0] = np.linspace(-0.5, 0.5, number)
    return places


def _first(values, normal):
    """Normal residuals with others (n, 1) in the first direction."""
    return np.concatenate([values, normal[:, 1:]], axis=1)


def _lognormal(rng, normal, x, sigma=0.75):
    mean, square = np.exp(0.5 * sigma**2), np.exp(2.0 * sigma**2)
    return _first((np.exp(sigma * normal[:, :1]) - mean) / np.sqrt(square - mean**2), normal)


def _two_clumps(rng, normal, x):
    clump = np.where(rng.random(x.shape) < 0.8, -0.5, 2.0)
    return _first((clump + 0.3 * normal[:, :1]) / np.sqrt(1.09), normal)


def _heavy_tails(rng, normal, x):
    # Of three degrees of freedom, whose variance is three.
    return normal / np.sqrt(rng.chisquare(3.0, x.shape))


def _growing(x, by):
    """Sizes (n, 1) from 1 - by / 2 to 1 + by / 2 over the range, with a mean square of one."""
    return (1.0 + by * x) / np.sqrt(1.0 + by**2 / 12.0)


def _curvature(rng, normal, x):
    return _first(normal[:, :1] + CURVED * np.sqrt(180.0) * (x**2 - 1.0 / 12.0), normal)


def _long_direction(rng, normal, x):
    sizes = np.append(5.0, np.ones(normal.shape[1] - 1))
    return normal * sizes / np.sqrt(np.mean(sizes**2))


def _growing_skew(rng, normal, x):
    skewed = (rng.gumbel(size=x.shape) - np.euler_gamma) * np.sqrt(6.0) / np.pi
    return _first(_growing(x, 1.2) * skewed, normal)


def _contamination(rng, normal, x):
    """A tenth five times as wide, about 1.8 in the first direction, where others are about -0.2."""
    wide = rng.random(x.shape) < 0.1
    found = normal * np.where(wide, 5.0, 1.0)
    found = _first(found[:, :1] + np.where(wide, 1.8, -0.2), found)
    return found / np.sqrt(3.4 + 0.36 * (np.arange(normal.shape[1]) == 0))


def _hidden_groups(rng, normal, x):
    """Halves at 0.8 and -0.8 in all directions, which correlate, the one twice as wide."""
    group = np.where(rng.random(x.shape) < 0.5, 1.0, -1.0)
    noise = np.sqrt(0.5) * (normal + rng.normal(size=x.shape))
    return (0.8 * group + np.where(group > 0.0, 0.4, 0.8) * noise) / np.sqrt(1.04)


# Residuals (n, dim) in directions of a frame, of deviation one, from a generator, standard normal
# ones and first covariates (n, 1) from -1/2 to 1/2.  Plans never see the last three.
RESIDUALS = {
    "normal": lambda rng, normal, x: normal,
    "exponential": lambda rng, normal, x: _first(rng.exponential(size=x.shape) - 1.0, normal),
    "lognormal": _lognormal,
    "two clumps": _two_clumps,
    "t(3)": _heavy_tails,
    "growing scale": lambda rng, normal, x: _growing(x, 1.0) * normal,
    "curvature": _curvature,
    "one long direction": _long_direction,
    "growing skew": _growing_skew,
    "contamination": _contamination,
    "hidden groups": _hidden_groups,
}


def simulate(assumptions, scale, rng, law="normal", rare=0.5, trend=None):
    """A true state (1 + k, *point_shape), columns (n, c), and points (n, *point_shape).

    The geodesic or curve is uniform in the support unless its shooting vectors have the length
    ``trend``, columns are even from -1/2 to 1/2 or two groups, the second with the share ``rare``,
    and ``scale`` is that of residuals, whose ``law`` is one of `RESIDUALS`, in each direction.
    """
    manifold, shape = assumptions.manifold, (assumptions.subjects, assumptions.number_of_columns)
    lengths = rng.random(assumptions.number_of_covariates) * assumptions.shooting_vector_length
    lengths = lengths if trend is None else np.full(len(lengths), trend)
    centre, away = assumptions.centre, assumptions.footpoint_radius * rng.random()
    p = manifold.exp(centre, away * manifold.random_direction(rng, centre))
    state = np.stack([p, *(length * manifold.random_direction(rng, p) for length in lengths)])
    x, is_group = rng.random(shape), np.array(assumptions.spreads) == TWO_GROUPS
    x = np.where(is_group, x > 1.0 - rare, x) - 0.5
    normal = rng.normal(size=(shape[0], manifold.dim))
    residuals = scale * RESIDUALS[law](rng, normal, x[:, :1])
    return state, x, _follow(manifold, state, assumptions.places(x), residuals)


def detectable(assumptions, scale, power, size=0.05):
    """Length of a shooting vector that least squares detects with a power, at even covariates."""
    dim, subjects = assumptions.manifold.dim, assumptions.subjects
    if power <= size:
        return 0.0
    limit = chi2.ppf(1.0 - size, dim)
    squares = brentq(lambda each: ncx2.sf(limit, dim, each) - power, 1e-6, 1e3)
    return scale * np.sqrt(12.0 * squares / subjects)


def true_r_squared(manifold, state, scale, variances, law="normal"):
    """`geodp.Release.r_squared` of the population, for variances (k,) of covariates."""
    vectors = manifold.coordinates(state[0], state[1:], manifold.frame(state[0]))
    explained = np.sum(vectors**2 * variances[:, None])
    squares = manifold.dim + (CURVED**2 if law == "curvature" else 0.0)
    return explained / (explained + squares * scale**2)


def _follow(manifold, state, x, residuals):
    """Points (n, *point_shape), in directions that are the same along the geodesic."""
    # Least squares refuse records near the cut locus, which far tails reach.
    lengths = np.linalg.norm(residuals, axis=1, keepdims=True)
    short = np.minimum(0.8 * manifold.injectivity_radius / np.maximum(lengths, 1e-300), 1.0)
    steps = manifold.combinations(state[1:], x)
    starts = np.broadcast_to(state[0], steps.shape)
    vectors = manifold.vector(manifold.frame(state[0]), short * residuals)
    vectors = manifold.transport(starts, steps, vectors)
    return manifold.exp(manifold.exp(starts, steps), vectors)


def population(assumptions, state, scale, law, grid=2000):
    """State (1 + k, *point_shape) of the population's least-squares geodesic or curve.

    It is the true one wherever residuals have mean zero at each covariate, however long they are
    and in curved space too: the gradient of the energy is linear in them.  What curvature adds is
    orthogonal to 1 and x, but not to a curve, nor to a Jacobi field's cos(|v| x): on the sphere the
    best geodesic is up to 0.06 residuals from the true one, thirteen standard errors of 50,000
    subjects.  It is the fit of conditional means at an even grid, which has no error of sampling as
    that of a large sample would.
    """
    manifold = assumptions.manifold
    if law != "curvature" or assumptions.number_of_columns != 1:
        return state
    x = (np.arange(grid)[:, None] + 0.5) / grid - 0.5
    means = scale * _curvature(None, np.zeros((grid, manifold.dim)), x)
    places = assumptions.places(x)
    found = GeodesicModel(manifold, places.shape[1])
    found = found.fit(places, _follow(manifold, state, places, means))
    return np.stack(list(found.parameters.values()))
