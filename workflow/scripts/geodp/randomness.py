"""Random streams keyed by what they are for.

A stream depends on the configured seed and on the names of its study, cell and purpose, never
on the order of jobs or the number of cores.
"""

import hashlib

import numpy as np


def random_stream(seed, *names):
    """Generator for one purpose.

    Parameters
    ----------
    seed : int
        The configured seed.
    *names : str
        What the stream is for, such as ``("sphere", "n050", "data")``.
    """
    digest = hashlib.sha256("/".join(names).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4")
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(seed, spawn_key=tuple(int(w) for w in words)))
    )


def random_directions(rng, shape):
    """Independent uniform unit vectors of a shape that ends with their dimension."""
    normal = rng.standard_normal(shape)
    return normal / np.linalg.norm(normal, axis=-1, keepdims=True)
