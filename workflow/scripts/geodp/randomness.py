"""Independent random streams, keyed by a seed and by names such as those of a study and a cell.

A stream depends neither on the order of jobs nor on the number of cores.
"""

import hashlib

import numpy as np


def random_stream(seed, *names, bits=np.random.PCG64):
    """Generator of the stream with names such as ``("sphere", "n050", "data")``.

    The ``seed`` is shared by all streams of a run; ``bits`` are NumPy's class of bit generator.
    """
    digest = hashlib.sha256("/".join(names).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4")
    seeds = np.random.SeedSequence(seed, spawn_key=tuple(int(w) for w in words))
    return np.random.Generator(bits(seeds))


def random_directions(rng, shape):
    """Independent uniform unit vectors, an array whose last axis is their dimension."""
    normal = rng.standard_normal(shape)
    return normal / np.sqrt(np.einsum("...i,...i->...", normal, normal))[..., None]
