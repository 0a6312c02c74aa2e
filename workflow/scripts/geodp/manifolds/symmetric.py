"""The mathematics every symmetric space shares, written once from the curvature spectrum.

Along a geodesic of a symmetric space the curvature operator ``u -> R(u, V) V`` is parallel, so
Jacobi fields separate over its eigenspaces.  A space states, for a tangent vector ``V``, the
eigenspaces and their *frequencies* ``sqrt(|kappa_j|) |V|``; with the sign of ``kappa_j`` these
give the two Jacobi solutions (Kulkarni and Soto, eq. 15 and 40), hence the derivatives of the
exponential map, its volume density and the bounds of their size.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from geodp.manifolds.base import Manifold, align_data_axes


def jacobi_cosine(sign, frequency):
    """Solution with J(0) = 1, J'(0) = 0 of the scalar Jacobi equation at time 1.

    Parameters
    ----------
    sign : {-1, 0, 1}
        Sign of the curvature.
    frequency : ndarray
        ``sqrt(|kappa|) |V|``.
    """
    if sign == 0:
        return 1.0
    return np.cos(frequency) if sign > 0 else np.cosh(frequency)


def jacobi_sine(sign, frequency):
    """Solution with J(0) = 0, J'(0) = 1 of the scalar Jacobi equation at time 1."""
    if sign == 0:
        return 1.0
    if sign > 0:
        return np.sinc(frequency / np.pi)
    small = frequency < 1e-4
    safe = np.where(small, 1.0, frequency)
    return np.where(small, 1.0 + frequency**2 / 6.0, np.sinh(safe) / safe)


@dataclass(frozen=True)
class PulledBackResiduals:
    """Residuals carried back to the footpoint, split over the curvature eigenspaces.

    Attributes
    ----------
    frequencies : ndarray, shape (*data_sets, *chains, K)
        Frequencies of the shooting vector; at covariate ``x`` they are ``|x|`` times this.
    components : ndarray, shape (*data_sets, *chains, K, n, *point_shape)
        Component of each residual in each eigenspace, as tangent vectors at the footpoint.
    squared_distances : ndarray, shape (*data_sets, *chains, n)
    """

    frequencies: np.ndarray
    components: np.ndarray
    squared_distances: np.ndarray
    point_ndim: int

    def combine(self, weights):
        """Sum over records and eigenspaces of ``weights[j] * component_j``.

        Parameters
        ----------
        weights : sequence of K arrays that broadcast to (*data_sets, *chains, n), or scalars

        Returns
        -------
        ndarray, shape (*data_sets, *chains, *point_shape)
        """
        total = 0.0
        record_axis = -self.point_ndim - 1
        for index, weight in enumerate(weights):
            component = np.take(self.components, index, axis=record_axis - 1)
            factor = np.asarray(weight)[(...,) + (None,) * self.point_ndim]
            total = total + np.sum(factor * component, axis=record_axis)
        return total


class SymmetricSpace(Manifold):
    """A symmetric space: exp, log, transport and the spectrum of its curvature operator.

    Attributes
    ----------
    curvature_signs : tuple of {-1, 0, 1}, length K
        Sign of the curvature in each eigenspace.
    multiplicities : tuple of int, length K
        Real dimension of each eigenspace; they add up to ``dim``.
    """

    curvature_signs: tuple[int, ...]
    multiplicities: tuple[int, ...]

    @abstractmethod
    def frequencies(self, point, vector):
        """Frequencies ``sqrt(|kappa_j|) |vector|`` of the eigenspaces; shape (..., K)."""

    @abstractmethod
    def split(self, point, vector, other):
        """Components of ``other`` in the eigenspaces of ``vector``; (..., K, *point_shape)."""

    def jacobi_adjoint(self, point, vector, residual, part):
        """Adjoint of the derivative of Exp, applied to a residual at the far end.

        Parameters
        ----------
        point, vector : ndarray, shape (..., *point_shape)
        residual : ndarray, shape (..., *point_shape)
            Tangent at ``exp(point, vector)``.
        part : {"footpoint", "shooting_vector"}
            Which argument of ``Exp(p, v)`` is differentiated (Kulkarni and Soto, eq. 7 and 8).

        Returns
        -------
        ndarray, shape (..., *point_shape)
            Tangent at ``point``.
        """
        solution = {"footpoint": jacobi_cosine, "shooting_vector": jacobi_sine}[part]
        components = self.split(point, vector, self.transport_back(point, vector, residual))
        frequencies = self.frequencies(point, vector)
        axis = -self.point_ndim - 1
        return sum(
            self.expand(solution(sign, frequencies[..., index]))
            * np.take(components, index, axis=axis)
            for index, sign in enumerate(self.curvature_signs)
        )

    def transport_back(self, point, vector, other):
        """Carry ``other`` from ``exp(point, vector)`` back to ``point``."""
        end = self.exp(point, vector)
        return self.transport(end, -self.transport(point, vector, vector), other)

    def exp_volume(self, point, vector):
        frequencies = self.frequencies(point, vector)
        volume = np.ones(frequencies.shape[:-1])
        for index, (sign, multiplicity) in enumerate(
            zip(self.curvature_signs, self.multiplicities, strict=True)
        ):
            if sign:
                volume = volume * jacobi_sine(sign, frequencies[..., index]) ** multiplicity
        return volume

    def pulled_back_residuals(self, footpoint, shooting_vector, covariates, points):
        """See `Manifold`; spaces with more structure override this with a faster equal."""
        data_ndim = covariates.ndim - 1
        batch_ndim = footpoint.ndim - self.point_ndim
        x = align_data_axes(covariates, data_ndim, batch_ndim)
        y = align_data_axes(points, data_ndim, batch_ndim)
        record_axis = -self.point_ndim - 1
        p = np.expand_dims(footpoint, record_axis)
        v = np.expand_dims(shooting_vector, record_axis)
        p, v = np.broadcast_arrays(p, self.expand(x) * v)
        residuals = self.log(self.exp(p, v), y)
        back = self.transport_back(p, v, residuals)
        # The eigenspaces of x v are those of v, also at x = 0.
        components = self.split(p, np.expand_dims(shooting_vector, record_axis), back)
        return PulledBackResiduals(
            frequencies=self.frequencies(footpoint, shooting_vector),
            components=np.moveaxis(components, record_axis, record_axis - 1),
            squared_distances=self.inner(p, back, back),
            point_ndim=self.point_ndim,
        )
