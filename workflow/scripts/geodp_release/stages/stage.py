"""Base class of the stages of a release: noise that a budget buys, and shares of a budget."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp_release.promise.budget import PURE, UNITS
from geodp_release.run.contributions import LOSS_LATTICE
from geodp_release.run.noise import (
    GaussianNoise,
    LaplaceNoise,
    MatrixGaussianNoise,
    MatrixLaplaceNoise,
)


@dataclass(frozen=True)
class Stage:
    """A private step of a release; its attributes are public.

    Subclasses define `what`, `noise`, `run` and `simulate`.
    """

    budget: Fraction
    unit: str = PURE

    # The stage in words, with its attributes in braces; and which of these have to be positive.
    what: ClassVar[str]
    positive: ClassVar[tuple[str, ...]] = ()
    # Whether this releases moments of covariates, or a residual length; or needs such a length.
    measures: ClassVar[bool] = False
    is_look: ClassVar[bool] = False
    is_relative = False

    def __post_init__(self):
        # Sums of fractions are exact, those of floats are rounded.
        object.__setattr__(self, "budget", Fraction(self.budget))
        if self.budget <= 0:
            raise DataError(f"a stage has budget {self.budget}: give each one above zero")
        if self.unit not in UNITS:
            raise DataError(f"a stage has budget unit {self.unit!r}: give {' or '.join(UNITS)}")
        for name in self.positive:
            if not 0.0 < (value := getattr(self, name)) < np.inf:
                raise DataError(f"a stage has {name} {value}: give a positive number")

    def noise(self, assumptions):
        """The exact `Noise` of whole numbers, from public inputs; `run` calls it once."""
        raise NotImplementedError

    def _added(self, change, times=1, matrix=False):
        """`Noise` of sums that differ by so many vectors, each of a norm ``change`` at most.

        None has an entry below zero, and one of two is taken away; of a positive semidefinite
        ``matrix`` the norm is the trace.
        """
        laplace, gaussian = (
            (MatrixLaplaceNoise, MatrixGaussianNoise) if matrix else (LaplaceNoise, GaussianNoise)
        )
        if self.unit == PURE:
            return laplace((times * change / self.budget,))
        return gaussian((times * change**2 / (2 * self.budget),))

    def run(self, before, assumptions, records, bits, shared=None):
        """What is released after this stage, a `Released` as ``before``; see `draw.run_plan`."""
        raise NotImplementedError

    def simulate(self, releases, rng):
        """`FlatReleases` after this stage: the same where no later stage goes by it."""
        return releases

    def describe(self):
        """The stage in words, for a release."""
        return f"{self.what.format(self)}, {self.unit} {float(self.budget):.4g}"

    def check(self, blocks):
        """Refuse states of 1 + k blocks that the stage is not made for."""
        del blocks


def checked_share(share, grain=LOSS_LATTICE):
    """A share as an exact fraction, a multiple of ``1 / grain`` between 0 and 1."""
    found = Fraction(share)
    if not 0 < found < 1 or grain % found.denominator:
        raise DataError(f"a stage has share {share}: give k/{grain} between 0 and 1, k whole")
    return found


def share_of(share, least, most, grain=1 << 12):
    """A share of a budget, rounded up to a multiple of ``1 / grain``, within limits; exact."""
    return min(max(Fraction(int(np.ceil(grain * min(share, 1.0))), grain), least), most)
