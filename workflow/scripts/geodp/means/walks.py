"""Random walks as papers describe them, and mistakes, against exact Laplace draws.

On a sphere a walk steps by a vector of random direction and fixed length in the ambient space,
projected on the tangent space of where it is, so that steps are no longer than that length
(Reimherr, Bharath and Soto, A.5).

On SPD(2) a step is a symmetric matrix v, taken at the point x by the exponential map.  The text
draws the entries of v uniformly (Soto et al., supplement 2.3.2), which are coordinates of the
tangent space at the identity, wherever the walk is: in the metric at x these steps are the shorter
the larger x is.  A correct walk draws v uniformly from a ball in the metric at x.

**Steps of entries have no limiting distribution, at any scale.**  They drift by ``E[v x^-1 v] / 2``
in entries, since they follow geodesics.  Near the mean acceptance holds them back, and to first
order the density is multiplied by a power of the determinant (`loss_of_fixed_entries`).  But let x
have the eigenvalues a, far from the mean, and 1.  The drift of a is a constant; the pull of
acceptance falls as ``1 / (a scale)``, since the distance is a function of the logarithm of a.  So
beyond some a the drift wins, and a grows without end.  This is an argument, which walks from far
away agree with, and not a full proof.
"""

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.means.samples import pole
from geodp.randomness import random_directions

# What is done otherwise than in a correct walk.
CORRECT = "every step counts"
ACCEPTED = "accepted steps count"
FIXED_AXIS = "steps across a fixed axis"
FIXED_ENTRIES = "steps of matrix entries"

# What a loss of a walk is a statement about.
LIMIT = "limiting distribution"
FIRST_ORDER = "first order near the mean"


def variants(manifold):
    """Names of the walks on a manifold, the correct one first."""
    if not isinstance(manifold, Sphere) and manifold.name != "SPD(2)":
        raise DataError(f"walks are on spheres and on 2 x 2 SPD matrices, not on {manifold.name}")
    return CORRECT, ACCEPTED, FIXED_ENTRIES if isinstance(manifold, SPD) else FIXED_AXIS


def kind_of_loss(variant):
    """What `loss_of_walk` is a statement about: `LIMIT`, or `FIRST_ORDER` where there is none."""
    return FIRST_ORDER if variant == FIXED_ENTRIES else LIMIT


def _propose(rng, manifold, position, scale, variant, footpoint):
    if isinstance(manifold, SPD):
        return _propose_matrix(rng, position, scale, variant == FIXED_ENTRIES)
    step = np.expand_dims(scale, -1) * random_directions(rng, position.shape)
    if variant == FIXED_AXIS:
        return manifold.project(position + manifold.project_tangent(footpoint, step))
    return manifold.exp(position, manifold.project_tangent(position, step))


def _entries(matrices):
    """The three entries of symmetric 2 x 2 matrices."""
    return matrices[..., 0, 0], matrices[..., 0, 1], matrices[..., 1, 1]


def _propose_matrix(rng, position, scale, fixed):
    """The end of a step, in closed form: several times faster than by eigenvectors."""
    shape = position.shape[:-2]
    a, b, c = _entries(position)
    if fixed:
        u, v, w = scale * rng.uniform(-0.5, 0.5, (3, *shape))
    else:
        length = scale * rng.random(shape) ** (1.0 / 3.0)
        x, y, z = length * np.moveaxis(random_directions(rng, (*shape, 3)), -1, 0)
        # From the identity to the point, by its Cholesky factor.
        y = np.sqrt(0.5) * y
        p = np.sqrt(a)
        q, r = b / p, np.sqrt(c - b * b / a)
        u, v, w = p * p * x, p * (q * x + r * y), q * q * x + 2.0 * q * r * y + r * r * z
    # The step in the point's own coordinates, ``position^-1 step``.
    det = a * c - b * b
    m11, m12 = (c * u - b * v) / det, (c * v - b * w) / det
    m21, m22 = (a * v - b * u) / det, (a * w - b * v) / det
    half, turn = 0.5 * (m11 + m22), 0.5 * (m11 - m22)
    spread = np.sqrt(np.maximum(turn * turn + m12 * m21, 1e-30))
    # Beyond, a step ends where no density has a digit.
    near = np.abs(half) + spread < 100.0
    grown, spread = np.exp(np.where(near, half, 0.0)), np.where(near, spread, 1.0)
    same, other = grown * np.cosh(spread), grown * np.sinh(spread) / spread
    off = same * b + other * (a * m12 - b * turn)
    first, last = same * a + other * (a * turn + b * m21), same * c + other * (b * m12 - c * turn)
    end = np.stack([first, off, off, last], axis=-1).reshape((*shape, 2, 2))
    return np.where(near[..., None, None], end, np.nan)


