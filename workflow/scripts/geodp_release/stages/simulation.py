"""Simulated releases in flat space, from public assumptions alone.

The model: records about predictions with independent normal residuals, of one scale or of one that
grows with covariates; a true footpoint and shooting vectors of uniform direction and uniform length
within the support; no curvature.
Each stage sees the expected contribution of the records, given the covariates, plus its own noise.
The error of the estimate that a release without noise would give is added at the end.  A few
failures may decide a mean squared error: choices can be drawn with flatter probabilities, and
releases then have weights.

Many releases are simulated at once, each stage by its method `simulate`.  An error is the truth
minus the state, of footpoint and shooting vectors.  In memory releases are the last axis, along
which arithmetic is fastest.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from geodp_release.run.clipping_coordinates import ClippingCoordinates
from geodp_release.run.covariate_moments import inverses, moment_matrix, products
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.residual_tables import (
    clipped_moments,
    in_tables,
    level_of,
    places_in_tables,
)

# Attributes of `FlatReleases` that may have an entry for each release.
EACH = (
    *("truth", "state", "deviates", "moments", "weight", "typical", "covariance"),
    *("reached", "doublings", "length", "far", "last_level", "counted", "excess", "left"),
)


def afforded(number, size, least=128, small=10_000):
    """Number of simulated releases by `Assumptions` of a ``size`` in place of so many ``small``.

    At ``least`` so many: squared errors in many dimensions differ little between releases.
    """
    return min(number, max(least, number * small // size))


@dataclass(frozen=True, eq=False)
class FlatReleases:
    """Simulated releases after some stages.

    Attributes of all releases begin with an axis of them: `EACH` names them.
    """

    assumptions: Any
    radii: np.ndarray  # (1 + k,), of the support.
    truth: np.ndarray  # (releases, 1 + k, dim), as the state.
    state: np.ndarray
    covariates: Covariates  # As they are; `assumptions` says what they are assumed to be.
    deviates: np.ndarray  # Standard normal numbers, of which `deviations` are made.
    moments: np.ndarray  # Of the covariates, as assumed or as they were released.
    weight: np.ndarray  # In means, which are of the choices' own probabilities then.
    tails: float  # Part of choices with flatter probabilities, to see what rarely fails.
    typical: Any  # Root mean squared length of a residual, or one for each.
    reached: Any = 0.0  # As in `geodp_release.stages.draw.Released`.
    covariance: np.ndarray | None = None  # See `geodp_release.stages.NoisyStep.change`.
    uncertainty: np.ndarray | None = None  # As in `Released`; the same of all.
    last_level: Any = None  # At which the last step clipped contributions, or one for each.
    # Of residuals over the range of each covariate (releases, k), which are of one scale else.
    doublings: np.ndarray | None = None
    counted: Any = 1.0  # Number of subjects over what was released of it, (releases, 1, 1).
    length: np.ndarray | None = None  # The residual length that was released last.
    far: np.ndarray | None = None  # Noisy number of records far away.
    excess: Any = 0.0  # Mean length that clipping of the last step takes from residuals, at most.
    # Root (releases, 1 + k, 1 + k) of the covariance of what the last step leaves, in each
    # direction, of errors before it that residuals unlike normal ones have made.
    left: np.ndarray | None = None
    is_whole: bool = False  # As in `Released`; residuals are clipped then, not contributions.
    within: float | None = None  # As in `Released`, where it was released.
    kept: dict = field(default_factory=dict)  # Points of the support, by their number.

    def __post_init__(self):
        for name in EACH:
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and not value.flags.f_contiguous:
                object.__setattr__(self, name, np.asfortranarray(value))

    @classmethod
    def start(cls, assumptions, releases, rng, tails=0.0, size=None, doublings=None):
        """Before the first stage: the state is in the middle of the support.

        The truth is in balls of `Assumptions.sizes`, or of a ``size`` or sizes (releases,), in
        parts of the support.  Residuals have all numbers of ``doublings`` up to the given one, over
        the ranges of all covariates together.
        """
        radii = assumptions.support.radii
        normal = rng.normal(size=(releases, len(radii), assumptions.manifold.dim))
        # In many dimensions a uniform point of a ball is always near its edge, where nobody who
        # chooses a support expects the truth.
        sizes = assumptions.sizes(releases) if size is None else np.broadcast_to(size, releases)
        sizes = radii * sizes[:, None]
        length = sizes[..., None] * rng.random((releases, len(radii), 1))
        truth = normal * (length / np.linalg.norm(normal, axis=-1, keepdims=True))
        assumed, count = Covariates.assumed(assumptions), assumptions.number_of_covariates
        if doublings is not None:
            doublings = rng.uniform(-doublings, doublings, (releases, count)) / max(count, 1)
        number = len(assumed.moments)
        return cls(
            assumptions,
            radii,
            truth=truth,
            state=np.zeros_like(truth),
            covariates=assumed,
            deviates=rng.normal(size=(releases, number)),
            moments=np.broadcast_to(assumed.moments, (releases, number)),
            weight=np.ones(releases),
            tails=tails,
            typical=assumptions.typical_length(releases),
            doublings=doublings,
        )

    @property
    def dim(self):
        return self.truth.shape[-1]

    @property
    def number(self):
        """Number of subjects."""
        return self.assumptions.subjects

    @property
    def weights(self):
        """Weights (1 + k,) of squared errors of the parts of a state in that of predictions."""
        return Covariates.assumed_squares(self.assumptions)

    @cached_property
    def coordinates(self):
        """`ClippingCoordinates` of steps, as if all had the mean of these moments."""
        if self.is_whole:
            return ClippingCoordinates.whole(len(self.radii) - 1)
        return ClippingCoordinates.about(np.average(self.moments, axis=0, weights=self.weight))

    @cached_property
    def deviations(self):
        """Of the sample's moments of covariates from their expectation, as `deviates`."""
        if not np.any(self.deviates):
            return np.zeros(self.deviates.shape)
        found = products(self.covariates.root, self.deviates[..., None])[..., 0]
        return found / np.sqrt(self.number)

    @cached_property
    def moment_matrix(self):
        """Matrices (releases, 1 + k, 1 + k) of these `moments`."""
        return moment_matrix(self.moments)

    @cached_property
    def matrix_of_deviations(self):
        """Matrices (releases, 1 + k, 1 + k) of the sample's moments less the expected ones."""
        away = moment_matrix(self.deviations)
        away[:, 0, 0] = 0.0
        return away

    @cached_property
    def errors(self):
        """Truth minus state (releases, 1 + k, dim)."""
        return self.truth - self.state

    def stepped(self, state, **found):
        """Releases at a new state, brought back to the support, with what else a step found."""
        # Cached properties of `FlatReleases` that do not depend on the state: a step keeps them.
        lasting = (
            *("moment_matrix", "matrix_of_deviations", "coordinates", "deviations"),
            *("scales_at_nodes", "shifts_at_nodes"),
        )
        reached = np.linalg.norm(state, axis=-1) / self.radii
        state = state / np.maximum(reached, 1.0)[..., None]
        after = replace(self, state=state, reached=reached, **found)
        after.__dict__.update({name: vars(self)[name] for name in lasting if name in vars(self)})
        return after

    def drawn(self, rows):
        """Only some of the releases, by a mask or indices."""
        chosen = {name: getattr(self, name)[rows] for name in EACH if np.ndim(getattr(self, name))}
        chosen["covariates"] = self.covariates.drawn(rows)
        return replace(self, **chosen, kept={})

    @classmethod
    def joined(cls, parts):
        """Releases one after the other that went different ways from the same beginning."""
        joined = {
            name: np.concatenate([getattr(each, name) for each in parts])
            for name in EACH
            if np.ndim(getattr(parts[0], name))
        }
        joined["covariates"] = Covariates.joined([each.covariates for each in parts])
        return replace(parts[0], **joined, kept={})

    @cached_property
    def at_nodes(self):
        """Errors (m, releases, dim) of predictions at nodes, and `places_in_tables` of squares."""
        first, *others = np.moveaxis(self.errors, 1, 0)
        columns = np.moveaxis(self.covariates.by_release[1], 1, 0)[: len(others), ..., None]
        errors = sum((x * other for x, other in zip(columns, others, strict=True)), first[None])
        lengths = self.typical * self.scales_at_nodes
        return errors, places_in_tables(np.einsum("mnd,mnd->mn", errors, errors) / lengths**2)

    @cached_property
    def scales_at_nodes(self):
        """Root mean squared residuals (m, 1 or releases) at nodes, in parts of `typical`."""
        weights, values = self.covariates.by_release
        if self.doublings is None:
            return np.ones((len(weights), 1))
        sizes = np.exp2(np.sum(values[:, : self.doublings.shape[1]] * self.doublings.T, axis=1))
        return sizes / np.sqrt(np.sum(weights * sizes**2, axis=0))

    @property
    def lengths_at_nodes(self):
        """Norms (m, 1 or releases) that are clipped, of residuals of length one at nodes."""
        if self.is_whole:
            return np.ones((len(self.covariates.nodes), 1))
        return self.covariates.lengths(self.coordinates)

    @property
    def clipped_square(self):
        """Typical mean square of residuals as the last step clipped them, in parts of all."""
        squares = clipped_moments(self.dim)[1, in_tables(self.last_level - self.shifts_at_nodes)]
        return float(np.median(squares))

    @cached_property
    def shifts_at_nodes(self):
        """By how many levels (m, 1 or releases) contributions at nodes are longer than `typical`.

        So far below the level at which contributions are clipped that of their residuals is.
        """
        return level_of(self.lengths_at_nodes * self.scales_at_nodes, 1.0)

    @cached_property
    def _estimates(self):
        """Covariances (1 or releases, 1 + k, 1 + k) of the estimate of one record of length one.

        By what clipping leaves of means and squares at nodes.
        """
        shifts, sizes = self.shifts_at_nodes, self.scales_at_nodes
        if self.last_level is None:
            means, squares = np.ones_like(shifts), np.full(shifts.shape, 2.0)
        else:
            means, squares = clipped_moments(self.dim)[:, in_tables(self.last_level - shifts)]
        inverse = inverses(self.covariates.weighted_matrix(means))
        squares = self.covariates.weighted_matrix(squares * sizes**2)
        return products(inverse, squares, inverse) / self.dim

    @property
    def estimate_covariance(self):
        """Of a coordinate of the estimate without noise (..., 1 + k, 1 + k), by clipped residuals.

        After a choice among points, about that of the estimate of truncated least squares.
        """
        scales = np.square(self.typical) / self.number
        return self._estimates * np.reshape(scales, (-1, 1, 1))

    @property
    def estimate_squares(self):
        """Mean squared errors (..., 1 + k) of the estimate that a release without noise gives."""
        return self.dim * np.diagonal(self.estimate_covariance, axis1=-2, axis2=-1)

    @property
    def subject_squares(self):
        """Squared errors (releases,) of predictions over where subjects are."""
        matrix = self.covariates.matrix
        squares = np.einsum("nbd,...bc,ncd->n", self.errors, matrix, self.errors)
        parts = np.sum(matrix * self._estimates, axis=(-2, -1))
        return squares + self.dim * parts * np.square(self.typical) / self.number

    @property
    def band_squares(self):
        """Squares (releases,) in proportion to those of bands' radii over where subjects are.

        With what is left of errors that residuals unlike normal ones make, and a quarter of what
        clipping takes at most: of radii of bands it is half.
        """
        squares = self.subject_squares
        if self.left is not None:
            left = np.einsum("nbi,...bc,nci->n", self.left, self.covariates.matrix, self.left)
            squares = squares + self.dim * left
        # The mean leverage of a record is one for each part of a state.
        clipped = np.sqrt(len(self.radii)) * self.excess
        return np.square(np.sqrt(squares) + 0.25 * clipped)

    @property
    def range_squares(self):
        """Squared errors (releases,) of predictions over the covariates' whole ranges."""
        return (np.sum(self.errors**2, axis=-1) + self.estimate_squares) @ self.weights

    def mean(self, squares):
        """Mean of squared errors (releases,): a residual scale that is not known may be any.

        Then it is the geometric mean of those of three groups by residual scale.
        """
        if np.ptp(self.typical) == 0.0:
            return float(np.average(squares, weights=self.weight))
        order, number = np.argsort(self.typical, kind="stable"), len(self.weight)
        # In units of residuals, so that the largest of a group does not decide alone.
        parts = self.weight * squares / self.typical**2, self.weight, 2.0 * np.log(self.typical)
        starts = -(-np.arange(3) * number // 3)
        relative, weights, sizes = np.add.reduceat(np.array(parts)[:, order], starts, axis=1)
        sizes /= np.diff(starts, append=number)
        return float(np.exp(np.mean(sizes + np.log(relative / weights))))

    @property
    def curve(self):
        """Mean squared error of predictions over where subjects are."""
        return self.mean(self.subject_squares)
