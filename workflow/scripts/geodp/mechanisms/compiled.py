"""Loops of `geodp.mechanisms.record_sums`, compiled by Numba.

The records of one state stay in the processor's nearest cache.  Most loops over records have no
branches and no library calls, since compilers vectorise only these.
"""

import math
from functools import cache

import numpy as np

from geodp.manifolds.unit_norm import LARGEST_COSINE
from geodp.mechanisms.gradient_bounds import DISTANCE_ROUNDING, LEFT_OUT

# Compiler options of each function to be compiled, by name.
KERNELS: dict[str, dict] = {}


def _kernel(**options):
    """Mark a function for `compile_kernels`."""

    def mark(function):
        KERNELS[function.__name__] = {"error_model": "numpy", **options}
        return function

    return mark


@cache
def compile_kernels():
    """Replace the marked functions by compiled ones, at the first call."""
    # Importing Numba takes longer than many jobs that import this module.
    import numba

    for name, options in KERNELS.items():
        function = globals()[name]
        try:
            # Kept for other processes ...
            globals()[name] = numba.njit(cache=True, **options)(function)
        except RuntimeError:
            # ... unless there is no directory to write to.
            globals()[name] = numba.njit(**options)(function)


@_kernel(fastmath={"reassoc"})
def _dot(first, second):
    """Inner product; its terms may be added in any order."""
    total = 0.0
    for i in range(len(first)):
        total += first[i] * second[i]
    return total


@_kernel(fastmath={"reassoc"})
def _sum(terms):
    """Sum of terms in any order."""
    total = 0.0
    for i in range(len(terms)):
        total += terms[i]
    return total


@_kernel()
def _cosine_and_sine(angle):
    """Cosine and sine of an angle below 1e5."""
    # Added to a number and taken off again, this rounds it.
    rounder = 6755399441055744.0
    # A quarter turn in two parts, the first of 33 bits, which are enough for such an angle.
    quarter, quarter_rest = 1.57079632673412561417e00, 6.07710050650619224932e-11
    # Sine and cosine up to an eighth of a turn, in the square of the angle, to 2^-58 (fdlibm).
    s1, s2 = -1.66666666666666324348e-01, 8.33333333332248946124e-03
    s3, s4 = -1.98412698298579493134e-04, 2.75573137070700676789e-06
    s5, s6 = -2.50507602534068634195e-08, 1.58969099521155010221e-10
    c1, c2 = 4.16666666666666019037e-02, -1.38888888888741095749e-03
    c3, c4 = 2.48015872894767294178e-05, -2.75573143513906633035e-07
    c5, c6 = 2.08757232129817482790e-09, -1.13596475577881948265e-11
    quarters = (angle / (0.5 * math.pi) + rounder) - rounder
    rest = (angle - quarters * quarter) - quarters * quarter_rest
    z = rest * rest
    sine = rest + rest * z * (s1 + z * (s2 + z * (s3 + z * (s4 + z * (s5 + z * s6)))))
    cosine = 1.0 - 0.5 * z + z * z * (c1 + z * (c2 + z * (c3 + z * (c4 + z * (c5 + z * c6)))))
    # From minus two to two, both of which are half a turn.
    turn = quarters - 4.0 * ((0.25 * quarters + rounder) - rounder)
    odd = abs(turn) == 1.0
    first, second = (sine, cosine) if odd else (cosine, sine)
    return (
        -first if turn == 1.0 or abs(turn) == 2.0 else first,
        -second if turn == -1.0 or abs(turn) == 2.0 else second,
    )


@_kernel(inline="always")
def _cosines_and_sines(speed, covariates, longest, cosines, sines):
    """Fill cosines and sines of ``speed * covariates``; ``longest`` is the largest covariate."""
    if speed * longest < 1e5:
        for i in range(len(covariates)):
            cosines[i], sines[i] = _cosine_and_sine(speed * covariates[i])
    else:
        for i in range(len(covariates)):
            cosines[i], sines[i] = math.cos(speed * covariates[i]), math.sin(speed * covariates[i])


