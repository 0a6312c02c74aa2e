"""Manifolds of geomstats as manifolds of this library.

geomstats is not imported here: the space that is given brings it.
"""

from contextlib import contextmanager

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.differences import DifferencedManifold

# Allowed difference of a batch from a loop over its members, and of an identity from its exact
# value: iterative logarithms of a batch stop at another step, and transports are numerical.
TOLERANCE = 1e-6

# Errors of geomstats for batches, metrics or shapes that a function does not support.
FAILURES = ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError


class GeomstatsManifold(DifferencedManifold):
    """A space of geomstats, with the metric it is equipped with.

    Everything runs on it as on the spaces of this library, some hundred times more slowly:
    derivatives of Exp are differences.  The backend of geomstats must be NumPy's.

    When it is made, the space is tried at a few points: a function that takes batches wrongly is
    called point by point from then on, and a space whose functions contradict one another is
    refused.

    Parameters
    ----------
    space : geomstats space
        Equipped with a metric; points must be stored as real arrays, one array a point.  Quotient
        spaces, whose points stand for classes, are refused.
    curvature_bounds : tuple of float
        Lower and upper bound of the sectional curvature, where the data lie.  Sensitivities depend
        on the lower one.
    injectivity_radius : float
        Smallest distance to a cut locus.
    transport : callable, optional
        Called as ``transport(vectors, points, direction=directions)`` in place of
        ``space.metric.parallel_transport``, where that is missing or inaccurate.
    origin : ndarray, shape point_shape, optional
        Centre of random points on spaces without a cut locus; some point unless given.

    Notes
    -----
    A space that is not complete will do as long as geodesics stay within it: give proposals and
    supports a radius.  On such a space Exp of a longer vector may be nonsense without a warning.
    Functions good to fewer digits, as those of the Poincare ball are, ask for a larger
    ``tolerance`` of the fit.

    Examples
    --------
    Covariance matrices with the Bures-Wasserstein metric, whose curvature is not negative::

        from functools import partial
        from geomstats.geometry.spd_matrices import SPDBuresWassersteinMetric, SPDMatrices

        space = SPDMatrices(3, equip=False)
        space.equip_with_metric(SPDBuresWassersteinMetric)
        manifold = GeomstatsManifold(
            space,
            curvature_bounds=(0.0, np.inf),
            # Integrated numerically, so ask for more than its ten steps.
            transport=partial(space.metric.parallel_transport, n_steps=50),
            origin=np.eye(3),
        )
        found = GeodesicModel(manifold).fit(covariates, matrices)

    Where geomstats has no parallel transport a pole ladder will do, exact on symmetric spaces::

        def transport(vectors, points, direction):
            ladder = space.metric.ladder_parallel_transport(vectors, points, direction)
            return ladder["transported_tangent_vec"]
    """

    def __init__(
        self, space, curvature_bounds, injectivity_radius=np.inf, transport=None, origin=None
    ):
        metric = space.metric
        self.name = f"{type(space).__name__}{tuple(space.shape)} with {type(metric).__name__}"
        self.space = space
        self.dim, self.point_shape = int(space.dim), tuple(space.shape)
        self.curvature_bounds = tuple(curvature_bounds)
        self.injectivity_radius = injectivity_radius
        carry = metric.parallel_transport if transport is None else transport
        verbs = {
            "exp": lambda point, vector: metric.exp(vector, point),
            "log": lambda point, other: metric.log(other, point),
            "transport": lambda point, direction, vector: carry(vector, point, direction=direction),
            "inner": lambda point, first, second: metric.inner_product(first, second, point),
            "project_tangent": lambda point, array: space.to_tangent(array, point),
        }
        self._batched = {
            verb: _Batched(function, self.point_shape, () if verb == "inner" else self.point_shape)
            for verb, function in verbs.items()
        }
        trial = self._geomstats_points(np.random.default_rng(0), 2 * max(self.point_shape) + 4)
        self.origin = trial[0] if origin is None else np.asarray(origin, dtype=float)
        self._try(trial)

    def exp(self, point, vector):
        return self._batched["exp"](point, vector)

    def log(self, point, other):
        return self._batched["log"](point, other)

    def transport(self, point, direction, vector):
        return self._batched["transport"](point, direction, vector)

    def inner(self, point, first, second):
        return self._batched["inner"](point, first, second)

    def project_tangent(self, point, array):
        return self._batched["project_tangent"](point, array)

    def frame(self, point):
        """Gram-Schmidt in the metric, on a basis of the tangent space in ambient coordinates."""
        batch = self.batch_shape(point)
        axis = -self.point_ndim - 1
        basis = self._tangent_basis(point)[1][..., : self.dim, :]
        basis = basis.reshape((*batch, self.dim, *self.point_shape))
        at = np.expand_dims(np.expand_dims(point, axis), axis)
        gram = self.inner(at, np.expand_dims(basis, axis - 1), np.expand_dims(basis, axis))
        coefficients = np.linalg.inv(np.linalg.cholesky(gram))
        return self.vector(np.expand_dims(basis, axis - 1), coefficients)

    def _tangent_basis(self, point):
        """Orthonormal rows (..., ambient, ambient) of which the first span the tangent space.

        Before them come their sizes (..., ambient), zero for the other rows.
        """
        ambient = int(np.prod(self.point_shape))
        directions = np.eye(ambient).reshape((ambient, *self.point_shape))
        projected = self.project_tangent(np.expand_dims(point, -self.point_ndim - 1), directions)
        flat = projected.reshape((*self.batch_shape(point), ambient, ambient))
        _, sizes, basis = np.linalg.svd(flat)
        return sizes, basis

    def project(self, array):
        array = np.asarray(array, dtype=float)
        if not hasattr(self.space, "projection"):
            return array
        return _Batched(self.space.projection, self.point_shape, self.point_shape)(array)

    def random_point(self, rng, shape=(), radius=1.0):
        """See `Manifold.random_point`; with a cut locus, draws of geomstats' own distribution."""
        if np.isinf(self.injectivity_radius):
            origin = np.broadcast_to(self.origin, (*shape, *self.point_shape))
            return self.exp(origin, self.random_tangent_in_ball(rng, origin, radius))
        points = self._geomstats_points(rng, int(np.prod(shape, dtype=int)))
        return points.reshape((*shape, *self.point_shape))

    def invalid_reason(self, array):
        if not np.all(np.isfinite(array)):
            return "a coordinate is not a finite number"
        if not np.all(self.space.belongs(array, atol=1e-6)):
            return "geomstats finds that it does not belong to the space"
        return None

    def _geomstats_points(self, rng, number):
        """Random points of geomstats, shape (number, *point_shape)."""
        with _global_generator(rng):
            points = np.asarray(self.space.random_point(number))
        if np.iscomplexobj(points) or points.size != number * np.prod(self.point_shape, dtype=int):
            raise DataError(
                f"{self.name}: its random points are no real arrays of shape {self.point_shape}: "
                "choose a space whose points are"
            )
        return points.reshape((number, *self.point_shape))

    def _try(self, points, length=0.1):
        """Try the space at points (number, *point_shape), each verb after those that it needs.

        With steps of a ``length``.
        """
        # Results of broken functions are checked, so warnings about them would only repeat that.
        with np.errstate(all="ignore"):
            rng = np.random.default_rng(0)
            arrays = rng.standard_normal((2, *points.shape))
            self._settle("project_tangent", points, arrays[0])
            sizes, basis = self._tangent_basis(points)
            rank = np.sum(sizes > TOLERANCE * sizes[..., :1], axis=-1)
            if np.any(rank != self.dim):
                self._refuse(
                    f"its tangent spaces have dimension {rank[rank != self.dim][0]}, the space "
                    f"{self.dim}, as if points stood for classes"
                )
            chosen = basis[..., : self.dim, :].reshape((-1, self.dim, *self.point_shape))
            first, second = (
                self.vector(chosen, rng.standard_normal((len(points), self.dim))) for _ in range(2)
            )
            self._settle("inner", points, first, second)
            try:
                self.frame(points)
            except np.linalg.LinAlgError:
                self._refuse("its inner product is not positive, as if points stood for classes")
            first, second = (
                self.expand(length / self.norm(points, each)) * each for each in (first, second)
            )
            self._settle("exp", points, first)
            ends = self.exp(points, first)
            self._settle("log", points, ends)
            self._settle("transport", points, first, second)
            error = self.norm(points, self.log(points, ends) - first)
            if not np.all(error <= TOLERANCE):
                self._refuse(f"its logarithm undoes its exponential to {np.max(error):.2g} only")
            carried = self.transport(points, first, second)
            error = abs(self.norm(ends, carried) - length)
            if not np.all(error <= TOLERANCE):
                self._refuse(f"its transport changes lengths by {np.max(error):.2g}")

    def _settle(self, verb, *arrays):
        problem = self._batched[verb].settle(*arrays)
        if problem is not None:
            self._refuse(f"its {verb} {problem}")

    def _refuse(self, reason):
        raise DataError(f"{self.name} cannot be used, since {reason}: choose another metric")


