"""Spaces with no formula for their Jacobi fields: derivatives of Exp by differences.

A space that is not symmetric, or whose curvature nobody wrote down, still has exp, log, transport,
an inner product and a frame.  From these follow the derivatives of ``Exp(p, x v)`` in ``p`` (with
``v`` carried along in parallel) and in ``v``, hence gradients, Gauss-Newton steps and the volume
density.  They cost some ``8 dim`` exponentials for each record where a symmetric space needs one.
"""

from dataclasses import dataclass, field

import numpy as np

from geodp.manifolds.base import Manifold, Residuals, align_data_axes

# Central differences of fourth order: offsets in steps, and coefficients of the values there.
STENCIL = ((1, 2.0 / 3.0), (-1, -2.0 / 3.0), (2, -1.0 / 12.0), (-2, 1.0 / 12.0))


class DifferencedManifold(Manifold):
    """A manifold that states exp, log, transport, inner and frame, and leaves the rest to these.

    Attributes
    ----------
    difference_step : float
        Length of the steps.  At 1e-3 in units of the length over which the space curves, both
        the rounding and the truncation of a derivative are about 1e-13.
    """

    difference_step: float = 1e-3

    def exp_derivatives(self, point, vector, covariates, block):
        """Derivatives of the points ``Exp(p, x_i v)`` along the frame at ``p``.

        Parameters
        ----------
        point, vector : ndarray, shape (*batch, *point_shape)
        covariates : ndarray that broadcasts to (*batch, n)
        block : {"footpoint", "shooting_vector"}
            Which argument moves; as the footpoint does, ``vector`` is carried along in parallel.

        Returns
        -------
        ndarray, shape (*batch, dim, n, *point_shape)
            Tangent at the points.
        """
        axis = -self.point_ndim - 1
        frame = self.frame(point)
        start = np.broadcast_to(np.expand_dims(point, axis), frame.shape)
        velocity = np.broadcast_to(np.expand_dims(vector, axis), frame.shape)
        total = 0.0
        for offset, coefficient in STENCIL:
            step = offset * self.difference_step * frame
            if block == "footpoint":
                moved = self.exp(start, step), self.transport(start, step, velocity)
            else:
                moved = start, velocity + step
            total = total + coefficient * self._along(*moved, covariates[..., None, :])
        ends = np.expand_dims(self._along(point, vector, covariates), axis - 1)
        # The differences of points leave the tangent space by their truncation error.
        return self.project_tangent(ends, total / self.difference_step)

    def _along(self, point, vector, covariates):
        """Points ``Exp(p, x_i v)``, shape (*batch, n, *point_shape)."""
        axis = -self.point_ndim - 1
        vectors = self.expand(covariates) * np.expand_dims(vector, axis)
        return self.exp(np.expand_dims(point, axis), vectors)

    def _derivatives_once(self, point, vector, block):
        """`exp_derivatives` at covariate 1, with the ends; (*batch, dim, *point_shape)."""
        shape = np.broadcast_shapes(point.shape, vector.shape)
        point, vector = np.broadcast_to(point, shape), np.broadcast_to(vector, shape)
        images = self.exp_derivatives(point, vector, np.ones(1), block)
        images = np.squeeze(images, axis=-self.point_ndim - 1)
        return images, np.expand_dims(self.exp(point, vector), -self.point_ndim - 1)

    def jacobi_adjoint(self, point, vector, residual, part):
        """Adjoint of the derivative of Exp, applied to a residual at the far end.

        See `SymmetricSpace.jacobi_adjoint`.
        """
        images, end = self._derivatives_once(point, vector, part)
        coordinates = self.inner(end, images, np.expand_dims(residual, -self.point_ndim - 1))
        return self.vector(self.frame(point), coordinates)

    def exp_volume(self, point, vector):
        images, end = self._derivatives_once(point, vector, "shooting_vector")
        # Rounding can make the determinant of a singular derivative negative.
        determinant = np.linalg.det(self._gram(end, images, self.point_ndim))
        return np.sqrt(np.maximum(determinant, 0.0))

    def _gram(self, ends, images, following):
        """Inner products of images (*batch, D, ...) with one another, shape (*batch, D, D, ...).

        ``following`` counts the axes of ``images`` after D.
        """
        axis = -following - 1
        rows = [
            self.inner(ends, np.take(images, [row], axis=axis), images)
            for row in range(images.shape[axis])
        ]
        return np.stack(rows, axis=axis + self.point_ndim)

    def residuals(self, footpoint, shooting_vector, covariates, points):
        data_ndim = covariates.ndim - 1
        batch_ndim = footpoint.ndim - self.point_ndim
        x = align_data_axes(covariates, data_ndim, batch_ndim)
        y = align_data_axes(points, data_ndim, batch_ndim)
        predictions = self._along(footpoint, shooting_vector, x)
        vectors = self.log(predictions, y)
        return DifferencedResiduals(
            # In an indefinite ambient product rounding can make a small one negative.
            squared_distances=np.maximum(self.inner(predictions, vectors, vectors), 0.0),
            manifold=self,
            footpoint=footpoint,
            shooting_vector=shooting_vector,
            covariates=x,
            predictions=predictions,
            vectors=vectors,
        )

    def gauss_newton_steps(
        self, footpoint, shooting_vector, covariates, gradients, damping, weights=None
    ):
        """See `Manifold`; the Hessian is a matrix in the frame, block after block."""
        batch_ndim = footpoint.ndim - self.point_ndim
        x = align_data_axes(covariates, covariates.ndim - 1, batch_ndim)
        record_axis = -self.point_ndim - 1
        images = np.concatenate(
            [self.exp_derivatives(footpoint, shooting_vector, x, block) for block in gradients],
            axis=record_axis - 1,
        )
        ends = np.expand_dims(self._along(footpoint, shooting_vector, x), record_axis - 1)
        products = self._gram(ends, images, self.point_ndim + 1)
        if weights is not None:
            products = weights[..., None, None, :] * products
        normal = np.mean(products, axis=-1)
        size = normal.shape[-1]
        shift = (damping + 1e-14) * np.trace(normal, axis1=-2, axis2=-1)
        normal = normal + shift[..., None, None] * np.eye(size)
        frame = self.frame(footpoint)
        flat = np.concatenate(
            [self.coordinates(footpoint, each, frame) for each in gradients.values()], axis=-1
        )
        moves = -np.linalg.solve(normal, flat[..., None])[..., 0]
        parts = np.split(moves, len(gradients), axis=-1)
        return {
            block: self.vector(frame, part) for block, part in zip(gradients, parts, strict=True)
        }