@_kernel()
def _angle(cosine):
    """Angle of a cosine, its ratio to the sine, and the sine."""
    # ``asin(s) = s + s z P(z) / Q(z)`` with ``z = s^2``, for s up to one half, to 2^-58 (fdlibm).
    p0, p1, p2 = 1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01
    p3, p4, p5 = -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05
    q1, q2 = -2.40339491173441421878e00, 2.02094576023350569471e00
    q3, q4 = -6.88283971605453293030e-01, 7.70381505559019352791e-02
    size = abs(cosine)
    large = size > 0.5
    z = 0.5 * (1.0 - size) if large else size * size
    s = math.sqrt(z)
    numerator = z * (p0 + z * (p1 + z * (p2 + z * (p3 + z * (p4 + z * p5)))))
    denominator = 1.0 + z * (q1 + z * (q2 + z * (q3 + z * q4)))
    sine = math.sqrt((1.0 - cosine) * (1.0 + cosine))
    # One division for two quotients.
    inverse = 1.0 / (denominator * sine)
    arcsin = s + s * numerator * (inverse * sine)
    angle = 2.0 * arcsin if large else 0.5 * math.pi - arcsin
    angle = math.pi - angle if cosine < 0.0 else angle
    return angle, angle * (inverse * denominator), sine


@_kernel()
def sphere_sums(
    by_footpoint, footpoints, vectors, covariates, points, records, moved, turned, sums, bounds
):
    """Fill ``sums`` (data_sets, states, D), and ``bounds`` of their change if there is a move.

    Points are (data_sets, D, n) here, so that neighbours in memory are records.  The first
    ``records`` of n are those of the data.
    """
    size, number = points.shape[1:]
    along_p, along_v = np.empty(number), np.empty(number)
    cosine, sine = np.empty(number), np.empty(number)
    across, along, change = np.empty(number), np.empty(number), np.empty(number)
    # Of residuals: length, cosine and sine.
    away = np.empty((3, number))
    for data_set in range(footpoints.shape[0]):
        x, y = covariates[data_set], points[data_set]
        longest = np.max(np.abs(x))
        for state in range(footpoints.shape[1]):
            p, v = footpoints[data_set, state], vectors[data_set, state]
            speed = math.sqrt(_dot(v, v))
            scale = 1.0 / speed if speed > 0.0 else 1.0
            along_v[:] = 0.0
            for k in range(size):
                for i in range(number):
                    along_v[i] += scale * v[k] * y[k, i]
            if state == 0 or _differ(p, footpoints[data_set, state - 1]):
                along_p[:] = 0.0
                for k in range(size):
                    for i in range(number):
                        along_p[i] += p[k] * y[k, i]
            _cosines_and_sines(speed, x, longest, cosine, sine)
            for i in range(number):
                c, s = cosine[i], sine[i]
                overlap = c * along_p[i] + s * along_v[i]
                overlap = min(max(overlap, -LARGEST_COSINE), LARGEST_COSINE)
                distance, factor, beside = _angle(overlap)
                away[0, i], away[1, i], away[2, i] = distance, overlap, beside
                turned_along = factor * (c * along_v[i] - s * along_p[i])
                if by_footpoint:
                    across[i], along[i] = factor * c, turned_along
                else:
                    stretched = s * scale if speed > 0.0 else x[i]
                    across[i], along[i] = factor * stretched, turned_along * x[i]
            if moved.size:
                move, turn = moved[data_set, state], turned[data_set, state]
                _changes(by_footpoint, away, x, speed, move, turn, across, along, change)
                bounds[data_set, state] = _sum(change[:records])
            on_p = -_dot(across, along_p)
            on_v = (_sum(along) - _dot(across, along_v)) * scale
            for k in range(size):
                sums[data_set, state, k] = _dot(across, y[k]) + on_p * p[k] + on_v * v[k]


# A call with as many arrays takes as long as twenty records.
@_kernel(inline="always")
def _changes(by_footpoint, away, covariates, length, moved, turned, across, along, changes):
    """Fill ``changes`` with `footpoint_change` or `shooting_vector_change` at curvature one.

    Weights of records that are better left out, see `gradient_bounds.LEFT_OUT`, become zero.
    """
    # Below this angle ``a``, radians, ``-a cot a`` is less than one.
    bend_starts = 2.0
    for i in range(len(covariates)):
        x = abs(covariates[i])
        distance, cosine, sine = away[0, i] + DISTANCE_ROUNDING, away[1, i], away[2, i]
        # Rounded up as the distance is.
        cosine, sine = cosine - DISTANCE_ROUNDING * sine, sine + DISTANCE_ROUNDING * cosine
        # At the cut locus rounding may make the sine negative.
        bend = -distance * cosine / max(sine, 1e-300) if distance > bend_starts else 1.0
        bend = max(1.0, bend)
        farthest = distance + (moved + x * turned if by_footpoint else x * moved)
        cosine, sine = _cosine_and_sine(min(farthest, math.pi))
        end = max(1.0, -farthest * cosine / sine) if farthest > bend_starts else 1.0
        bend = 0.5 * (bend + end) if farthest < math.pi else math.inf
        halfway = 0.5 * (distance + farthest)
        if by_footpoint:
            geodesic = x * length
            turning = halfway * geodesic
            square = geodesic * geodesic
            change = moved * (bend + turning * (1.0 + 5.0 / 6.0 * square))
            change += turned * x * (bend + turning * (1.5 + square / 6.0))
            before, after = distance, min(farthest, math.pi)
        else:
            geodesic = x * (length + moved)
            turning = min(2.0 / 3.0 * geodesic, 2.0 / math.pi)
            change = moved * x * x * (bend + halfway * turning)
            before, after = x * distance, x * min(farthest, math.pi)
        # Zero times an infinite bend is not a number, and then both gradients' lengths are taken.
        change = change if change <= before + after else before + after
        kept = change <= LEFT_OUT * after
        changes[i] = change if kept else after
        across[i] = across[i] if kept else 0.0
        along[i] = along[i] if kept else 0.0


