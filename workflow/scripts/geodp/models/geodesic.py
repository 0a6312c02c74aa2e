"""Geodesic regression: the model ``y ~ Exp(p, x_1 v_1 + ... + x_k v_k)`` on a manifold.

Without a covariate it is the Frechet mean or, with the distance as loss, the geometric median.
With one it is geodesic regression (Fletcher 2011; Kulkarni and Soto, eq. 3 to 6).  On Euclidean
space it is linear regression.

Everything is vectorised over data sets and chains: parameters have shape (*data_sets, *chains,
*point_shape), covariates (*data_sets, n, k) and points (*data_sets, n, *point_shape).  With one
covariate its axis may be left out, and without one covariates may be ``None``.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from geodp.data.large import settle
from geodp.manifolds.manifold import Manifold
from geodp.models import fitting
from geodp.models.blocks import FOOTPOINT, block_names
from geodp.models.losses import Loss, SquaredDistance
from geodp.models.residuals import Residuals, kind_of

# Numbers one array of a chunk may hold: a few such arrays fit a processor's cache.
CHUNK = 1 << 16


@dataclass(frozen=True)
class EnergyGradient:
    """Energy (*data_sets, *chains), and gradients (*data_sets, *chains, *point_shape) by block.

    With a normal matrix also the largest squared residuals, shaped as the energy; and, where the
    Hessian of the distances is known and records fit into one chunk, the residuals.
    """

    energy: np.ndarray
    gradient: dict
    normal: np.ndarray | None = None
    largest: np.ndarray | None = None
    residuals: Residuals | None = None


@dataclass(frozen=True)
class Fit(fitting.Minimum):
    """A model fitted to each data set: a `Minimum` without axes of chains.

    Of one data set that was given without a leading axis no result has one.

    Attributes
    ----------
    model : GeodesicModel
        That was fitted.
    """

    model: "GeodesicModel" = field(repr=False)

    @property
    def footpoint(self) -> np.ndarray:
        """The footpoint, shape (*data_sets, *point_shape)."""
        return self.parameters[FOOTPOINT]

    @property
    def shooting_vector(self) -> np.ndarray:
        """The shooting vector of a model with one covariate."""
        return self.parameters["shooting_vector"]

    def predict(self, covariates: ArrayLike) -> np.ndarray:
        """Points (*data_sets, m, *point_shape) of the fitted model; see `GeodesicModel.predict`."""
        return self.model.predict(self.parameters, covariates)

    def take(self, data_sets) -> "Fit":
        """The same for some of the data sets, given as a slice, or for one, given by its index."""
        arrays = ("energy", "gradient_norm", "converged", "largest_residual")
        return replace(
            self,
            parameters={block: value[data_sets] for block, value in self.parameters.items()},
            **{name: getattr(self, name)[data_sets] for name in arrays},
        )


@dataclass(frozen=True)
class GeodesicModel:
    """Model ``y ~ Exp(p, x_1 v_1 + ... + x_k v_k)`` with a loss of the residual.

    Attributes
    ----------
    manifold : Manifold
    number_of_covariates : int
        k, 0 or more.
    loss : Loss
    weights : ndarray, shape (n,), optional
        Of the records in the energy; they have mean one, and all are one unless given.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.manifolds.euclidean import Euclidean
    >>> model = GeodesicModel(Euclidean(1), number_of_covariates=1)
    >>> found = model.fit(np.array([0.0, 1.0, 2.0]), np.array([[1.0], [3.0], [5.0]]))
    >>> found.footpoint, found.shooting_vector
    (array([1.]), array([2.]))
    >>> found.predict([1.5, 4.0])
    array([[4.],
           [9.]])
    """

    manifold: Manifold
    number_of_covariates: int = 1
    loss: Loss = field(default_factory=SquaredDistance)
    weights: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def blocks(self):
        """Names of the parameters, footpoint first."""
        return block_names(self.number_of_covariates)

    def parameters(self, *arrays):
        """Parameters as a dict by block, from one array a block."""
        return dict(zip(self.blocks, arrays, strict=True))

    def aligned(self, covariates, points):
        """Covariates as an array of shape (*data_sets, n, k); ValueError if points do not match."""
        shape = self.manifold.batch_shape(points)
        if covariates is None:
            covariates = np.zeros((*shape, 0))
        covariates = np.asarray(covariates)
        if self.number_of_covariates == 1 and covariates.ndim == len(shape):
            covariates = covariates[..., None]
        if covariates.shape != (*shape, self.number_of_covariates):
            raise ValueError(
                f"covariates have shape {covariates.shape} and points {points.shape}: give "
                f"covariates of shape {(*shape, self.number_of_covariates)}"
            )
        return covariates

    def energy_gradient(
        self, parameters, covariates, points, blocks=None, normal=False, matrices=True
    ):
        """Energy, the mean loss, and its gradients (Kulkarni and Soto, eq. 3, 5 and 6).

        By least squares the energy is ``1/(2n) sum d^2``.

        Parameters
        ----------
        parameters : dict of ndarray, shape (*data_sets, *chains, *point_shape)
        covariates : ndarray, shape (*data_sets, n, k)
        points : ndarray, shape (*data_sets, n, *point_shape)
        blocks : sequence of str, optional
            Blocks of the gradient to compute: empty for the energy alone; all unless given.
        normal : bool
            Whether to compute what `newton_steps` needs besides, and the largest residual; of it
            the latter alone without ``matrices``.

        Returns
        -------
        EnergyGradient
        """
        manifold, loss = self.manifold, self.loss
        blocks = self.blocks if blocks is None else blocks
        x = self.aligned(covariates, points)
        kind, number = kind_of(manifold, self.number_of_covariates), x.shape[-2]
        number_of_all = number * int(np.prod(manifold.batch_shape(parameters[FOOTPOINT])))
        whole: list = []

        def part(some, records):
            settle(x, points)
            counts = None if self.weights is None else self.weights[records[-1]]

            def weighted(values):
                return values if counts is None else values * counts

            if not blocks:
                squares = kind.squares_of(manifold, some, x[records], points[records])
                return [np.sum(weighted(loss.values(squares)), axis=-1)]
            found = kind.of(manifold, some, x[records], points[records])
            squares = found.squared_distances
            weights = loss.weights(squares)
            if counts is not None:
                weights = weighted(np.ones(squares.shape) if weights is None else weights)
            sums = [np.sum(weighted(loss.values(squares)), axis=-1)]
            if normal:
                sums += [np.max(squares, axis=-1)]
            if normal and matrices:
                sums += [found.normal(blocks, weights)]
                if weights is None and found.bends and squares.size == number_of_all:
                    whole.append(found)
            return [*sums, *(-found.adjoint_sums(block, weights) for block in blocks)]

        size = kind.record_size(manifold, normal)
        merge = {1: np.maximum} if normal else {}
        energy, *sums = sum_over_records(
            manifold, parameters, x.shape[:-1], part, size=size, merge=merge
        )
        gradients = sums[-len(blocks) :] if blocks else []
        return EnergyGradient(
            energy / number,
            {block: total / number for block, total in zip(blocks, gradients, strict=True)},
            normal=sums[1] / number if normal and matrices else None,
            largest=sums[0] if normal else None,
            residuals=whole[0] if whole else None,
        )

    def residual_distances(self, parameters, covariates, points):
        """Distances of the records to their predictions; shape (*data_sets, *chains, n)."""
        manifold = self.manifold
        x = self.aligned(covariates, points)
        number = x.shape[-2]
        distances = np.empty((*manifold.batch_shape(parameters[FOOTPOINT]), number))
        before = (slice(None),) * (x.ndim - 2)
        kind = kind_of(manifold, self.number_of_covariates)
        step = max(1, CHUNK // (kind.record_size(manifold) * max(1, distances.size // number)))
        for start in range(0, number, step):
            some = (*before, slice(start, start + step))
            squares = kind.squares_of(manifold, parameters, x[some], points[some])
            distances[..., some[-1]] = np.sqrt(squares)
        return distances

    def predict(self, parameters: dict, covariates: ArrayLike) -> np.ndarray:
        """Points ``Exp(p, x_1 v_1 + ... + x_k v_k)``.

        Parameters
        ----------
        parameters : dict of ndarray, shape (*batch, *point_shape)
        covariates : ndarray, shape (m, k) or (*batch, m, k); (m,) with one covariate

        Returns
        -------
        ndarray, shape (*batch, m, *point_shape)
        """
        x = np.asarray(covariates, dtype=float)
        if self.number_of_covariates == 1 and x.ndim == 1:
            x = x[:, None]
        if x.ndim < 2 or x.shape[-1] != self.number_of_covariates:
            raise ValueError(
                f"covariates have shape {x.shape}: give rows of {self.number_of_covariates} "
                "covariates"
            )
        footpoint, *vectors = parameters.values()
        return self.manifold.ends(footpoint, vectors, x)

    def retract(self, parameters, steps):
        """Add steps to shooting vectors, then move the footpoint and transport all vectors along.

        Parameters and steps, which are tangent at the footpoint, are dicts of ndarray of shape
        (*batch, *point_shape), by block.
        """
        manifold = self.manifold
        moved = {
            block: value + steps[block] if block in steps else value
            for block, value in parameters.items()
        }
        if FOOTPOINT not in steps:
            return moved
        footpoint, step = parameters[FOOTPOINT], steps[FOOTPOINT]
        del moved[FOOTPOINT]
        carried = {
            block: manifold.transport(footpoint, step, value) for block, value in moved.items()
        }
        return {FOOTPOINT: manifold.exp(footpoint, step), **carried}

    def newton_steps(self, parameters, found, damping, slow=False):
        """Steps (*data_sets, *chains, *point_shape) by block that lower the energy.

        Minus the inverse of an approximate Hessian, applied to the gradient.  The Hessian is the
        mean over records of ``J_i^T J_i`` (Gauss-Newton), with J_i the derivative of the prediction
        and records weighted as the loss does.  On matrices it can be that of ``J_i^T H_i J_i``,
        with H_i the Hessian of half the squared distance, which is no identity in curved spaces.

        Parameters
        ----------
        parameters : dict of ndarray, shape (*data_sets, *chains, *point_shape)
        found : EnergyGradient
            At the parameters, with a normal matrix.
        damping : ndarray, shape (*data_sets, *chains)
            Levenberg-Marquardt shift, relative to the size of the Hessian.
        slow : bool
            Whether Gauss-Newton steps converge slowly, so that others may cost more.
        """
        kind = kind_of(self.manifold, self.number_of_covariates)
        return kind.steps(self.manifold, parameters, found, damping, slow)

    def hessian(self, parameters, covariates, points, blocks=None, difference_step=1e-5):
        """Full Hessian (*data_sets, *chains, D, D) of the energy, by differences of the gradient.

        ``D = dim * len(blocks)``: it is in the frame at the footpoint, block after block.  Where a
        loss has no second derivative the entries are means of one-sided derivatives.  At the
        default step truncation and rounding are of order 1e-10 each.
        """
        manifold = self.manifold
        blocks = self.blocks if blocks is None else blocks
        footpoint = parameters[FOOTPOINT]
        frame = manifold.frame(footpoint)
        axis = -manifold.point_ndim - 1
        wide = {
            block: np.broadcast_to(np.expand_dims(value, axis), frame.shape)
            for block, value in parameters.items()
        }
        start = wide[FOOTPOINT]
        matrix = []
        for moved in blocks:
            sides = []
            for sign in (1.0, -1.0):
                step = sign * difference_step * frame
                end = self.retract(wide, {moved: step})
                found = self.energy_gradient(end, covariates, points, blocks)
                gradients = found.gradient.values()
                if moved == FOOTPOINT:
                    back = -manifold.transport(start, step, step)
                    gradients = [manifold.transport(end[moved], back, each) for each in gradients]
                wide_frame = np.expand_dims(frame, axis - 1)
                columns = [manifold.coordinates(start, each, wide_frame) for each in gradients]
                sides.append(np.concatenate(columns, axis=-1))
            matrix.append((sides[0] - sides[1]) / (2.0 * difference_step))
        joined = np.concatenate(matrix, axis=-2)
        return 0.5 * (joined + np.swapaxes(joined, -1, -2))

    minimise = fitting.minimise

    def fit(
        self,
        covariates: ArrayLike | None,
        points: ArrayLike,
        tolerance: float = 1e-10,
        max_iterations: int = 100,
    ) -> Fit:
        """Parameters of least energy (Kulkarni and Soto, eq. 4), from an automatic start.

        Data sets of one size may be fitted together, with leading axes; one alone needs none.

        Parameters
        ----------
        covariates : ndarray, shape (*data_sets, n, k); (*data_sets, n) with one; None without any
        points : ndarray, shape (*data_sets, n, *point_shape)
        tolerance : float
            Gradient norm to reach, relative to the data's scale.
        max_iterations : int

        Returns
        -------
        Fit
            ``converged`` says, data set by data set, whether ``tolerance`` was reached, or as much
            of it as rounding lets be.

        Raises
        ------
        FitError
            Fewer than k + 2 records (1 without a covariate), or covariates that do not vary
            independently of one another.
        DataError
            A covariate or a coordinate of a point is not a finite number.
        CutLocusError
            A record near the cut locus of its prediction, where the residual has no sure direction,
            unless the loss bounds its pull or there is no covariate; see
            `geodp.models.fitting.check_cut_locus`.
        """
        found = fitting.fit(self, covariates, points, tolerance, max_iterations)
        return Fit(**vars(found), model=self)


def sum_over_records(manifold, parameters, data_shape, part, arrays=(), size=1, merge=None):
    """Sums over records at each state (*data_sets, *chains) of a batch of parameters, by block.

    ``part`` sums over a chunk of records at a chunk of chains: from parameters (*data_sets,
    some_chains, *point_shape), the index of the records and ``arrays`` to a list of arrays whose
    first axes are (*data_sets, some_chains).  The shape of data is (*data_sets, n); ``arrays``
    broadcast to (*data_sets, *chains).  The largest array of ``part`` holds ``size`` numbers for
    one record.  ``merge`` has, by index of a result, what takes the place of a sum, such as
    ``np.maximum`` of numbers that are not negative.
    """
    data_ndim = len(data_shape) - 1
    number = data_shape[-1]
    batch = manifold.batch_shape(parameters[FOOTPOINT])
    flat = (*batch[:data_ndim], int(np.prod(batch[data_ndim:], dtype=int)))
    states = {
        block: value.reshape(flat + manifold.point_shape) for block, value in parameters.items()
    }
    arrays = [np.broadcast_to(array, batch).reshape(flat) for array in arrays]
    before = (slice(None),) * data_ndim
    data_sets = int(np.prod(flat[:-1], dtype=int)) * size
    record_step = min(number, max(1, CHUNK // data_sets))
    chain_step = max(1, CHUNK // (record_step * data_sets))
    if flat[-1] <= chain_step and number <= record_step:
        sums = part(states, (*before, slice(0, number)), *arrays)
        return [total.reshape((*batch, *total.shape[data_ndim + 1 :])) for total in sums]
    totals: list = []
    for chain in range(0, max(1, flat[-1]), chain_step):
        chains = (*before, slice(chain, chain + chain_step))
        some = {block: value[chains] for block, value in states.items()}
        for record in range(0, number, record_step):
            records = slice(record, record + record_step)
            sums = part(some, (*before, records), *(array[chains] for array in arrays))
            if not totals:
                totals = [
                    np.zeros((*flat, *found.shape[data_ndim + 1 :]), dtype=found.dtype)
                    for found in sums
                ]
            for index, (total, found) in enumerate(zip(totals, sums, strict=True)):
                add = (merge or {}).get(index, np.add)
                total[chains] = add(total[chains], found)
    return [total.reshape((*batch, *total.shape[data_ndim + 1 :])) for total in totals]
