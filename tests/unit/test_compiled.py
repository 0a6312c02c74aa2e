"""Compiled sums over records against those of NumPy."""

import numpy as np
import pytest

from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms import compiled, gradient_bounds, record_sums

numba = pytest.importorskip("numba")

compiled.compile_kernels()

DATA_SETS, CHAINS, RECORDS = 4, (3, 25), 37


def configurations(space):
    """Geodesics and records: none moving, covariates zero and negative, records nearly met."""
    rng = np.random.default_rng(space.dim)
    batch = (DATA_SETS, *CHAINS)
    p = space.random_point(rng, batch)
    v = space.expand(rng.choice([0.0, 0.1, 1.0, 3.0], batch)) * space.random_tangent(rng, p)
    x = rng.uniform(-1.0, 2.0, (DATA_SETS, RECORDS))
    x[:, 3] = 0.0
    y = space.random_point(rng, (DATA_SETS, RECORDS))
    near = space.exp(p[2, 0, :1], space.expand(x[2]) * v[2, 0, :1])
    y[2] = space.exp(near, 1e-5 * space.random_tangent(rng, near))
    return p, v, x, y, rng


def expected(space, block, p, v, x, y, changes):
    """Sums over records, and sums of the bounds of their change, by NumPy."""
    bound = getattr(gradient_bounds, f"{block}_change")

    def both(found, distances, *rest):
        change, length = bound(space, distances, *rest)
        kept = change <= gradient_bounds.LEFT_OUT * length
        return [found.adjoint_sums(block, kept)], [np.where(kept, change, length)]

    sums, bounds = gradient_bounds.record_means(space, p, v, x, y, both, *changes)
    return RECORDS * sums, RECORDS * bounds


KERNELS = {
    "S2": (Sphere(2), record_sums.sphere_sums),
    "S3": (Sphere(3), record_sums.sphere_sums),
    "three landmarks": (KendallPlanarShapes(3), record_sums.shape_sums),
    "nine landmarks": (KendallPlanarShapes(9), record_sums.shape_sums),
    "matrices": (SPD(2), record_sums.matrix_sums),
}


@pytest.mark.parametrize("reach", [1e-3, 4.0])
@pytest.mark.parametrize("block", ["footpoint", "shooting_vector"])
@pytest.mark.parametrize(("space", "summed"), KERNELS.values(), ids=KERNELS)
def test_compiled_sums_are_those_of_numpy(space, summed, block, reach):
    p, v, x, y, rng = configurations(space)
    changes = reach * rng.random((2, *p.shape[: -space.point_ndim]))
    changes[:, 0, 0] = 0.0
    changes = list(changes[: 2 if block == "footpoint" else 1])
    still = [np.zeros_like(change) for change in changes]
    right_sums, _ = expected(space, block, p, v, x, y, still)
    sums = summed(block, p, v, x, y)[0]
    # Records nearly met, and those near the cut locus, magnify the rounding of their place.
    np.testing.assert_allclose(sums, right_sums, rtol=0.0, atol=1e-10)
    assert np.median(np.abs(sums - right_sums)) < 2e-14
    if summed is not record_sums.sphere_sums:
        return
    again, bounds = summed(block, p, v, x, y, changes)
    right_sums, right_bounds = expected(space, block, p, v, x, y, changes)
    np.testing.assert_allclose(again, right_sums, rtol=0.0, atol=1e-10)
    # Records beside the cut locus are left out, and those that move far.
    left_out = np.mean(np.any(np.abs(again - sums) > 1e-9, axis=-1))
    assert left_out < 0.1 if reach < 1.0 else left_out > 0.5
    np.testing.assert_allclose(bounds, right_bounds, rtol=1e-10, atol=1e-9)
    moving = right_bounds > 0.0
    assert np.median(np.abs(bounds[moving] / right_bounds[moving] - 1.0)) < 2e-15
