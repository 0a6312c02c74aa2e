"""Validation of landmarks and points of records, and repair of outlines.

Every error names the file and the record.
"""

import itertools
from collections import Counter

import numpy as np

from geodp.data.landmarks import crossing_edges, orient, resample
from geodp.data.messages import few
from geodp.errors import DataError

# Codes of digitisers for a missing landmark, in both coordinates.
MISSING_CODES = (9999.0, -9999.0, 99999.0, -99999.0)

# Three landmarks are a triangle whatever their order.
FEWEST_OUTLINE_LANDMARKS = 4


def mended_landmarks(landmarks, source, numbers, wanted, outline):
    """Landmarks (n, wanted) of a file, checked, with a sentence for each repair of outlines.

    Of closed outlines a landmark that closes them is left out, they are traversed
    counter-clockwise, and resampled if they have another number of landmarks.  ``numbers`` are
    those of the records in messages.
    """
    notes = []
    # Many programs close an outline by its first landmark.
    if outline and landmarks.shape[-1] > 1 and np.all(landmarks[:, 0] == landmarks[:, -1]):
        landmarks = landmarks[:, :-1]
        notes.append(
            "the last landmark of every outline repeats the first, which closes it, and was left "
            "out"
        )
    number = landmarks.shape[-1]
    if outline and number < FEWEST_OUTLINE_LANDMARKS:
        raise DataError(
            f"{source.name}: an outline needs at least {FEWEST_OUTLINE_LANDMARKS} landmarks and "
            f"these have {number}: give more landmarks, or set outline to false",
            argument="outline",
        )
    if not outline and number != wanted:
        raise DataError(
            f"{source.name}: its records have {number} landmarks and those of the manifold "
            f"{wanted}: use a manifold of {number} landmarks, or set outline to true if they run "
            "along a closed outline",
            argument="outline",
        )
    check_landmarks(landmarks, source, numbers)
    if not outline:
        return landmarks, notes
    for record, name in zip(landmarks, numbers, strict=True):
        crossing = crossing_edges(record)
        if crossing is not None:
            first, second = (f"{edge + 1}-{(edge + 1) % number + 1}" for edge in crossing)
            raise DataError(
                f"{source.record(name)}: the outline meets itself, its edge between landmarks "
                f"{first} and its edge between landmarks {second}: put the landmarks in their "
                f"order along the outline, or remove the {source.record_word}"
            )
    landmarks, reversed_ones = orient(landmarks)
    if np.any(reversed_ones):
        several, were = ("s", "were") if np.sum(reversed_ones) > 1 else ("", "was")
        notes.append(
            f"{np.sum(reversed_ones)} outline{several} ran clockwise and {were} reversed from the "
            f"first landmark on ({_named(source, numbers, reversed_ones)})"
        )
    if number != wanted:
        landmarks = resample(landmarks, wanted)
        notes.append(
            f"outlines of {number} landmarks were resampled to {wanted} at equal arc "
            "length from the first landmark on"
        )
    return landmarks, notes + shifted_outlines(landmarks, source, numbers)


def shifted_outlines(landmarks, source, numbers, better=2.0):
    """A note that names outlines whose first landmark is not where that of the others is.

    Those are ``better`` times nearer to the others, in squared distance, from another landmark on.
    All outlines run in one direction; see `mended_landmarks`.
    """
    shapes = landmarks - np.mean(landmarks, axis=-1, keepdims=True)
    shapes /= np.sqrt(np.sum(np.abs(shapes) ** 2, axis=-1, keepdims=True))
    number = shapes.shape[-1]
    # The mean of the outlines, each started where it fits the first one best, is clear of shifts.
    starts, turns = _best_starts(shapes, shapes[0])[:2]
    started = np.take_along_axis(shapes, (starts[:, None] + np.arange(number)) % number, axis=-1)
    middle = np.mean(turns[:, None] * started, axis=0)
    starts, _, overlaps = _best_starts(shapes, middle / np.linalg.norm(middle))
    usual = Counter(starts.tolist()).most_common(1)[0][0]
    best, own = np.max(overlaps, axis=-1), overlaps[:, usual]
    shifted = (starts != usual) & (1.0 - own**2 > better * (1.0 - best**2))
    if not np.any(shifted):
        return []
    first = few([int(shift) + 1 for shift in np.unique((starts - usual)[shifted] % number)])
    return [
        f"{np.sum(shifted)} of {len(shifted)} outlines would fit the others far better from "
        f"landmark {first} on ({_named(source, numbers, shifted)}): let all start at the same place"
    ]


def _best_starts(shapes, reference):
    """Start of each outline that fits a reference best, the turn that aligns it, all overlaps."""
    spectra = np.fft.fft(shapes) * np.conj(np.fft.fft(reference))
    products = np.fft.ifft(spectra)
    overlaps = np.abs(products)
    starts = np.argmax(overlaps, axis=-1)
    best = np.take_along_axis(products, starts[:, None], axis=-1)[:, 0]
    return starts, np.conj(best) / np.abs(best), overlaps


def far_records(manifold, points, source, numbers, times=8.0, fewest=10, middles=50):
    """A note that names records far from all others, which a misread value can be the cause of.

    They are so many times farther than the median from the middle, which is the best of some of the
    records.  Fewer records than ``fewest`` do not say what is usual.
    """
    tried = points[np.linspace(0, len(points) - 1, min(len(points), middles)).astype(int)]
    away = min((manifold.dist(each[None], points) for each in tried), key=np.median)
    far = away > times * np.median(away)
    number = np.sum(far)
    if not number or len(points) < fewest:
        return []
    return [
        f"{number} of {len(points)} records {'is' if number == 1 else 'are'} over {times:g} "
        f"times farther from the middle than half of all ({_named(source, numbers, far)}): look "
        "for misread values"
    ]


def _named(source, numbers, chosen):
    """The first few of some records, in words."""
    named = list(itertools.compress(numbers, chosen))
    return f"{source.record_word}{'s' if len(named) > 1 else ''} {few(named)}"


def check_landmarks(landmarks, source, numbers, times=10.0):
    """Refuse configurations without a shape, and those with a misread landmark.

    That is a code for a missing value, or so many ``times`` farther from the middle of its record
    than the median of the table.
    """
    middle = np.median(landmarks.real, axis=-1) + 1j * np.median(landmarks.imag, axis=-1)
    away = np.abs(landmarks - middle[:, None])
    is_code = np.isin(landmarks.real, MISSING_CODES) & (landmarks.real == landmarks.imag)
    is_far = away > times * np.median(away)
    different = np.array([len(np.unique(record)) for record in landmarks])

    def coincident(index):
        record = landmarks[index].tolist()
        second = next(k for k, landmark in enumerate(record) if landmark in record[:k])
        return f"landmarks {record.index(record[second]) + 1} and {second + 1} coincide"

    def named(index, worst, fault):
        landmark = landmarks[index, worst]
        return f"landmark {worst + 1} at ({landmark.real:g}, {landmark.imag:g}) {fault}"

    code = "carries a code for a missing value"
    wild = f"is over {times:g} times farther out than is usual here"
    for are_wrong, fault in (
        (different == 1, lambda index: "all landmarks coincide, so there is no shape"),
        (different < landmarks.shape[1], coincident),
        (np.any(is_code, axis=1), lambda index: named(index, np.argmax(is_code[index]), code)),
        (np.any(is_far, axis=1), lambda index: named(index, np.argmax(away[index]), wild)),
    ):
        source.refuse_first(are_wrong, numbers, fault)
