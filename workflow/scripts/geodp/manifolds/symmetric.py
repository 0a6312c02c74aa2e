"""The mathematics every symmetric space shares, written once from the curvature spectrum.

Along a geodesic of a symmetric space the curvature operator ``u -> R(u, V) V`` is parallel, so
Jacobi fields separate over its eigenspaces.  A space states, for a tangent vector ``V``, the
eigenspaces and their *frequencies* ``sqrt(|kappa_j|) |V|``; with the sign of ``kappa_j`` these
give the two Jacobi solutions (Kulkarni and Soto, eq. 15 and 40), hence the derivatives of the
exponential map, its volume density and the bounds of their size.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodp.manifolds.base import BLOCKS, Manifold, Residuals, align_data_axes


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


def jacobi_weights(manifold, frequencies, covariates, block):
    """Factor of each record in each curvature eigenspace of one block of the gradient.

    Parameters
    ----------
    manifold : SymmetricSpace
    frequencies : ndarray, shape (*batch, K)
    covariates : ndarray that broadcasts to (*batch, n)
    block : {"footpoint", "shooting_vector"}

    Returns
    -------
    list of K arrays that broadcast to (*batch, n)
    """
    solution = {"footpoint": jacobi_cosine, "shooting_vector": jacobi_sine}[block]
    weights = []
    for index, sign in enumerate(manifold.curvature_signs):
        # On a flat direction, or one of multiplicity zero, nothing has to be computed.
        curved = sign if manifold.multiplicities[index] else 0
        weight = solution(curved, frequencies[..., index, None] * np.abs(covariates))
        weights.append(weight * covariates if block == "shooting_vector" else weight)
    return weights


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
    manifold : SymmetricSpace
    footpoint : ndarray, shape (*data_sets, *chains, *point_shape)
    """

    frequencies: np.ndarray
    components: np.ndarray
    squared_distances: np.ndarray
    manifold: "SymmetricSpace"
    footpoint: np.ndarray

    @property
    def squared_components(self):
        """Squared lengths of the components, shape (*data_sets, *chains, K, n)."""
        axis = -self.manifold.point_ndim - 1
        start = np.expand_dims(self.footpoint, (axis, axis - 1))
        return np.maximum(self.manifold.inner(start, self.components, self.components), 0.0)

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
        record_axis = -self.manifold.point_ndim - 1
        for index, weight in enumerate(weights):
            component = np.take(self.components, index, axis=record_axis - 1)
            total = total + np.sum(self.manifold.expand(weight) * component, axis=record_axis)
        return total


@dataclass(frozen=True)
class SymmetricResiduals(Residuals):
    """`Residuals` from pulled-back ones: a Jacobi solution for each curvature eigenspace.

    Attributes
    ----------
    manifold : SymmetricSpace
    covariates : ndarray that broadcasts to (*data_sets, *chains, n)
    pulled_back : PulledBackResiduals, or an equal of it
    """

    manifold: "SymmetricSpace"
    covariates: np.ndarray
    pulled_back: PulledBackResiduals

    @property
    def squared_distances(self):
        return self.pulled_back.squared_distances

    @cached_property
    def _factors(self):
        frequencies = self.pulled_back.frequencies
        return {
            block: jacobi_weights(self.manifold, frequencies, self.covariates, block)
            for block in BLOCKS
        }

    def adjoint_sums(self, block, weights=None):
        factors = self._factors[block]
        if weights is not None:
            factors = [weights * factor for factor in factors]
        return self.pulled_back.combine(factors)

    def adjoint_norms(self, coefficients):
        # Both fields have the same component in an eigenspace, up to their Jacobi solutions.
        squares = self.pulled_back.squared_components
        total = np.zeros(self.squared_distances.shape)
        for index in range(squares.shape[-2]):
            factor = sum(
                coefficient * self._factors[block][index]
                for block, coefficient in coefficients.items()
            )
            total += factor**2 * squares[..., index, :]
        return np.sqrt(total)


