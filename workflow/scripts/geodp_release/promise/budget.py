"""Privacy budgets of releases: pure, or zero-concentrated with its translation to (eps, delta)."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.mechanisms.budgets import parse_budget

PURE, CONCENTRATED = "epsilon", "rho"
UNITS = (PURE, CONCENTRATED)


@dataclass(frozen=True)
class PrivacyBudget:
    """An amount of privacy loss that a release may spend; a `DataError` if it is out of range.

    Attributes
    ----------
    amount : Decimal
        Given as decimal text, which is exact.
    unit : {"epsilon", "rho"}
        Pure differential privacy, or zero-concentrated differential privacy.
    delta : Decimal, optional
        With rho: the delta for which the guarantee is also stated as (eps, delta).
    epsilon, rho : str, optional
        The amount by the name of its unit, in place of both.
    """

    amount: Any
    unit: str = PURE
    delta: Any = None

    def __init__(self, amount=None, unit=PURE, delta=None, *, epsilon=None, rho=None):
        given = [amount is not None, epsilon is not None, rho is not None]
        if sum(given) != 1:
            raise DataError('budget: give one amount, of epsilon or rho, such as epsilon="1"')
        if not given[0]:
            amount, unit = (epsilon, PURE) if given[1] else (rho, CONCENTRATED)
        for name, value in (("amount", amount), ("unit", unit), ("delta", delta)):
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self):
        # By itself, since Pydantic calls it alone where it reads a document.
        if self.unit not in UNITS:
            raise DataError(f"budget: its unit is {self.unit!r}: give one of {', '.join(UNITS)}")
        object.__setattr__(self, "amount", parse_budget(self.amount, self.unit))
        if self.unit == PURE and self.delta is not None:
            raise DataError("budget: delta goes with rho: leave it out, or give rho")
        if self.unit == CONCENTRATED:
            if self.delta is None:
                raise DataError('budget: rho needs a delta, such as "1e-6": give it')
            object.__setattr__(self, "delta", parse_budget(self.delta, "delta"))
            if self.delta > (most := Decimal("1e-3")):
                raise DataError(f"delta: {self.delta} is above {most}: give a smaller one")

    @property
    def exact(self) -> Fraction:
        """The amount as a fraction."""
        return Fraction(self.amount)

    @property
    def epsilon(self) -> float:
        """The epsilon of the guarantee, at `delta` if it is concentrated."""
        if self.unit == PURE:
            return float(self.amount)
        return epsilon_of_rho(float(self.amount), float(self.delta))

    def words(self) -> str:
        """The kind of privacy and its amount."""
        if self.unit == PURE:
            return f"pure {self.amount}-differential privacy"
        # Rounded up: a smaller epsilon would be another claim.
        epsilon = np.ceil(self.epsilon * 1e4) / 1e4
        return (
            f"{self.amount}-zero-concentrated differential privacy, so "
            f"({epsilon:.4f}, {self.delta})-differential privacy"
        )


def epsilon_of_rho(rho, delta):
    """Smallest known epsilon at a delta of rho-zCDP (Canonne, Kamath and Steinke 2020, prop. 12).

    For every ``alpha > 1`` one has (eps, delta)-privacy with
    ``eps = alpha rho + (log(1 / (alpha delta))) / (alpha - 1) + log(1 - 1 / alpha)``.
    """
    # As long to import as the rest of a release, and of no use to a pure one.
    from scipy.optimize import minimize_scalar

    def at(log_excess):
        excess = np.exp(log_excess)
        alpha = 1.0 + excess
        return alpha * rho - np.log(alpha * delta) / excess + np.log1p(-1.0 / alpha)

    guess = 0.5 * np.log(np.log(1.0 / delta) / rho)
    found = minimize_scalar(at, bounds=(guess - 5.0, guess + 5.0), method="bounded")
    return max(float(found.fun), 0.0)


def choice_cost(epsilon, unit):
    """What a choice among points of budget epsilon costs, in a unit; a fraction.

    Its privacy loss lies in an interval of length epsilon, and so it is eps^2 / 8 in rho (Durfee
    and Rogers 2019, theorem 3; Cesar and Rogers 2021, corollary 6).
    """
    epsilon = Fraction(epsilon)
    return epsilon if unit == PURE else epsilon**2 / 8


def choice_epsilon(cost, unit, grain=1 << 20):
    """The largest epsilon, a multiple of 1 / grain, of a choice that costs at most so much."""
    cost = Fraction(cost)
    if unit == PURE:
        return cost
    whole = isqrt((8 * cost * grain * grain).__floor__())
    return Fraction(whole, grain)
