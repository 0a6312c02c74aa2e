"""Private draws: the stages of a plan, run on records, with exact arithmetic and random bits."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp_release.run.clipping_coordinates import ClippingCoordinates
from geodp_release.run.covariate_moments import moment_matrix
from geodp_release.stages.covariates import Covariates


@dataclass(frozen=True)
class Released:
    """What stages released: all of it may be known."""

    state: np.ndarray  # (1 + k, *point_shape): footpoint and shooting vectors.
    number: float  # Of subjects, exact or noisy.
    moments: np.ndarray  # Of the covariates, as `geodp_release.run.covariate_moments` has them.
    # Of a coordinate (1 + k, 1 + k) of the errors of the state, as the stages expect it.
    covariance: np.ndarray | None = None
    # Standard deviations of true moments about these, where they are noisy.
    uncertainty: np.ndarray | None = None
    # Quantiles of residual lengths about states, in the order of their stages.
    lengths: tuple[float, ...] = ()
    far: float | None = None  # Number of subjects, by parts of their records, far away.
    # Numbers of subjects, by the parts of their records, with long contributions, in doublings; or
    # one, with residuals beyond the threshold.
    tails: tuple[float, ...] = ()
    # Upper triangles of the matrices of `geodp_release.stages.ProductsStage`, in their order.
    products: tuple[tuple[float, ...], ...] = ()
    # How far from the centre, and how long, footpoint and shooting vectors (1 + k,) were after the
    # last step, in radii of the support, before they were brought back to it; zero after no step.
    reached: Any = 0.0
    # What mean gradients of Huber's loss keep of a small error.
    within: float | None = None
    is_whole: bool = False  # Whether coordinates are about the whole ranges of covariates.

    @property
    def moment_matrix(self):
        """Matrix (1 + k, 1 + k) of these `moments`."""
        return moment_matrix(self.moments)

    @property
    def coordinates(self):
        """`ClippingCoordinates` of steps that follow."""
        if self.is_whole:
            return ClippingCoordinates.whole(len(self.state) - 1)
        return ClippingCoordinates.about(self.moments)


def run_plan(plan, records, bits, shared=None):
    """Run the stages of a `ReleasePlan` on `SubjectRecords`.

    ``bits`` gives for a count an integer of so many random bits, such as
    `geodp.samplers.integer_choice.system_bits`.  ``shared`` has choices that follow no step, and
    the ``losses`` of points: studies that draw several times from the same records give the same
    dict, empty at first, so that points are scored once; or for other plans only its losses.
    """
    assumptions = plan.assumptions
    found = Released(
        np.array(assumptions.support.origin),
        float(assumptions.subjects),
        Covariates.assumed(assumptions).moments,
    )
    for stage in plan.stages:
        found = stage.run(found, assumptions, records, bits, shared)
    if plan.ways:
        for stage in plan.path(found.lengths).stages[len(plan.stages) :]:
            found = stage.run(found, assumptions, records, bits, shared)
    return found
