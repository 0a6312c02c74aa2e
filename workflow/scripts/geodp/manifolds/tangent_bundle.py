"""The tangent bundle of a manifold: a footpoint and its shooting vectors as one state.

A state ``(p, v_1, ..., v_k)`` is stored as the stack of its arrays, and a step of as many tangent
vectors ``(u, w_1, ..., w_k)`` at ``p`` leads to ``Exp(p, u)`` and to ``v_j + w_j``, carried there
in parallel along the geodesic: the step of `GeodesicModel.retract`.  Parallel transport is an
isometry of tangent spaces.  So in these coordinates the product of the Riemannian volume of
footpoints and the Lebesgue measure of shooting vectors has the density of ``Exp(p, u)`` alone,
whatever the vectors.
"""

import numpy as np

from geodp.manifolds.base import Manifold


class TangentBundle(Manifold):
    """A point of a manifold with k tangent vectors there, of shape (1 + k, *base.point_shape).

    ``exp`` and ``log`` are inverse to one another, and ``exp_volume`` is the density of ``exp``;
    they are not those of a Riemannian metric on the bundle, where geodesics bend.  Nor is
    ``dist``, the length of ``log``, a metric: around a loop transport turns vectors, and the
    triangle inequality fails by as much.  A sampler needs none of this.

    Parameters
    ----------
    base : Manifold
    vectors : int
        k, 0 or more.

    Attributes
    ----------
    injectivity_radius, volume_growth, curvature_bounds
        The base's: of footpoints, with fibres flat.
    """

    def __init__(self, base, vectors=1):
        self.base = base
        self.name = f"tangent bundle of {base.name}"
        self.blocks = 1 + vectors
        self.dim = self.blocks * base.dim
        self.point_shape = (self.blocks, *base.point_shape)
        self.dtype = base.dtype
        self.injectivity_radius = base.injectivity_radius
        self.curvature_bounds = base.curvature_bounds
        self.volume_growth = base.volume_growth

    def join(self, *parts):
        """Arrays of shape (*batch, *base.point_shape) as one of (*batch, *point_shape)."""
        return np.stack(np.broadcast_arrays(*parts), axis=-self.base.point_ndim - 1)

    def parts(self, array):
        """The arrays that `join` made one, as views."""
        return tuple(np.moveaxis(array, -self.base.point_ndim - 1, 0))

    def exp(self, point, vector):
        (p, *vectors), (u, *turns) = self.parts(point), self.parts(vector)
        moved = (self.base.transport(p, u, v + w) for v, w in zip(vectors, turns, strict=True))
        return self.join(self.base.exp(p, u), *moved)

    def log(self, point, other):
        (p, *vectors), (q, *others) = self.parts(point), self.parts(other)
        turns = (self.base.transport_to(q, p, z) - v for v, z in zip(vectors, others, strict=True))
        return self.join(self.base.log(p, q), *turns)

    def transport(self, point, direction, vector):
        p, u = self.parts(point)[0], self.parts(direction)[0]
        return self.join(*(self.base.transport(p, u, part) for part in self.parts(vector)))

    def transport_to(self, point, other, vector):
        p, q = self.parts(point)[0], self.parts(other)[0]
        return self.join(*(self.base.transport_to(p, q, part) for part in self.parts(vector)))

    def inner(self, point, first, second):
        p = self.parts(point)[0]
        pairs = zip(self.parts(first), self.parts(second), strict=True)
        return sum(self.base.inner(p, one, other) for one, other in pairs)

    def frame(self, point):
        """The base's frame for steps of the footpoint, then for those of each vector."""
        frame = self.base.frame(self.parts(point)[0])
        zero = np.zeros_like(frame)
        axis = -self.point_ndim
        each = (
            self.join(*(frame if place == block else zero for place in range(self.blocks)))
            for block in range(self.blocks)
        )
        return np.concatenate(list(each), axis=axis - 1)

    def is_shortest(self, coordinates):
        """See `Manifold.is_shortest`; fibres are flat, so only footpoints can move too far."""
        return self.base.is_shortest(coordinates[..., : self.base.dim])

    def project(self, array):
        p, *vectors = self.parts(array)
        p = self.base.project(p)
        return self.join(p, *(self.base.project_tangent(p, v) for v in vectors))

    def project_tangent(self, point, array):
        p = self.parts(point)[0]
        return self.join(*(self.base.project_tangent(p, part) for part in self.parts(array)))

    def random_point(self, rng, shape=(), radius=1.0):
        """A random point of the base, and vectors uniform in the ball of the given radius."""
        unbounded = np.isinf(self.base.injectivity_radius)
        p = self.base.random_point(rng, shape, **({"radius": radius} if unbounded else {}))
        vectors = (self.base.random_tangent_in_ball(rng, p, radius) for _ in range(1, self.blocks))
        return self.join(p, *vectors)

    def invalid_reason(self, array):
        p, *vectors = self.parts(array)
        reason = self.base.invalid_reason(p)
        if reason is not None:
            return f"its footpoint is no point of {self.base.name}, since {reason}"
        for v in vectors:
            if not np.all(np.isfinite(v)):
                return "a shooting vector has a coordinate that is not a finite number"
            if not np.allclose(self.base.project_tangent(p, v), v, rtol=1e-6, atol=1e-9):
                return "a shooting vector is not tangent at its footpoint"
        return None

    def exp_volume(self, point, vector):
        return self.base.exp_volume(self.parts(point)[0], self.parts(vector)[0])
