"""Simulated outlines of the corpus callosum, a stand-in for data that cannot be redistributed.

Outlines from studies of ageing are available on application only.  The simulated ones have the
mean, the variance of each Fourier harmonic and the spectrum of the covariance of 647 public
outlines of 50 landmarks, ages 7 to 22.  With age they get thinner and more bent.  The size of that
trend is a parameter, not a finding about brains.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

# Fourier coefficients c_h of outlines z_j = sum_h c_h exp(2 pi i h j / k) of unit size at 50
# landmarks: mean, and root mean squared distance from it over subjects.
MEASURED = {
    1: (0.1082, 0.0016),
    -1: (0.0797, 0.0024),
    2: (0.0054 + 0.0320j, 0.0031),
    -2: (0.0076 + 0.0198j, 0.0032),
    3: (0.0081 - 0.0019j, 0.0017),
    -3: (-0.0079 + 0.0043j, 0.0022),
    4: (0.0020 + 0.0105j, 0.0012),
    -4: (-0.0002 - 0.0037j, 0.0014),
    5: (0.0064 - 0.0010j, 0.0011),
    -5: (-0.0022 + 0.0027j, 0.0011),
    6: (0.0009 + 0.0050j, 0.0010),
    -6: (-0.0017 - 0.0020j, 0.0008),
    7: (0.0030 - 0.0003j, 0.0008),
    -7: (0.0007 + 0.0009j, 0.0007),
}

# Each harmonic that 50 landmarks resolve, and its coefficient's mean, zero if it was not measured.
HARMONICS = np.array([sign * h for h in range(1, 25) for sign in (1, -1)])
MEAN = np.array([MEASURED.get(harmonic, (0.0, 0.0))[0] for harmonic in HARMONICS])


@dataclass(frozen=True)
class OutlineSimulation:
    """Simulated outlines of subjects, and the geodesic of their mean shapes."""

    ages: np.ndarray  # (data_sets, n), years.
    # Landmarks (data_sets, n, k) in their order along the closed outline, counter-clockwise;
    # centred if there are 25 or more, of about unit size times sqrt(k / 50).
    outlines: np.ndarray
    # Mean outlines (k,) at the first and the last age, the ends of the geodesic.
    first_outline: np.ndarray
    last_outline: np.ndarray


def simulate_outlines(rng, data_sets, number, landmarks=50, ages=(50.0, 90.0), trend_length=0.045):
    """`OutlineSimulation` of closed outlines of subjects of all ages.

    Mean shapes follow a geodesic with age, whose length ``trend_length`` is in radians.  A
    subject's Fourier coefficients are normal about the mean of its age, with the covariance of
    `coefficient_factor`; ages are uniform, in years.  Below 49 landmarks the finest harmonics of
    subjects are aliased to coarser ones.  Below 15 those of the means are, and distances of means
    are no longer exact.
    """
    first, last = ages
    fractions = rng.random((data_sets, number))
    means = mean_coefficients(fractions, trend_length)
    factor = coefficient_factor()
    normal = rng.standard_normal((data_sets, number, factor.shape[1]))
    ends = outline(mean_coefficients(np.array([0.0, 1.0]), trend_length), landmarks)
    return OutlineSimulation(
        ages=first + (last - first) * fractions,
        outlines=outline(means + normal @ factor.T, landmarks),
        first_outline=ends[0],
        last_outline=ends[1],
    )


def outline(coefficients, landmarks):
    """Landmarks (..., k) of closed curves with Fourier coefficients in the order of `HARMONICS`."""
    turns = np.outer(HARMONICS, np.arange(landmarks)) / landmarks
    return coefficients @ np.exp(2j * np.pi * turns)


def mean_coefficients(fractions, trend_length):
    """Coefficients of the mean outline at fractions of the range of ages.

    The coefficients rotate from the mean towards the trend, which is orthogonal to the mean as a
    complex vector.  So shapes follow a geodesic at constant speed, of a length in radians, and its
    middle is the measured mean.
    """
    angles = (np.asarray(fractions)[..., None] - 0.5) * trend_length
    return np.cos(angles) * MEAN + np.sin(angles) * np.linalg.norm(MEAN) * _trend()


def _trend(thinning_share=0.5):
    """Unit direction in which coefficients change with age.

    A share of its squared length thins the body, and the rest bends it.
    """
    # The half axes of the first harmonics' ellipse are |c_1| + |c_-1| and |c_1| - |c_-1|.
    thinning = np.where(HARMONICS == 1, -1.0, np.where(HARMONICS == -1, 1.0, 0.0))
    # The second harmonics lift both ends of the body above its middle.
    bending = np.where(np.abs(HARMONICS) == 2, MEAN, 0.0)
    direction = np.sqrt(thinning_share) * thinning / np.linalg.norm(thinning) + np.sqrt(
        1.0 - thinning_share
    ) * bending / np.linalg.norm(bending)
    # A component along the mean changes the size alone.  (Their product is real.)
    direction = direction - np.vdot(MEAN, direction) / np.vdot(MEAN, MEAN) * MEAN
    return direction / np.linalg.norm(direction)


@cache
def coefficient_factor():
    """Factor of the covariance of Fourier coefficients over subjects.

    A subject's deviation from the mean is this matrix times standard normal numbers.  Alternating
    projections from a fixed start give the covariance its measured variances and its measured
    spectrum.  Deviations are orthogonal to the mean as complex vectors, since a component along the
    mean changes size and rotation but not the shape.  The matrix is read-only.

    Correlations of harmonics were not measured: they are random, fixed by the seed.  Of fifty seeds
    it is the one with which none of 120000 outlines crossed itself.
    """
    count = len(HARMONICS)
    # Those that were not measured fall by a factor each, which leaves them 5.5 % of the variance.
    unmeasured = 0.0006 * 0.85 ** (np.abs(HARMONICS) - 8.0)
    both = zip(HARMONICS, unmeasured, strict=True)
    deviations = np.array([MEASURED.get(harmonic, (0.0, other))[1] for harmonic, other in both])
    # Orthonormal rows, real parts before imaginary ones, orthogonal to the mean and i times it.
    parts = np.concatenate([MEAN.real, MEAN.imag]), np.concatenate([-MEAN.imag, MEAN.real])
    tangents = np.linalg.svd(np.array(parts))[2][2:]
    dimension = len(tangents)
    # Of the variance in the first ten principal directions: 1, 2, 3, 5 and 10 of them hold 47, 70,
    # 81, 89 and 96 %.  No direction is empty.
    shares = (0.47, 0.23, 0.11, 0.045, 0.035, 0.022, 0.016, 0.013, 0.010, 0.009)
    tail = 0.85 ** np.arange(dimension - len(shares))
    tail *= (1.0 - sum(shares)) / np.sum(tail)
    roots = np.sqrt(np.sum(deviations**2) * np.concatenate([shares, tail]))

    rng = np.random.default_rng(27)
    factor = np.tile(deviations, 2)[:, None] * rng.standard_normal((2 * count, dimension))
    # After so many projections variances and spectrum are exact to rounding.
    for _ in range(200):
        found = np.sqrt(np.sum(factor**2, axis=1).reshape((2, count)).sum(axis=0))
        factor = np.tile(deviations / found, 2)[:, None] * factor
        # The right singular vectors only rotate the normal numbers, so they are dropped.
        left, _, _ = np.linalg.svd(tangents @ factor)
        factor = tangents.T @ (left * roots)
    result = factor[:count] + 1j * factor[count:]
    result.flags.writeable = False
    return result