@_kernel()
def shape_sums(by_footpoint, footpoints, vectors, covariates, real, imaginary, sums):
    """Fill ``sums`` (data_sets, states, D) on complex projective space.

    Real and imaginary parts of points are (data_sets, D, n).
    """
    size, number = real.shape[1:]
    # Products with footpoint and unit vector, and weights of records across both.
    p_real, p_imaginary = np.empty(number), np.empty(number)
    v_real, v_imaginary = np.empty(number), np.empty(number)
    w_real, w_imaginary = np.empty(number), np.empty(number)
    cosine, sine = np.empty(number), np.empty(number)
    along, turning = np.empty(number), np.empty(number)
    for data_set in range(footpoints.shape[0]):
        x, y, z = covariates[data_set], real[data_set], imaginary[data_set]
        longest = np.max(np.abs(x))
        for state in range(footpoints.shape[1]):
            p, v = footpoints[data_set, state], vectors[data_set, state]
            square = 0.0
            for k in range(size):
                square += v[k].real ** 2 + v[k].imag ** 2
            speed = math.sqrt(square)
            scale = 1.0 / speed if speed > 0.0 else 1.0
            _products(v, scale, y, z, v_real, v_imaginary)
            if state == 0 or _differ(p, footpoints[data_set, state - 1]):
                _products(p, 1.0, y, z, p_real, p_imaginary)
            _cosines_and_sines(speed, x, longest, cosine, sine)
            for i in range(number):
                c, s = cosine[i], sine[i]
                o_real = c * p_real[i] + s * v_real[i]
                o_imaginary = c * p_imaginary[i] + s * v_imaginary[i]
                t_real = c * v_real[i] - s * p_real[i]
                t_imaginary = c * v_imaginary[i] - s * p_imaginary[i]
                overlap = math.sqrt(o_real * o_real + o_imaginary * o_imaginary)
                inverse = 1.0 / overlap if overlap > 0.0 else 1.0
                # The phase that aligns a point with its prediction.
                phase_real = o_real * inverse if overlap > 0.0 else 1.0
                phase_imaginary = -o_imaginary * inverse
                overlap = min(overlap, LARGEST_COSINE)
                factor = _angle(overlap)[1]
                still, twice, once = 1.0, c * c - s * s, c
                if not by_footpoint:
                    still = x[i]
                    twice = c * s * scale if speed > 0.0 else x[i]
                    once = s * scale if speed > 0.0 else x[i]
                along[i] = still * factor * (phase_real * t_real - phase_imaginary * t_imaginary)
                turning[i] = twice * factor * (phase_real * t_imaginary + phase_imaginary * t_real)
                w_real[i] = once * factor * phase_real
                w_imaginary[i] = once * factor * phase_imaginary
            on_p = -_product(w_real, w_imaginary, p_real, p_imaginary)
            on_v = complex(_sum(along), _sum(turning))
            on_v = scale * (on_v - _product(w_real, w_imaginary, v_real, v_imaginary))
            for k in range(size):
                across = _product(w_real, w_imaginary, y[k], z[k])
                sums[data_set, state, k] = across + on_p * p[k] + on_v * v[k]


@_kernel()
def _differ(first, second):
    """Whether two vectors differ: states at one footpoint follow one another."""
    found = False
    for k in range(len(first)):
        found |= first[k] != second[k]
    return found


