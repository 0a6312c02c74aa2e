"""Records that no data should have, for tests of what becomes of them and for their times."""

import warnings

import numpy as np
import pandas as pd


class Trap:
    """Raises whatever is asked of it."""

    def _refuse(self, *_, **__):
        raise ValueError("nothing may be asked of a record")

    __float__ = __complex__ = __int__ = __array__ = __eq__ = __hash__ = _refuse
    __len__ = __iter__ = __getitem__ = __bool__ = _refuse


class Recursive:
    """Never ends."""

    def __array__(self, *_, **__):
        return np.asarray(self)

    def __hash__(self):
        return hash(self)


class Warns:
    """Warns before it answers."""

    def __float__(self):
        warnings.warn("a record speaks", stacklevel=1)
        return 30.0

    def __array__(self, *_, **__):
        warnings.warn("a record speaks", stacklevel=1)
        return np.array(30.0)


BAD_COVARIATES = {
    "nan": np.nan,
    "inf": np.inf,
    "1e308": 1e308,
    "-1e308": -1e308,
    "huge": 10**400,
    "longdouble": np.longdouble("1e4000"),
    "none": None,
    "missing": pd.NA,
    "no time": pd.NaT,
    "time": pd.Timestamp("2020-01-01"),
    "text": "about thirty",
    "bytes": b"\xff",
    "complex": 30.0 + 1j,
    "array": np.array([30.0, 40.0]),
    "list": [30.0, [40.0]],
    "empty": [],
    "dict": {"age": 30.0},
    "trap": Trap(),
    "recursive": Recursive(),
    "warns": Warns(),
    "class": float,
}


# From a good point.
BAD_POINTS = {
    "nan": lambda y: y * np.nan,
    "inf": lambda y: y * np.inf,
    "huge": lambda y: y * 1e308,
    "largest": lambda y: np.full_like(y, 1.7e308),
    "small": lambda y: y * 5e-324,
    "zero": lambda y: 0.0 * y,
    "far off": lambda y: -3.0 * y,
    "one entry": lambda y: np.where(np.arange(y.size).reshape(y.shape) == 0, 1e200, y),
    "none": lambda _: None,
    "text": lambda _: "a point",
    "texts": lambda y: np.full(y.shape, "x"),
    "objects": lambda y: np.full(y.shape, None),
    "longdouble": lambda y: np.full(y.shape, np.longdouble("1e4000")),
    "ragged": lambda y: [*y.tolist()[:-1], [1.0, 2.0, [3.0]]],
    "short": lambda y: y[:-1],
    "long": lambda y: np.concatenate([y, y]),
    "number": lambda _: 3.0,
    "trap": lambda _: Trap(),
    "traps": lambda y: [Trap() for _ in y],
    "recursive": lambda _: Recursive(),
    "warns": lambda _: Warns(),
}
