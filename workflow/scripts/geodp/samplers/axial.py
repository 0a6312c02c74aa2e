"""Axially symmetric proposals that follow the profile of a density, in any dimension.

A K-norm gradient density on a ball is nearly symmetric about the axis through its mode and the
centre of the ball, since the Hessian of its energy is nearly a multiple of the identity.  So it is
nearly a function of the distance ``r`` from the centre and of the angle ``t`` with the axis.  This
profile, times the volume density of Exp, is tabulated from a few directions.  Draws from the table
are exact.

In many dimensions most volume lies far from the mode.  There neither an elliptical distribution at
the mode nor a uniform one is close to a density that is nearly flat over its support, and the
profile is.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from geodp.samplers.kernel import inverted, log_sphere_area

# Numbers of cells in (r, t): all over the support, then where its mass is.
CELLS = ((192, 48), (64, 32))


@dataclass(frozen=True)
class AxialDistribution:
    """Distribution of ``Exp(centre, r (cos t e + sin t u))``, with u uniform orthogonal to e."""

    # Unit vector ``e`` (*batch, dim), the axis, in the frame at the centre of the support.
    axis: np.ndarray
    edges: tuple  # Edges (*batch, cells + 1) of the cells in r and in t.
    log_mass: np.ndarray  # Logarithm of the cells' probabilities, (*batch, r cells * t cells).

    @classmethod
    def of(cls, target):
        """Tabulate the profile of a target with a bounded support, in two dimensions or more."""
        space, centre = target.space, target.support.centre
        to_mode = space.coordinates(centre, space.log(centre, target.centre))
        length = np.linalg.norm(to_mode, axis=-1, keepdims=True)
        # A mode at the centre leaves the axis free.
        axis = np.where(length > 1e-12, to_mode, np.eye(space.dim)[0])
        axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
        reach = np.sqrt(target.support.radius)
        whole = ((np.zeros_like(reach), reach), (np.zeros_like(reach), np.full_like(reach, np.pi)))
        # Distances are spaced by squares at first, to see narrow densities as well as wide ones.
        edges, log_mass = _tabulate(target, axis, whole, 0, squared=True)
        box = [
            _where_mass_is(edge, logsumexp(log_mass, axis=other))
            for edge, other in zip(edges, (-1, -2), strict=True)
        ]
        edges, log_mass = _tabulate(target, axis, box, 1)
        flat = log_mass.reshape((*log_mass.shape[:-2], -1))
        return cls(axis, edges, flat - logsumexp(flat, axis=-1, keepdims=True))

    def take(self, members):
        """The distributions at k indices of the flattened batch; the new batch has shape (k,)."""
        axis, log_mass, *edges = (
            array.reshape((-1, array.shape[-1]))[members]
            for array in (self.axis, self.log_mass, *self.edges)
        )
        return AxialDistribution(axis, tuple(edges), log_mass)

    def draw(self, rng, chains):
        """Draws as coordinates in the frame at the support's centre, (*batch, chains, dim)."""
        batch = self.axis.shape[:-1]
        cumulative = np.cumsum(np.exp(self.log_mass), axis=-1)
        threshold = rng.random((*batch, chains)) * cumulative[..., -1:]
        sums = cumulative.reshape((-1, cumulative.shape[-1]))
        cell = inverted(sums, np.repeat(np.arange(len(sums)), chains), threshold.ravel())
        cell = np.minimum(cell, sums.shape[-1] - 1).reshape(threshold.shape)
        indices = np.divmod(cell, CELLS[1][1])
        r, t = (
            low + rng.random(low.shape) * (high - low)
            for low, high in (
                (np.take_along_axis(edge, index, -1), np.take_along_axis(edge, index + 1, -1))
                for edge, index in zip(self.edges, indices, strict=True)
            )
        )
        axis = self.axis[..., None, :]
        across = rng.standard_normal((*batch, chains, self.axis.shape[-1]))
        across -= np.sum(across * axis, axis=-1, keepdims=True) * axis
        across /= np.linalg.norm(across, axis=-1, keepdims=True)
        return r[..., None] * (np.cos(t)[..., None] * axis + np.sin(t)[..., None] * across)

    def log_density(self, coordinates):
        """Log density with respect to Lebesgue measure of coordinates (*batch, chains, dim)."""
        dim = coordinates.shape[-1]
        r = np.linalg.norm(coordinates, axis=-1)
        along = np.sum(coordinates * self.axis[..., None, :], axis=-1)
        across = coordinates - along[..., None] * self.axis[..., None, :]
        across = np.linalg.norm(across, axis=-1)
        cell = np.zeros(r.shape, dtype=int)
        inside, log_width = np.ones(r.shape, dtype=bool), 0.0
        for edge, place, number in zip(
            self.edges, (r, np.arctan2(across, along)), CELLS[1], strict=True
        ):
            low, high = edge[..., :1], edge[..., -1:]
            width = (high - low) / number
            index = np.floor((place - low) / width)
            inside = inside & (index >= 0) & (index < number)
            cell = cell * number + np.clip(index, 0, number - 1).astype(int)
            log_width = log_width + np.log(width)
        log_mass = np.take_along_axis(self.log_mass, cell, axis=-1)
        with np.errstate(divide="ignore"):
            log_area = np.log(r) + (dim - 2) * np.log(across) if dim > 2 else np.log(r)
            value = log_mass - log_width - log_area - log_sphere_area(dim - 1)
        return np.where(inside, value, -np.inf)