@_kernel()
def _products(vector, scale, real, imaginary, found_real, found_imaginary):
    """Fill Hermitian products of a vector, times a scale, with each record."""
    found_real[:] = 0.0
    found_imaginary[:] = 0.0
    for k in range(len(vector)):
        a, b = scale * vector[k].real, scale * vector[k].imag
        for i in range(len(found_real)):
            found_real[i] += a * real[k, i] + b * imaginary[k, i]
            found_imaginary[i] += a * imaginary[k, i] - b * real[k, i]


@_kernel(fastmath={"reassoc"})
def _product(first_real, first_imaginary, second_real, second_imaginary):
    """Sum of products of complex numbers, in any order."""
    real = imaginary = 0.0
    for i in range(len(first_real)):
        a, b, c, d = first_real[i], first_imaginary[i], second_real[i], second_imaginary[i]
        real += a * c - b * d
        imaginary += a * d + b * c
    return complex(real, imaginary)


@_kernel()
def matrix_sums(by_footpoint, footpoints, vectors, covariates, points, sums):
    """Fill ``sums`` (data_sets, states, 4) of 2 x 2 matrices, row by row; see `SPD.logs_along`."""
    number = points.shape[2]
    for data_set in range(footpoints.shape[0]):
        x, y = covariates[data_set], points[data_set]
        size = 0.5 * (y[0] + y[3])
        determinants = np.log(y[0] / size * (y[3] / size) - (y[1] / size) ** 2) + 2.0 * np.log(size)
        for state in range(footpoints.shape[1]):
            p, v = footpoints[data_set, state], vectors[data_set, state]
            # Cholesky factor of the footpoint and its inverse.
            a = math.sqrt(p[0])
            b = p[1] / a
            c = math.sqrt(p[3] - b * b)
            f, g, h = 1.0 / a, -b / (a * c), 1.0 / c
            # The vector in that frame, and the turn that diagonalises it.
            upper, off = f * f * v[0], f * (g * v[0] + h * v[1])
            lower = g * g * v[0] + 2.0 * g * h * v[1] + h * h * v[3]
            middle, half = 0.5 * (upper + lower), 0.5 * (upper - lower)
            speed = math.sqrt(half * half + off * off)
            angle = 0.5 * math.atan2(off, half)
            cosine, sine = math.cos(angle), math.sin(angle)
            g11, g12 = cosine * f + sine * g, sine * h
            g21, g22 = cosine * g - sine * f, cosine * h
            determinant = 2.0 * math.log(a * c)
            s11, s12, s22 = 0.0, 0.0, 0.0
            for i in range(number):
                time, k, m, n = x[i], y[0, i], y[1, i], y[3, i]
                turn = speed * time
                shrink = math.exp(-turn)
                upper = (g11 * g11 * k + 2.0 * g11 * g12 * m + g12 * g12 * n) * shrink
                lower = (g21 * g21 * k + 2.0 * g21 * g22 * m + g22 * g22 * n) / shrink
                off = g11 * g21 * k + (g11 * g22 + g12 * g21) * m + g12 * g22 * n
                mean, half = 0.5 * (upper + lower), 0.5 * (upper - lower)
                size = math.sqrt(half * half + off * off)
                scale = 0.5 * (determinants[i] - determinant)
                # Half the gap of the logarithm's eigenvalues over that of the matrix.
                stretch = (math.log(mean + size) - scale) / size if size > 0.0 else 1.0 / mean
                scale -= middle * time
                if by_footpoint:
                    along, across = 1.0, 0.5 * (shrink + 1.0 / shrink)
                elif abs(turn) < 0.01:
                    along, across = (
                        time,
                        time * (1.0 + turn * turn / 6.0 * (1.0 + turn * turn / 20.0)),
                    )
                else:
                    along, across = time, 0.5 * (1.0 / shrink - shrink) / speed
                s11 += along * (scale + stretch * half)
                s22 += along * (scale - stretch * half)
                s12 += across * stretch * off
            g11, g12 = a * cosine, -a * sine
            g21, g22 = b * cosine + c * sine, c * cosine - b * sine
            off = g11 * g21 * s11 + (g11 * g22 + g12 * g21) * s12 + g12 * g22 * s22
            sums[data_set, state, 0] = g11 * g11 * s11 + 2.0 * g11 * g12 * s12 + g12 * g12 * s22
            sums[data_set, state, 1], sums[data_set, state, 2] = off, off
            sums[data_set, state, 3] = g21 * g21 * s11 + 2.0 * g21 * g22 * s12 + g22 * g22 * s22
