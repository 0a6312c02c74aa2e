"""Searches: the worst place of a distribution, and the worst neighbour of a data set.

A search gives a lower bound of a supremum, and says nothing of what it did not try.
"""

from dataclasses import dataclass

import numpy as np

from geodp.manifolds.manifold import Manifold


def climb(rng, space, value, start, sizes, rounds=30, trials=24):
    """Places (places, *point_shape) that raise a function most, and its values there (places,).

    The function takes states (places, trials, *point_shape) to numbers (places, trials), minus
    infinity where a state is not allowed; ``sizes`` are the lengths of the longest random steps and
    of the shortest.
    """
    place = start
    best = value(start[:, None])[:, 0]
    every = np.arange(len(start))
    low, high = np.log(min(sizes)), np.log(max(sizes))
    for _ in range(rounds):
        here = np.broadcast_to(place[:, None], (len(place), trials, *space.point_shape))
        length = np.exp(rng.uniform(low, high, (len(place), trials)))
        step = space.random_tangent(rng, here) * space.expand(length / np.sqrt(space.dim))
        trial = space.exp(here, step)
        found = value(trial)
        found = np.where(np.isnan(found), -np.inf, found)
        chosen = np.argmax(found, axis=-1)
        better = found[every, chosen] > best
        best = np.where(better, found[every, chosen], best)
        place = np.where(space.expand(better), trial[every, chosen], place)
    return place, best


def log_ratio(first, second):
    """Absolute difference of log densities, zero where both are without mass."""
    outside = np.isneginf(first) & np.isneginf(second)
    return np.abs(np.where(outside, 0.0, first) - np.where(outside, 0.0, second))


@dataclass(frozen=True)
class RecordDomain:
    """Where a record may lie: a ball of points, and covariates from 0 to 1."""

    manifold: Manifold
    centre: np.ndarray
    radius: float

    def draw(self, rng, count):
        """Records, half of them at the ball's edge and half at an end of the covariates' range."""
        manifold = self.manifold
        centre = np.broadcast_to(self.centre, (count, *manifold.point_shape))
        inside = manifold.random_tangent_in_ball(rng, centre, self.radius)
        edge = rng.random(count) < 0.5
        stretch = self.radius / np.maximum(manifold.norm(centre, inside), 1e-300)
        step = np.where(manifold.expand(edge), manifold.expand(stretch) * inside, inside)
        ends = rng.choice([0.0, 1.0], size=count)
        covariates = np.where(rng.random(count) < 0.5, ends, rng.random(count))
        return covariates, manifold.exp(centre, step)

    def move(self, rng, covariates, points):
        """Records near given ones, within the domain."""
        manifold, count = self.manifold, len(covariates)
        size = 10.0 ** rng.uniform(-2.0, 0.0, count)
        moved = covariates + 0.5 * size * rng.standard_normal(count)
        covariates = np.clip(np.where(rng.random(count) < 0.5, moved, covariates), 0.0, 1.0)
        step = manifold.random_tangent(rng, points) * manifold.expand(0.5 * self.radius * size)
        return covariates, self.pull_inside(manifold.exp(points, step))

    def pull_inside(self, points):
        """Points beyond the ball, moved to its edge."""
        manifold = self.manifold
        centre = np.broadcast_to(self.centre, points.shape)
        step = manifold.log(centre, points)
        length = manifold.norm(centre, step)
        factor = np.minimum(1.0, self.radius / np.maximum(length, 1e-300))
        return np.where(
            manifold.expand(length > self.radius),
            manifold.exp(centre, manifold.expand(factor) * step),
            points,
        )


@dataclass(frozen=True)
class Pair:
    """Two data sets that differ in one record."""

    covariates: np.ndarray  # (2, n)
    points: np.ndarray  # (2, n, *point_shape)
    record: int  # Index of the record in which they differ.


def neighbours_of(covariates, points, records, new_covariates, new_points):
    """Copies of a data set, each with one record replaced; (count, n) and (count, n, ...)."""
    count = len(records)
    many_x = np.tile(covariates, (count, 1))
    many_y = np.tile(points, (count, *(1,) * points.ndim))
    every = np.arange(count)
    many_x[every, records], many_y[every, records] = new_covariates, new_points
    return many_x, many_y


def worst_neighbour(rng, covariates, points, domain, loss, candidates=48, rounds=5):
    """`Pair` with the neighbour of a data set of the largest loss that a search finds; its loss.

    ``loss`` takes the neighbours' covariates (candidates, n) and points to losses (candidates,);
    NaN counts as nothing found.  After the first round half of the candidates are near the best
    eighth so far.
    """
    number = len(covariates)
    record = rng.integers(number, size=candidates)
    x, y = domain.draw(rng, candidates)
    best: tuple = ()
    for turn in range(rounds):
        if turn:
            half = candidates // 2
            parent = rng.integers(max(1, candidates // 8), size=half)
            near_x, near_y = domain.move(rng, best[1][parent], best[2][parent])
            far_x, far_y = domain.draw(rng, candidates - half)
            record = np.concatenate([best[0][parent], rng.integers(number, size=candidates - half)])
            x, y = np.concatenate([near_x, far_x]), np.concatenate([near_y, far_y])
        found = loss(*neighbours_of(covariates, points, record, x, y))
        found = np.where(np.isnan(found), -np.inf, found)
        tried: tuple = (record, x, y, found)
        if best:
            tried = tuple(np.concatenate(both) for both in zip(best, tried, strict=True))
        order = np.argsort(-tried[3], kind="stable")[:candidates]
        best = tuple(part[order] for part in tried)
    new_x, new_y = neighbours_of(covariates, points, best[0][:1], best[1][:1], best[2][:1])
    pair = Pair(
        np.concatenate([covariates[None], new_x]),
        np.concatenate([points[None], new_y]),
        int(best[0][0]),
    )
    return pair, float(best[3][0])
