"""Property testers: a budget bounded from below, from released numbers alone.

As in DP-Auditorium (Kong, Munoz Medina, Ribero and Syed 2024) a class of functions looks for an
event ``S`` whose hockey-stick divergence ``P(S) - exp(eps) P'(S)`` is above zero, which refutes
eps.  A class learns from a quarter of the draws how much likelier an outcome is for one of the two
data sets; a second quarter chooses the event; and the other half counts it, so that the bound has
the stated confidence whatever was learnt.
"""

from itertools import combinations

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from geodp.audit.attack import best_event


def histograms(first, second, size=8, before=5.0):
    """Logarithms of the ratios of cell counts, for a histogram of every two columns.

    From draws (count, columns) from the two data sets: the columns of each histogram, and a
    function from columns to scores (count, histograms).  Each column has ``size`` cells of equal
    counts, and each cell the count ``before`` from both data sets beforehand.
    """
    pooled = np.concatenate([first, second])
    edges = np.quantile(pooled, np.arange(1, size) / size, axis=0)
    pairs = list(combinations(range(pooled.shape[1]), 2))

    def cells(columns):
        index = np.stack(
            [np.searchsorted(edges[:, k], column) for k, column in enumerate(columns.T)]
        )
        return [size * index[i] + index[j] for i, j in pairs]

    counts = [
        [np.bincount(each, minlength=size**2) + before for each in cells(part)]
        for part in (first, second)
    ]
    ratios = [np.log(one / other) for one, other in zip(*counts, strict=True)]

    def scores(columns):
        return np.stack([r[c] for r, c in zip(ratios, cells(columns), strict=True)], axis=-1)

    return pairs, scores


def boosted_trees(first, second):
    """Log odds by boosted trees on all columns; as for `histograms`."""
    labels = np.repeat([1.0, 0.0], [len(first), len(second)])
    # Few leaves and many draws in each, since probabilities differ little.
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=100, random_state=0
    ).fit(np.concatenate([first, second]), labels)
    return [tuple(range(first.shape[1]))], lambda each: trees.decision_function(each)[:, None]


TESTERS = {"histograms": histograms, "boosted trees": boosted_trees}


def property_test(columns, names, learn, confidence=0.99):
    """Bound a budget from below, as an `Attack`, by what a class of functions tells of releases.

    Columns (count, columns) are numbers of independent releases from two neighbouring data sets,
    and ``learn`` is one of `TESTERS`.
    """
    quarter = min(map(len, columns)) // 4
    learning, choosing = ([part[k * quarter :][:quarter] for part in columns] for k in (0, 1))
    counting = [part[2 * quarter : 4 * quarter] for part in columns]
    used, scores = learn(*learning)
    words = [
        f"log ratio at {' and '.join(names[k] for k in each)}" if len(each) == 2 else "log ratio"
        for each in used
    ]
    train, test = ([scores(part) for part in side] for side in (choosing, counting))
    return best_event(train, test, words, confidence)


def bounds(columns, names, confidence):
    """Rows of a table, one for each of `TESTERS`: what a `property_test` found by it."""
    for tester, learn in TESTERS.items():
        found = property_test(columns, names, learn, confidence)
        yield {
            "tester": tester,
            "bound": found.bound,
            "estimate": found.estimate,
            "share": found.shares[0],
            "other_share": found.shares[1],
            "statistic": found.statistic,
            "draws": len(columns[0]),
            "confidence": confidence,
        }