class SymmetricSpace(Manifold):
    """A symmetric space: exp, log, transport and the spectrum of its curvature operator.

    Attributes
    ----------
    curvature_signs : tuple of {-1, 0, 1}, length K
        Sign of the curvature in each eigenspace.
    multiplicities : tuple of int, length K
        Real dimension of each eigenspace; they add up to ``dim``.
    two_point_homogeneous : bool
        Whether all unit tangent vectors are alike, so that frequencies depend on lengths alone.
    """

    curvature_signs: tuple[int, ...]
    multiplicities: tuple[int, ...]
    two_point_homogeneous = False

    @property
    def curvature_norm(self):
        """Least known ``C`` with ``|R(X, Y) Z| <= C |X| |Y| |Z|`` for the curvature tensor R.

        With sectional curvatures in ``[a, b]`` it differs from that of constant curvature
        ``(a + b) / 2`` by at most ``2 (b - a) / 3`` (Karcher).
        """
        lower, upper = self.curvature_bounds
        return 0.5 * abs(lower + upper) + 2.0 * (upper - lower) / 3.0

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

    def exp_volume_range(self, point, unit, low, high, angle):
        """Least and greatest `exp_volume` at vectors of some lengths and directions.

        Parameters
        ----------
        point, unit : ndarray, shape (..., *point_shape)
            Unit vectors.
        low, high : ndarray, shape (...)
            Of the lengths, within the injectivity radius.
        angle : ndarray, shape (...)
            Greatest angle of a direction with ``unit``.

        Returns
        -------
        tuple of ndarray, shape (...)
        """
        frequencies = self.frequencies(point, unit)
        if not self.two_point_homogeneous:
            # Singular values of a linear map move no faster than its norm lets them.
            rate = self._greatest_rate()
            slower = np.maximum(frequencies - rate * angle[..., None], 0.0)
            faster = np.minimum(frequencies + rate * angle[..., None], rate)
        else:
            slower = faster = frequencies
        least, greatest = np.ones(low.shape), np.ones(low.shape)
        for index, (sign, multiplicity) in enumerate(
            zip(self.curvature_signs, self.multiplicities, strict=True)
        ):
            if not sign or not multiplicity:
                continue
            ends = low * slower[..., index], high * faster[..., index]
            small, large = ends if sign < 0 else ends[::-1]
            least = least * np.maximum(jacobi_sine(sign, small), 0.0) ** multiplicity
            greatest = greatest * np.maximum(jacobi_sine(sign, large), 0.0) ** multiplicity
        return least, greatest

    def arc_stretch(self, point, unit, length):
        """Largest norm of a Jacobi field at distance r, per unit initial angle.

        Parameters
        ----------
        point, unit : ndarray, shape (..., *point_shape)
            The direction of the arc's middle.
        length : ndarray, shape (...)
            The distance.
        """
        if not self.two_point_homogeneous:
            sign = -1 if self.curvature_bounds[0] < 0.0 else 0
            return length * jacobi_sine(sign, self._greatest_rate() * length)
        frequencies = self.frequencies(point, unit)
        stretch = np.zeros(length.shape)
        for index, (sign, multiplicity) in enumerate(
            zip(self.curvature_signs, self.multiplicities, strict=True)
        ):
            # One of the flat directions is the radius itself.
            if multiplicity - (sign == 0) > 0:
                sine = np.abs(jacobi_sine(sign, length * frequencies[..., index]))
                stretch = np.maximum(stretch, sine)
        return length * stretch

    def _greatest_rate(self):
        """Greatest frequency of a unit vector."""
        return np.sqrt(np.max(np.abs(self.curvature_bounds)))

    def residuals(self, footpoint, shooting_vector, covariates, points):
        pulled_back = self.pulled_back_residuals(footpoint, shooting_vector, covariates, points)
        batch_ndim = pulled_back.squared_distances.ndim - 1
        x = align_data_axes(covariates, covariates.ndim - 1, batch_ndim)
        return SymmetricResiduals(self, x, pulled_back)

    def pulled_back_residuals(self, footpoint, shooting_vector, covariates, points):
        """Residuals ``Log(Exp(p, x_i v), y_i)`` carried back to ``p``, by curvature eigenspace.

        Spaces with more structure override this with a faster equal.

        Parameters
        ----------
        footpoint, shooting_vector : ndarray, shape (*data_sets, *chains, *point_shape)
        covariates : ndarray, shape (*data_sets, n)
        points : ndarray, shape (*data_sets, n, *point_shape)

        Returns
        -------
        PulledBackResiduals
        """
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
            manifold=self,
            footpoint=footpoint,
        )

    def gauss_newton_steps(
        self, footpoint, shooting_vector, covariates, gradients, damping, weights=None
    ):
        """See `Manifold`; the Hessian is a matrix over blocks in each curvature eigenspace."""
        frequencies = self.frequencies(footpoint, shooting_vector)
        x = align_data_axes(covariates, covariates.ndim - 1, frequencies.ndim - 1)
        shape = np.broadcast_shapes((*frequencies.shape[:-1], 1), x.shape)
        factors = {block: jacobi_weights(self, frequencies, x, block) for block in gradients}
        parts = {
            block: self.split(footpoint, shooting_vector, gradient)
            for block, gradient in gradients.items()
        }
        axis = -self.point_ndim - 1
        steps = dict.fromkeys(gradients, 0.0)
        for index in range(len(self.curvature_signs)):
            columns = np.stack(
                [np.broadcast_to(factors[block][index], shape) for block in gradients], axis=-2
            )
            weighted = columns if weights is None else weights[..., None, :] * columns
            normal = weighted @ np.swapaxes(columns, -1, -2) / shape[-1]
            shift = (damping + 1e-14) * np.trace(normal, axis1=-2, axis2=-1)
            inverse = np.linalg.inv(normal + shift[..., None, None] * np.eye(len(gradients)))
            for row, block in enumerate(gradients):
                for column, other in enumerate(gradients):
                    component = np.take(parts[other], index, axis=axis)
                    steps[block] -= self.expand(inverse[..., row, column]) * component
        return steps