def _tabulate(target, axis, box, level, squared=False):
    """Edges of the cells and unnormalised log masses, (*batch, r cells, t cells)."""
    dim = axis.shape[-1]
    # The profile is interpolated from nodes.  They end before the range does, and the spline
    # extrapolates: at a cut locus the volume density is zero.
    nodes = [0.995 * np.linspace(0.0, 1.0, number) for number in ((12, 9), (10, 7))[level]]
    places = [
        low[..., None] + (high - low)[..., None] * node
        for (low, high), node in zip(box, nodes, strict=True)
    ]
    r, t = np.broadcast_arrays(places[0][..., :, None], places[1][..., None, :])
    r = r**2 if squared else r
    directions = _across(axis)
    coordinates = r[..., None, None] * (
        np.cos(t)[..., None, None] * axis[..., None, None, None, :]
        + np.sin(t)[..., None, None] * directions[..., None, None, :, :]
    )
    values = _profile(target, coordinates.reshape((*axis.shape[:-1], -1, dim)))
    values = values.reshape(coordinates.shape[:-1])
    profile = logsumexp(values, axis=-1) - np.log(directions.shape[-2])
    middles = [(np.arange(number) + 0.5) / number for number in CELLS[level]]
    profile = _interpolate(profile, nodes, middles)
    edges = [
        low[..., None] + (high - low)[..., None] * np.linspace(0.0, 1.0, number + 1)
        for (low, high), number in zip(box, CELLS[level], strict=True)
    ]
    if squared:
        edges[0] = edges[0] ** 2
    log_widths = [np.log(np.diff(edge, axis=-1)) for edge in edges]
    r, t = (0.5 * (edge[..., 1:] + edge[..., :-1]) for edge in edges)
    log_area = [(dim - 1) * np.log(r), (dim - 2) * np.log(np.sin(t))]
    first, second = (area + width for area, width in zip(log_area, log_widths, strict=True))
    return tuple(edges), profile + first[..., :, None] + second[..., None, :]


def _profile(target, coordinates):
    """Log of the density times the volume density of Exp, at normal coordinates."""
    states, volume = target.support.place(coordinates)
    # At a cut locus the logarithm is unbounded, and a spline would oscillate.
    volume = np.maximum(volume, np.exp(-3.0 * target.space.dim))
    value = target.unrestricted(states)
    finite = np.isfinite(value)
    # A spline cannot follow a log density to minus infinity.
    least = np.min(value, axis=-1, keepdims=True, where=finite, initial=np.inf) - 50.0
    least = np.where(np.isfinite(least), least, 0.0)
    return np.where(finite, value, least) + np.log(volume)


def _across(axis):
    """Unit vectors orthogonal to the axis, in one or two opposite pairs, always the same."""
    dim = axis.shape[-1]
    normal = np.random.default_rng(0).standard_normal((2, dim))[: dim - 1]
    normal = np.broadcast_to(normal, (*axis.shape[:-1], *normal.shape))
    axis = axis[..., None, :]
    normal = normal - np.sum(normal * axis, axis=-1, keepdims=True) * axis
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.concatenate([normal, -normal], axis=-2)


def _interpolate(values, nodes, places):
    """Cubic interpolation along both last axes, from values at ``nodes`` to ``places``."""
    # Imported here since it is slow to import.
    from scipy.interpolate import make_interp_spline

    first, second = (
        make_interp_spline(node, np.eye(len(node)), k=3)(place)
        for node, place in zip(nodes, places, strict=True)
    )
    return first @ values @ second.T


def _where_mass_is(edge, log_mass):
    """Lower and upper end of the cells that hold all but a negligible mass, and one more cell."""
    relative = log_mass - np.max(log_mass, axis=-1, keepdims=True)
    held = relative > np.log(1e-7)
    number = held.shape[-1]
    first = np.maximum(np.argmax(held, axis=-1) - 1, 0)
    last = np.minimum(number - np.argmax(held[..., ::-1], axis=-1), number - 1) + 1
    return (
        np.take_along_axis(edge, first[..., None], axis=-1)[..., 0],
        np.take_along_axis(edge, last[..., None], axis=-1)[..., 0],
    )