@dataclass(frozen=True)
class DifferencedResiduals(Residuals):
    """`Residuals` of a `DifferencedManifold`.

    Attributes
    ----------
    squared_distances : ndarray, shape (*data_sets, *chains, n)
    footpoint, shooting_vector : ndarray, shape (*data_sets, *chains, *point_shape)
    covariates : ndarray that broadcasts to (*data_sets, *chains, n)
    predictions, vectors : ndarray, shape (*data_sets, *chains, n, *point_shape)
        The residuals, and the points at which they are tangent.
    """

    squared_distances: np.ndarray
    manifold: DifferencedManifold
    footpoint: np.ndarray
    shooting_vector: np.ndarray
    covariates: np.ndarray
    predictions: np.ndarray
    vectors: np.ndarray
    _coordinates: dict = field(default_factory=dict, init=False, repr=False)

    def _adjoint_coordinates(self, block):
        """Coordinates (*data_sets, *chains, dim, n) of each carried residual in the frame."""
        if block not in self._coordinates:
            manifold = self.manifold
            before = -manifold.point_ndim - 2
            images = manifold.exp_derivatives(
                self.footpoint, self.shooting_vector, self.covariates, block
            )
            ends = np.expand_dims(self.predictions, before)
            vectors = np.expand_dims(self.vectors, before)
            self._coordinates[block] = manifold.inner(ends, images, vectors)
        return self._coordinates[block]

    def adjoint_sums(self, block, weights=None):
        coordinates = self._adjoint_coordinates(block)
        if weights is not None:
            coordinates = weights[..., None, :] * coordinates
        frame = self.manifold.frame(self.footpoint)
        return self.manifold.vector(frame, np.sum(coordinates, axis=-1))

    def adjoint_norms(self, coefficients):
        combined = sum(
            coefficient * self._adjoint_coordinates(block)
            for block, coefficient in coefficients.items()
        )
        return np.sqrt(np.sum(combined**2, axis=-2))
