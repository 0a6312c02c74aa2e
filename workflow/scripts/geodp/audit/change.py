"""How far one subject moves a score: a search over geodesics and neighbours, on any manifold."""

import numpy as np

from geodp.mechanisms.certified import CertifiedDistribution, map_records

# Shares of the rounds' proposals: a record near where it was, one far off the manifold, none.
NEAR, SCALED, MISSING = 0.5, 0.05, 0.05


def largest_change(
    rng, public, score="combined", make=CertifiedDistribution, searches=24, rounds=50
):
    """The most that replacing one record was found to move a score.

    At as many random geodesics, each with a data set of ``n`` records and one more that replaces
    the first.  Records are exchanged for others, or moved, as long as the change grows.

    Parameters
    ----------
    rng : numpy.random.Generator
    public : PublicInputs
        With a number of subjects of two or more; the fewer, the more thorough the search.
    score : str
        One of `geodp.mechanisms.certified.SCORES`.
    make : callable
        From public inputs, records and the name of a score to a distribution with a ``score``.
    searches, rounds : int

    Returns
    -------
    ndarray, shape (searches,)
        As a fraction of the sensitivity, at most one for the certified distribution.
    """
    manifold, number = public.manifold, public.number
    low, high = public.covariate_range
    middle, width = 0.5 * (low + high), high - low
    states = public.support.draw(rng, (searches,))
    every = np.arange(searches)
    # Searches start where contributions add up: far in one direction from one end of the geodesic.
    side = rng.integers(2, size=searches)
    direction = manifold.random_direction(rng, states[:, 0])

    def placed(x, away, direction):
        """Points at a distance from predictions, in a direction carried there."""
        p, v = states[:, 0], states[:, 1]
        step = manifold.expand(x) * v
        end = manifold.exp(p, step)
        carried = manifold.transport(p, step, direction)
        return manifold.exp(end, manifold.expand(away) * carried)

    longest = 0.9 * min(manifold.injectivity_radius, 1.5)
    x = np.where(side, high, low)
    away = np.full(searches, 0.5 * longest)
    points = np.stack(
        [placed(side - 0.5, away if record else -away, direction) for record in range(number + 1)],
        axis=1,
    )
    covariates = np.tile(x[:, None], (1, number + 1))

    def change(covariates, points):
        values = []
        for replaced in (slice(0, number), slice(1, number + 1)):
            records = map_records(public, covariates[:, replaced], points[:, replaced])
            values.append(make(public, records, score).score(states))
        return abs(values[0] - values[1])

    best = change(covariates, points)
    odd = [low, high, -np.inf, 1e9, np.nan, low + 0.2 * width, middle]
    for _ in range(rounds):
        record = rng.integers(number + 1, size=searches)
        x, y = covariates[every, record], points[every, record]
        kind = rng.random(searches)
        # A record anywhere, on the geodesic, or near where it was.
        fresh = rng.choice(odd, size=searches)
        at = np.nan_to_num(np.clip(fresh, low, high), nan=middle)
        away = longest * rng.random(searches) * (rng.random(searches) > 0.3)
        elsewhere = placed(
            (at - middle) / width, away, manifold.random_direction(rng, states[:, 0])
        )
        valid = np.array([manifold.invalid_reason(point) is None for point in y])
        usable = np.where(manifold.expand(valid), y, public.centre)
        size = 10.0 ** rng.uniform(-3.0, 0.0, searches)
        near = manifold.exp(
            usable, manifold.expand(0.2 * size) * manifold.random_tangent(rng, usable)
        )
        moved = np.where(manifold.expand(kind < NEAR), near, elsewhere)
        moved[kind > 1.0 - MISSING] = np.nan
        moved[(kind > 1.0 - MISSING - SCALED) & (kind <= 1.0 - MISSING)] *= -2.0
        trial = covariates.copy(), points.copy()
        trial[0][every, record] = np.where(kind < NEAR, x, fresh)
        trial[1][every, record] = moved
        found = change(*trial)
        better = found > best
        covariates = np.where(better[:, None], trial[0], covariates)
        points = np.where(manifold.expand(better[:, None]), trial[1], points)
        best = np.maximum(best, found)
    return best
