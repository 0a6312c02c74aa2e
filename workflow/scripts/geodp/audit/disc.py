"""Quadrature over a disc of the unit sphere or of the plane, graded towards a pole."""

from dataclasses import dataclass

import numpy as np

from geodp.manifolds.manifold import Manifold


@dataclass(frozen=True)
class Disc:
    """A ball of the sphere S^2, the whole of it, or a disc of the plane."""

    space: Manifold
    centre: np.ndarray
    radius: float

    def contains(self, states):
        """Whether states (*batch, *point_shape) lie in it, up to rounding."""
        return self.space.dist(self.centre, states) <= self.radius * (1.0 + 1e-9)

    def nodes(self, pole, fine, rings, rays):
        """Nodes of Gauss's rule along rays from a pole, and of the trapezium rule around it.

        States (*batch, nodes, *point_shape) and logarithms of their areas, from poles (*batch,
        *point_shape), moved inside if they are not.  Lengths along a ray are ``fine sinh(u)`` with
        ``u`` even, so nodes are ``fine`` (*batch) apart at the pole and a fixed share of their
        distance from it elsewhere.  Of the whole sphere the half about the pole's antipode has
        nodes of its own.
        """
        if self.radius >= self.space.injectivity_radius:
            halves = [
                self._patch(pole, fine, rings, rays, 0.5 * np.pi),
                self._patch(-pole, np.full(np.shape(fine), 0.05), rings, rays, 0.5 * np.pi),
            ]
            axis = pole.ndim - self.space.point_ndim
            return tuple(np.concatenate(parts, axis=axis) for parts in zip(*halves, strict=True))
        return self._patch(self._inside(pole), fine, rings, rays)

    def _inside(self, pole):
        space = self.space
        centre = np.broadcast_to(self.centre, pole.shape)
        step = space.log(centre, pole)
        length = space.norm(centre, step)
        factor = np.minimum(1.0, 0.97 * self.radius / np.maximum(length, 1e-300))
        return space.exp(centre, space.expand(factor) * step)

    def _patch(self, pole, fine, rings, rays, reach=None):
        space = self.space
        angle = 2.0 * np.pi * np.arange(rays) / rays
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        if reach is None:
            to_centre = space.coordinates(
                pole, space.log(pole, np.broadcast_to(self.centre, pole.shape))
            )
            away = np.sqrt(np.sum(to_centre**2, axis=-1))[..., None]
            toward = to_centre / np.maximum(away, 1e-300)
            length = self._length_of_rays(away, toward @ circle.T)
        else:
            length = np.full((*np.shape(fine), rays), reach)
        # A grading much coarser than the disc grades nothing.
        fine = np.minimum(np.asarray(fine)[..., None, None], 0.3 * length[..., None, :])
        unit, weight = np.polynomial.legendre.leggauss(rings)
        unit, weight = 0.5 * (unit + 1.0), 0.5 * weight
        stretch = np.arcsinh(length[..., None, :] / fine)
        u = unit[:, None] * stretch
        r = fine * np.sinh(u)
        slope = fine * np.cosh(u) * stretch
        curved = space.curvature_bounds[1] > 0.0
        area = (np.sin(r) if curved else r) * slope * weight[:, None] * (2.0 * np.pi / rays)
        frame = np.expand_dims(space.frame(pole), -space.point_ndim - 2)
        place = space.vector(frame, (r[..., None] * circle).reshape((*r.shape[:-2], -1, 2)))
        states = space.exp(np.expand_dims(pole, -space.point_ndim - 1), place)
        return states, np.log(area).reshape((*area.shape[:-2], -1))

    def _length_of_rays(self, away, cosine):
        """Distance from a pole to the edge, in directions at an angle with that to the centre."""
        if self.space.curvature_bounds[1] > 0.0:
            first, second = np.cos(away), np.sin(away) * cosine
            share = np.cos(self.radius) / np.hypot(first, second)
            return np.arctan2(second, first) + np.arccos(np.clip(share, -1.0, 1.0))
        along = away * cosine
        return along + np.sqrt(along**2 + self.radius**2 - away**2)
