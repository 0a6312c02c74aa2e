"""The loop of rejection sampling: those without an accepted proposal get another."""

import numpy as np


def by_rejection(shape, propose, rounds=np.inf):
    """Fill an array with accepted proposals.

    Parameters
    ----------
    shape : tuple of int
        Of the array; a proposal is for an entry of the first axis.
    propose : callable
        From the indices that are left to which proposals are accepted, an array of bool, and to the
        proposals.
    rounds : float
        Most proposals for each.

    Returns
    -------
    tuple
        The array, and the indices of entries without an accepted proposal.
    """
    drawn, left = np.empty(shape), np.arange(shape[0])
    while len(left) and rounds > 0:
        accepted, proposed = propose(left)
        drawn[left[accepted]] = proposed[accepted]
        left, rounds = left[~accepted], rounds - 1
    return drawn, left
