"""Manifolds without formulas for their Jacobi fields: derivatives of Exp by central differences.

From its other verbs follow the derivatives of ``Exp(p, v)`` in ``p`` (with ``v`` carried along in
parallel) and in ``v``, hence gradients, Gauss-Newton steps and the volume density.  They cost about
``8 dim`` exponentials a record, where a symmetric space needs one.
"""

import numpy as np

from geodp.manifolds.manifold import Manifold


class DifferencedManifold(Manifold):
    """A manifold whose derivatives of Exp follow from its other verbs.

    Attributes
    ----------
    difference_step : float
        Length of the steps.  At 1e-3 in units of the length over which the space curves, both
        the rounding and the truncation of a derivative are about 1e-13.
    """

    difference_step: float = 1e-3

    def exp_derivatives(self, point, vectors, coefficients, moved):
        """Derivatives of `ends` along the frame at ``p``, tangents there.

        Of shape (*batch, dim, n, *point_shape); ``moved`` is 0 for the point, which carries all
        vectors along in parallel, and j for the j-th vector.
        """
        axis = -self.point_ndim - 1
        frame = self.frame(point)
        start = np.broadcast_to(np.expand_dims(point, axis), frame.shape)
        velocities = [np.broadcast_to(np.expand_dims(v, axis), frame.shape) for v in vectors]
        total = 0.0
        # Central differences of fourth order: offsets in steps, coefficients times 12.
        for offset, coefficient in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
            step = offset * self.difference_step * frame
            if moved:
                place, carried = start, list(velocities)
                carried[moved - 1] = carried[moved - 1] + step
            else:
                place = self.exp(start, step)
                carried = [self.transport(start, step, each) for each in velocities]
            total = total + coefficient * self.ends(place, carried, coefficients[..., None, :, :])
        ends = np.expand_dims(self.ends(point, vectors, coefficients), axis - 1)
        # The differences of points leave the tangent space by their truncation error.
        return self.project_tangent(ends, total / (12.0 * self.difference_step))

    def exp_volume(self, point, vector):
        shape = np.broadcast_shapes(point.shape, vector.shape)
        point, vector = np.broadcast_to(point, shape), np.broadcast_to(vector, shape)
        axis = -self.point_ndim - 1
        images = np.squeeze(self.exp_derivatives(point, [vector], np.ones((1, 1)), 1), axis=axis)
        end = np.expand_dims(self.exp(point, vector), axis)
        # Rounding can make the determinant of a singular derivative negative.
        determinant = np.linalg.det(self.gram(end, images, self.point_ndim))
        return np.sqrt(np.maximum(determinant, 0.0))

    def gram(self, ends, images, following):
        """Inner products of images (*batch, D, ...) with one another, shape (*batch, D, D, ...).

        ``following`` counts the axes of ``images`` after D.
        """
        axis = -following - 1
        rows = [
            self.inner(ends, np.take(images, [row], axis=axis), images)
            for row in range(images.shape[axis])
        ]
        return np.stack(rows, axis=axis + self.point_ndim)