def _distance(manifold, footpoint, position):
    """Distance from the footpoint, infinite where a step was too long."""
    if not isinstance(manifold, SPD):
        return manifold.dist(footpoint, position)
    # From the trace and the determinant of ``footpoint^-1 position``.
    i, j, k = _entries(np.linalg.inv(footpoint))
    a, b, c = _entries(position)
    half = 0.5 * (i * a + 2.0 * j * b + k * c)
    det = (a * c - b * b) * (i * k - j * j)
    larger = half + np.sqrt(np.maximum(half * half - det, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.hypot(np.log(larger), np.log(det / larger))
    return np.where(np.isfinite(distance), distance, np.inf)


def walk_draws(rng, manifold, footpoint, scale, variant, chains, burn_in, jump=1, draws=1):
    """Draws (draws, scales, chains, *point_shape) of walks that aim at Laplace distributions.

    The scale (scales, 1) is that of the distribution about the footpoint, and of the steps.  Each
    chain takes ``burn_in`` steps to its first draw and ``jump`` to each other.  Variants are
    `CORRECT`; `ACCEPTED`, in which a rejected candidate is replaced by another until one is
    accepted, and only then a step is counted; `FIXED_AXIS`, in which steps lie in the tangent space
    of the footpoint, wherever the walk is; and `FIXED_ENTRIES`, in which they have uniform entries,
    wherever it is.
    """
    shape = (len(scale), chains)
    position = np.broadcast_to(footpoint, (*shape, *manifold.point_shape)).copy()
    away = np.broadcast_to(_distance(manifold, footpoint, footpoint), shape)
    counted, taken = np.zeros((2, *shape), dtype=int)
    drawn = np.empty((draws, *position.shape))
    while np.any(taken < draws):
        proposed = _propose(rng, manifold, position, scale, variant, footpoint)
        distance = _distance(manifold, footpoint, proposed)
        accepted = np.log(rng.random(shape)) < (away - distance) / scale
        position = np.where(manifold.expand(accepted), proposed, position)
        away = np.where(accepted, distance, away)
        moved = accepted if variant == ACCEPTED else np.ones(shape, dtype=bool)
        counted += moved
        due = moved & (taken < draws) & (counted == burn_in + taken * jump)
        drawn[(taken[due], *np.nonzero(due))] = position[due]
        taken += due
    return drawn


def loss_of_walk(rng, manifold, scale, variant):
    """Realised over stated loss of a walk, for close footpoints; `kind_of_loss` says of what.

    Steps across the axis of a footpoint never leave the half of the sphere about it, so that a draw
    in one such half alone tells which data set it is from: their loss is infinite.  A loss that is
    not known is not a number.
    """
    if variant == FIXED_ENTRIES:
        return loss_of_fixed_entries(manifold, scale)
    # Among matrices the chance of acceptance depends on the direction, too.
    if variant == ACCEPTED:
        on_matrices = isinstance(manifold, SPD)
        return np.nan if on_matrices else loss_of_counting_accepted(rng, manifold, scale)
    return np.inf if variant == FIXED_AXIS else 1.0


def loss_of_counting_accepted(rng, manifold, scale):
    """Realised over stated loss of walks that count accepted steps alone, for close footpoints.

    The distribution of such a walk is the one aimed at times the chance a(r) that a step from the
    distance r is accepted.  So the logarithm of its density falls with the distance at the rate
    ``1 / scale - a' / a``, and the loss of footpoints that are close is its largest size times how
    far they are apart.
    """
    footpoint, along = pole(manifold), np.eye(manifold.dim + 1)[0]
    distances = scale * np.linspace(0.0, 6.0, 61)
    distances = distances[distances < 0.9 * manifold.injectivity_radius]
    chances, seed = np.empty(len(distances)), rng.integers(2**63)
    for index, distance in enumerate(distances):
        # The same proposals from everywhere, so that their noise has no slope.
        again = np.random.default_rng(seed)
        places = np.tile(manifold.exp(footpoint, distance * along), (40_000, 1))
        proposed = _propose(again, manifold, places, scale, CORRECT, footpoint)
        gained = (distance - manifold.dist(footpoint, proposed)) / scale
        chances[index] = np.mean(np.minimum(1.0, np.exp(gained)))
    slope = np.gradient(np.log(chances), distances)
    return float(np.max(np.abs(-1.0 / scale + slope)) * scale)


def loss_of_fixed_entries(manifold, scale):
    """Realised over stated loss of steps of uniform entries, to first order near the mean.

    There is no limiting distribution (see the module); this is of walks long enough for the
    neighbourhood of the mean, and have not left it.  Small steps v from x have a covariance that
    does not depend on x, in matrix entries, and the drift ``E[v x^-1 v] / 2``, since they follow
    geodesics.  Among multiples of the identity the density aimed at is so multiplied by
    ``det(x)^m``, with respect to entries, and ``det(x)^(m + (m + 1) / 2)`` with respect to the
    manifold's volume; elsewhere this drift is no gradient.  When a footpoint moves along these, the
    logarithm of that factor's normalising constant moves in proportion, whatever the scale is.
    Where that density has no finite volume, along multiples of the identity, it is not a number.
    """
    m = manifold.size
    tilt = np.sqrt(m) * (m + 0.5 * (m + 1))
    return 1.0 + tilt * scale if tilt * scale < 1.0 else np.nan
