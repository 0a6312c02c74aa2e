"""Release of one private geodesic, with its guarantee.

A release holds public inputs, the draw and its guarantee.  Nothing else in it depends on the
records.  Random bits come from the operating system, without a seed.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from geodp.errors import DataError
from geodp.mechanisms.budgets import parse_budget
from geodp.mechanisms.certified import CertifiedDistribution, PublicInputs, map_records
from geodp.release.files import read_release, write_release
from geodp.release.hypotheses import ASSUMED, ReleaseGuarantee, check_hypotheses
from geodp.samplers import public_points
from geodp.samplers.integer_choice import system_bits


@dataclass(frozen=True, repr=False, eq=False)
class Release:
    """A private geodesic and its guarantee.

    Printed, it says in words what was released and what its guarantee assumes.

    Attributes
    ----------
    footpoint : ndarray, shape point_shape
        Point of the geodesic in the middle of the covariate's range.
    shooting_vector : ndarray, shape point_shape
        Tangent vector at the footpoint, as long as the geodesic over the whole range.
    public : PublicInputs
    guarantee : ReleaseGuarantee
    sampler : str
        Description of the sampler and its public settings.
    """

    footpoint: np.ndarray
    shooting_vector: np.ndarray
    public: PublicInputs
    guarantee: ReleaseGuarantee
    sampler: str

    def predict(self, covariates: ArrayLike) -> np.ndarray:
        """Predictions (m, *point_shape): points of the geodesic at covariates (m,)."""
        low, high = self.public.covariate_range
        manifold = self.public.manifold
        x = (np.asarray(covariates, dtype=float) - 0.5 * (low + high)) / (high - low)
        return manifold.exp(self.footpoint, manifold.expand(x) * self.shooting_vector)

    def save(self, path: str | Path) -> None:
        """Write the release to a new file, as JSON with all digits.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        DataError
            The file is there already or cannot be written, or the manifold is none of the library.
        """
        write_release(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "Release":
        """Read a release from a file that `save` wrote.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Release
            With the numbers of the one that was saved, bit by bit.

        Raises
        ------
        DataError
            The file cannot be read, or is not that of a release.
        """
        return cls(**read_release(path))

    def __repr__(self):
        public, epsilon = self.public, self.guarantee.epsilon
        return f"<Release on {public.manifold.name}: {public.number} subjects, epsilon {epsilon}>"

    def __str__(self):
        public = self.public
        low, high = public.covariate_range
        length = float(public.manifold.norm(self.footpoint, self.shooting_vector))
        assumed = [
            _wrapped(f"  {each.name}: {each.statement}")
            for each in self.guarantee.hypotheses
            if each.state == ASSUMED
        ]
        return "\n".join(
            [
                _wrapped(
                    f"A geodesic on {public.manifold.name}, released with {self.guarantee.words()}."
                ),
                "",
                f"Footpoint, where the covariate is {0.5 * (low + high):g}:",
                _numbers(self.footpoint),
                f"Shooting vector, from covariate {low:g} to {high:g}, of length {length:.6g}:",
                _numbers(self.shooting_vector),
                "",
                "No code can check these assumptions; whoever released it answers for them:",
                *assumed,
                "",
                "Public inputs, chosen without looking at the data:",
                f"  number of subjects: {public.number}",
                f"  range of the covariate: {low:g} to {high:g}",
                f"  footpoints within {public.footpoint_radius:g} of the centre",
                _numbers(public.centre),
                f"  shooting vectors of length {public.shooting_vector_length:g} at most",
                f"  scales: gradient {public.gradient_scale:.6g}, loss {public.loss_scale:.6g}, "
                f"offset {public.loss_offset:.6g}",
                "",
                "Drawn by:",
                *(_wrapped(f"  {stage}") for stage in self.sampler.split(", then ")),
            ]
        )


def _wrapped(text):
    """Text in lines of at most 100 characters, indented from the second on."""
    return textwrap.fill(text, 100, subsequent_indent="    ", break_long_words=False)


def _numbers(array):
    """Numbers of an array as indented lines; the middle of a long one is left out."""
    text = np.array2string(array, precision=6, suppress_small=True, threshold=36, edgeitems=2)
    return "\n".join(f"    {line}" for line in text.splitlines())


def release_geodesic(
    public: PublicInputs,
    covariates: ArrayLike,
    points: ArrayLike,
    epsilon: str,
    stages: Sequence[public_points.Stage],
    subjects: ArrayLike | None = None,
) -> Release:
    """Draw one geodesic under differential privacy.

    Parameters
    ----------
    public : PublicInputs
    covariates : ndarray, shape (n,)
    points : ndarray, shape (n, *point_shape)
    epsilon : str
        The budget as decimal text, which is exact.
    stages : sequence of `public_points.Stage`
        Those of `plan_release`; their budgets add up to epsilon.
    subjects : array, shape (n,), optional
        Labels of the subjects, of which each must have one record; see `map_records`.

    Returns
    -------
    Release

    Raises
    ------
    DataError
        Inputs that cannot be used, such as several records of a subject, or a hypothesis of the
        theorem that fails.
    """
    budget = parse_budget(epsilon, "epsilon")
    public_points.check_stages(stages)
    if sum(stage.epsilon for stage in stages) != Fraction(budget):
        raise DataError("the budgets of the stages do not add up to epsilon: correct them")
    certified = CertifiedDistribution(public, map_records(public, covariates, points, subjects))
    if certified.records.covariates.ndim != 1:
        raise DataError("a release is of one data set: give covariates as one row of numbers")
    state = public_points.draw(certified, stages, system_bits)[0]
    by_stage = [stage.rescaled(certified) for stage in stages]
    guarantee = ReleaseGuarantee(budget, check_hypotheses(by_stage, state))
    if not guarantee.holds:
        raise DataError(f"nothing is released, since there is {guarantee.words()}")
    described = ", then ".join(stage.describe(public) for stage in stages)
    footpoint, shooting_vector = certified.space.parts(state)
    return Release(footpoint, shooting_vector, public, guarantee, described)