class _Batched:
    """A function of points made to accept any batch, by a loop where geomstats needs one.

    It takes arrays of shape (number, *point_shape) or point_shape: of a ``looped`` one points are
    given one by one, as ``bare`` arrays of ``point_shape`` or else as batches of one.
    """

    def __init__(self, function, point_shape, output_shape):
        self.function = function
        self.point_shape = point_shape
        self.output_shape = output_shape
        self.looped, self.bare = False, True

    def __call__(self, *arrays):
        arrays = tuple(np.asarray(array, dtype=float) for array in arrays)
        batch = np.broadcast_shapes(
            *[array.shape[: array.ndim - len(self.point_shape)] for array in arrays]
        )
        flat = [
            np.broadcast_to(array, batch + self.point_shape).reshape((-1, *self.point_shape))
            for array in arrays
        ]
        result = self._loop(flat) if self.looped else self._whole(flat)
        return result.reshape(batch + self.output_shape)

    def _whole(self, flat):
        """Results (number, *output_shape) in one call."""
        number = len(flat[0])
        result = np.zeros(0) if number == 0 else np.asarray(self.function(*flat))
        return result.reshape((number, *self.output_shape))

    def _loop(self, flat):
        results = np.zeros((len(flat[0]), *self.output_shape))
        for index in range(len(results)):
            one = index if self.bare else slice(index, index + 1)
            single = np.asarray(self.function(*[array[one] for array in flat]))
            results[index] = single.reshape(self.output_shape)
        return results

    def settle(self, *arrays):
        """Choose between one call for a batch and a loop over the members of ``arrays``.

        Returns what is wrong with the function if neither works, else None.
        """
        expected = problem = None
        for self.bare in (True, False):
            try:
                expected = self._loop(arrays)
                break
            except FAILURES as failure:
                problem = problem or f"fails ({type(failure).__name__})"
        if expected is None:
            return problem
        if not np.all(np.isfinite(expected)):
            return "gives what is no finite number"
        allowed = TOLERANCE * np.max(np.abs(expected))
        # Batches of one, and those as long as an axis of a point, are most often mistaken.
        for number in {1, 2, *self.point_shape, len(arrays[0])}:
            try:
                found = self._whole([array[:number] for array in arrays])
            except FAILURES:
                found = np.inf
            if not np.all(abs(found - expected[:number]) <= allowed):
                self.looped = True
        return None


@contextmanager
def _global_generator(rng):
    """Seed the global generator, which geomstats draws from, and leave it as it was."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
