"""Private Gauss-Newton steps: clipped gradient sums with exact K-norm noise, and a public Hessian.

A step starts at a public geodesic ``(p, v)``, which earlier stages released.  Each subject
contributes its pair of gradients ``(a, b)`` there, clipped in `hull_norm`.  In the coordinates
``e+ = a/2 + b`` and ``e- = a/2 - b`` that norm is ``|e+| + |e-|``, so that the K-norm mechanism
(Awan and Slavkovic 2021) adds two independent draws with densities proportional to
``exp(-(eps / (2 tau)) |y|)``.  What follows, a Gauss-Newton step in flat space, looks at the noisy
sums alone.

Contributions are rounded to a public lattice and clipped there, in integers.  So the sensitivity of
their sum is a fact about integers, sums are exact, and so is the distribution of the noise.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.symmetric import SymmetricSpace
from geodp.mechanisms.certified import BLOCKS, CUT_LOCUS
from geodp.models.residuals import PerRecordGeodesicResiduals
from geodp.samplers.exact_noise import rounded_laplace

# Steps of the lattice in the length to which contributions are clipped.
LATTICE = 1 << 26

# What rounding may add to a norm before it is clipped; far above its errors.
MARGIN = 2.0**-20

# Records that are computed at once, always so many: no record changes how others are rounded.
CHUNK = 256

# Length of a residual, as a fraction of the injectivity radius, from which contributions fall to
# zero, which they reach at `CUT_LOCUS`.
TAPER = 0.9

# Variance of covariates that are spread evenly from -1/2 to 1/2.
SPREAD = 1.0 / 12.0


@dataclass(frozen=True)
class NoisyStep:
    """One private Gauss-Newton step; all attributes are public.

    Attributes
    ----------
    epsilon : Fraction
        Its budget, for the replacement of one subject.
    clip : float
        tau: the hull norm to which a subject's contribution is clipped.

    Raises
    ------
    DataError
        An attribute is not above zero.
    """

    epsilon: Fraction
    clip: float

    def __post_init__(self):
        object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        if self.epsilon <= 0:
            raise DataError(f"a step has budget {self.epsilon}: give each one above zero")
        if not (np.isfinite(self.clip) and self.clip > 0.0):
            raise DataError(f"a step has clip {self.clip}: give a positive number")

    def describe(self):
        """The step in words, for a release."""
        return (
            f"Gauss-Newton step of gradients clipped to {self.clip:.4g}, with exact noise and "
            f"budget {self.epsilon}"
        )


def take_steps(public, records, state, steps, bits):
    """Private Gauss-Newton steps from a public state.

    Parameters
    ----------
    public : PublicInputs
    records : MappedRecords
        Of one data set.
    state : ndarray, shape (2, *point_shape)
        Footpoint and shooting vector, in the support; public.
    steps : sequence of NoisyStep
    bits : callable
        See `geodp.samplers.integer_choice.system_bits`.

    Returns
    -------
    ndarray, shape (2, *point_shape)
        In the support.

    Raises
    ------
    DataError
        The manifold is not a symmetric space.
    """
    if not isinstance(public.manifold, SymmetricSpace):
        raise DataError(
            f"private Gauss-Newton steps are for symmetric spaces, and {public.manifold.name} is "
            "none: draw among public points"
        )
    dim = public.manifold.dim
    for step in steps:
        sums = lattice_sums(public, records, state, step.clip)
        scale = 2 * LATTICE / step.epsilon
        noisy = [
            [
                total + noise
                for total, noise in zip(end, rounded_laplace(bits, dim, scale), strict=True)
            ]
            for end in sums
        ]
        state = moved(public, state, np.array(noisy, dtype=float) * (step.clip / LATTICE))
    return state


def lattice_sums(public, records, state, clip):
    """Sums over subjects of their contributions in units of ``clip / LATTICE``.

    Parameters
    ----------
    public : PublicInputs
    records : MappedRecords
        Of one data set.
    state : ndarray, shape (2, *point_shape)
    clip : float

    Returns
    -------
    list of two lists of int
        Of the coordinates of ``e+`` and of ``e-``.  Replacing a subject changes them by
        ``2 LATTICE`` at most, in the sum of their Euclidean norms.
    """
    number, dim = len(records.covariates), public.manifold.dim
    total = np.zeros((2, dim), dtype=object)
    for start in range(0, number, CHUNK):
        some = slice(start, start + CHUNK)
        x, y, valid = (_padded(part[some]) for part in vars(records).values())
        each = lattice_contributions(public, x, y, valid, state, clip)
        total += np.sum(each[: len(records.covariates[some])], axis=0, dtype=np.int64)
    return total.tolist()


def _padded(part):
    """An array of `CHUNK` records, of which the last repeats its own last one."""
    return np.concatenate([part, np.repeat(part[-1:], CHUNK - len(part), axis=0)])


def lattice_contributions(public, covariates, points, valid, state, clip):
    """Contributions of records in units of ``clip / LATTICE``, each of that record alone.

    Parameters
    ----------
    public : PublicInputs
    covariates : ndarray, shape (n,)
    points : ndarray, shape (n, *point_shape)
    valid : ndarray of bool, shape (n,)
    state : ndarray, shape (2, *point_shape)
    clip : float

    Returns
    -------
    ndarray of int, shape (n, 2, dim)
        The Euclidean norms of the two rows of a record add up to `LATTICE` at most.
    """
    manifold = public.manifold
    p, v = state
    # What fails, of whatever record, becomes a number that is not finite, and then zero.
    with np.errstate(all="ignore"):
        found = PerRecordGeodesicResiduals.of(
            manifold, dict(zip(BLOCKS, (p, v), strict=True)), covariates[:, None], points
        )
        first, second = (found.contributions(block) for block in BLOCKS)
        frame = manifold.frame(p)
        ends = np.stack([0.5 * first + second, 0.5 * first - second], axis=1)
        coordinates = manifold.coordinates(p, ends, frame)
        distances = np.sqrt(found.squared_distances)
        weights = np.where(valid, _taper(manifold, distances), 0.0)
        lengths = np.sum(np.sqrt(np.sum(coordinates**2, axis=-1)), axis=-1)
        factors = weights / np.maximum(lengths / clip, 1.0)
        scaled = coordinates * (factors * ((1.0 - MARGIN) * LATTICE / clip))[:, None, None]
        # Towards zero, so that norms do not grow.
        whole = np.trunc(scaled)
        norms = np.sum(np.sqrt(np.sum(whole**2, axis=-1)), axis=-1)
        # Integers below 2^53 are exact, and rounding of their norms is far below the margin.
        usable = norms <= (1.0 - 0.5 * MARGIN) * LATTICE
    return np.where(usable[:, None, None], whole, 0.0).astype(np.int64)


def _taper(manifold, distances):
    """Weights of residuals: one, falling to zero before the cut locus."""
    radius = manifold.injectivity_radius
    if not np.isfinite(radius):
        return np.ones(distances.shape)
    return np.clip((CUT_LOCUS - distances / radius) / (CUT_LOCUS - TAPER), 0.0, 1.0)


def moved(public, state, ends):
    """The state after a Gauss-Newton step, brought back to the support.

    Parameters
    ----------
    public : PublicInputs
    state : ndarray, shape (2, *point_shape)
    ends : ndarray, shape (2, dim)
        Noisy sums of ``e+`` and ``e-``.

    Returns
    -------
    ndarray, shape (2, *point_shape)
    """
    manifold, number = public.manifold, public.number
    p, v = state
    frame = manifold.frame(p)
    by_footpoint = (ends[0] + ends[1]) / number
    by_vector = (ends[0] - ends[1]) / (2.0 * SPREAD * number)
    # No farther than across the support, so that nothing overflows.
    longest = public.shooting_vector_length
    by_footpoint = _shortened(by_footpoint, 2.0 * public.footpoint_radius)
    by_vector = _shortened(by_vector, 2.0 * longest)
    step, change = manifold.vector(frame, np.stack([by_footpoint, by_vector]))
    end = manifold.exp(p, step)
    vector = manifold.transport(p, step, v + change)
    away = manifold.log(public.centre, end)
    distance = float(manifold.norm(public.centre, away))
    if distance > public.footpoint_radius:
        inside = manifold.exp(
            public.centre, away * ((1.0 - 1e-12) * public.footpoint_radius / distance)
        )
        vector = manifold.transport_to(end, inside, vector)
        end = inside
    length = float(manifold.norm(end, vector))
    return np.stack([end, vector * min(1.0, (1.0 - 1e-12) * longest / max(length, 1e-300))])


def _shortened(vector, limit):
    """A vector of coordinates, no longer than a limit; its length may be too large to square."""
    largest = max(np.max(np.abs(vector)), 1e-300)
    length = largest * np.linalg.norm(vector / largest)
    return vector * (limit / length) if length > limit else vector
