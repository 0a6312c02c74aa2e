"""Exact draws from Laplace distributions on symmetric spaces: ``exp(-d(p, centre) / sigma)``.

In normal coordinates at the centre the density is ``J(v) exp(-|v| / sigma)`` within the injectivity
radius, where J is the volume density of the exponential map.  Those coordinates must reach all but
a null set of the space: it has no cut locus, or one at a single distance.

Where all directions are alike the length of v has a log-concave density by itself.  Elsewhere J is
at most ``exp(growth |v|)``, so that a Euclidean Laplace distribution of a larger scale is an
envelope, and rejection is exact.  On symmetric positive definite matrices this is the distribution
of Hajri et al. (2016).  Laplace noise in flat space and in tangent spaces is drawn here, too.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaincinv

from geodp.errors import DataError
from geodp.manifolds.symmetric import SymmetricSpace
from geodp.randomness import random_directions
from geodp.samplers.kernel import by_rejection


def check_laplace_space(manifold):
    """Refuse spaces on which no Laplace distribution can be drawn exactly."""
    known = isinstance(manifold, SymmetricSpace) and (
        manifold.two_point_homogeneous or np.isinf(manifold.injectivity_radius)
    )
    if not known:
        raise DataError(
            f"Laplace distributions are drawn on symmetric spaces, and {manifold.name} is not "
            "known to be one whose geodesics all end at one cut distance or none: take another "
            "mechanism"
        )


def check_laplace_scale(manifold, scale, longest=18.0, chance=1e-6):
    """Refuse a scale at which a Laplace distribution has no finite volume, or nearly none.

    Beyond ``longest`` coordinates lose their digits; an accepted proposal is longer with a
    probability of at most ``chance``.
    """
    growth = manifold.volume_growth
    room = gammaincinv(manifold.dim, 1.0 - chance) / longest
    if growth and 1.0 / scale - growth < room:
        raise DataError(
            f"a Laplace distribution on {manifold.name} has a finite volume for scales below "
            f"{1.0 / growth:.4g} and is drawn below {1.0 / (growth + room):.4g}, and this one is "
            f"{scale:.4g}: take a larger budget, more records, or a smaller ball of data"
        )


def draw_laplace(rng, manifold, centre, scale):
    """Draw a point about each centre (*draws, *point_shape), at a scale in the unit of length.

    See `check_laplace_space` and `check_laplace_scale` for what is refused.
    """
    check_laplace_space(manifold)
    check_laplace_scale(manifold, scale)
    if manifold.two_point_homogeneous:
        lengths = _lengths(rng, manifold, scale, manifold.batch_shape(centre))
        return manifold.exp(
            centre, manifold.expand(lengths) * manifold.random_direction(rng, centre)
        )
    centres = np.reshape(centre, (-1, *manifold.point_shape))
    rate = 1.0 / scale - manifold.volume_growth

    def propose(left):
        start = centres[left]
        length = rng.gamma(manifold.dim, size=len(left)) / rate
        step = manifold.expand(length) * manifold.random_direction(rng, start)
        volume = manifold.exp_volume(start, step) * np.exp(-manifold.volume_growth * length)
        return rng.random(len(left)) < volume, manifold.exp(start, step)

    return by_rejection(centres.shape, propose)[0].reshape(np.shape(centre))


def euclidean_laplace(rng, shape, scale):
    """Vectors of density ``exp(-|x| / scale)``, whose dimension is the last of the axes."""
    length = rng.gamma(shape[-1], scale, shape[:-1])
    return length[..., None] * random_directions(rng, shape)


def tangent_laplace(rng, manifold, base, scale):
    """Vectors of a Laplace distribution in the tangent space at each point."""
    shape = (*manifold.batch_shape(base), manifold.dim)
    return manifold.tangent(base, euclidean_laplace(rng, shape, scale))


@dataclass(frozen=True)
class _LengthDensity:
    """The log-concave density of distances from the centre, in SciPy's protocol.

    ``terms`` are the sign, frequency and multiplicity of directions across a geodesic.
    """

    terms: tuple
    scale: float
    least: float
    positive_at_zero: bool
    shift: float = 0.0

    def log(self, r):
        total = -r / self.scale - self.shift
        for sign, frequency, count in self.terms:
            angle = frequency * r
            if sign < 0:
                # Of the hyperbolic sine, which may overflow; a factor 2 has no part in a density.
                total += count * (angle + np.log1p(-np.exp(-2.0 * angle)))
            else:
                total += count * np.log(np.sin(angle) if sign else r)
        return total

    def slope(self, r):
        """Derivative of the logarithm."""
        total = -1.0 / self.scale
        for sign, frequency, count in self.terms:
            angle = frequency * r
            size = 1.0 / r if sign == 0 else frequency / (np.tan if sign > 0 else np.tanh)(angle)
            total += count * size
        return total

    def pdf(self, r):
        if r < self.least and not self.positive_at_zero:
            return 0.0
        return float(np.exp(self.log(max(r, self.least))))

    def dpdf(self, r):
        r = max(r, self.least)
        return float(np.exp(self.log(r)) * self.slope(r))


def _length_density(manifold, scale):
    point = manifold.random_point(np.random.default_rng(0))
    unit = manifold.random_direction(np.random.default_rng(0), point)
    terms = zip(
        manifold.curvature_signs,
        map(float, manifold.frequencies(point, unit)),
        manifold.multiplicities,
        strict=True,
    )
    # The geodesic's own direction is one of the flat ones.
    across = ((sign, each, count - (sign == 0)) for sign, each, count in terms)
    # At the least length values and slopes are those at zero.
    least = 1e-9 * min(scale, manifold.injectivity_radius)
    return _LengthDensity(tuple(one for one in across if one[2]), scale, least, manifold.dim == 1)


def mean_under_laplace(manifold, scale, function, nodes=400):
    """Mean of a function of the distance from the centre, by quadrature at so many nodes.

    On a space whose directions are all alike and which has a cut locus, such as a sphere.
    """
    density = _length_density(manifold, scale)
    x, weights = np.polynomial.legendre.leggauss(nodes)
    # Beyond so many scales lies no mass.
    farthest = min(manifold.injectivity_radius * (1.0 - 1e-9), 80.0 * manifold.dim * scale)
    r = 0.5 * farthest * (1.0 + x)
    logs = density.log(r)
    mass = weights * np.exp(logs - np.max(logs))
    return float(np.sum(mass * function(r)) / np.sum(mass))


def _lengths(rng, manifold, scale, shape, nothing=-700.0):
    """Distances from the centre, on a space whose directions are all alike.

    A density whose logarithm is below ``nothing`` counts as zero.
    """
    # Imported here since they are slow to import.
    from scipy.optimize import brentq
    from scipy.stats.sampling import TransformedDensityRejection

    density = _length_density(manifold, scale)
    rate = 1.0 / scale - manifold.volume_growth
    # Next to the cut locus lies no mass, and its density has no digits.
    farthest = min(manifold.injectivity_radius * (1.0 - 1e-9), 1e4 * manifold.dim / rate)
    mode = tiny = density.least
    if density.slope(tiny) > 0.0:
        mode = brentq(density.slope, tiny, farthest)
    density = replace(density, shift=density.log(mode))
    ends = [tiny, farthest]
    for index, end in enumerate(ends):
        if density.log(end) < nothing:
            ends[index] = brentq(lambda r: density.log(r) - nothing, *sorted((mode, end)))
    if ends[0] == tiny:
        ends[0] = 0.0
        mode = mode if mode > tiny else 0.0
    generator = TransformedDensityRejection(
        density, mode=mode, domain=tuple(ends), random_state=rng
    )
    return generator.rvs(shape)
