"""Processor time of a draw of exact samplers, beside OpenDP's where it is installed and has one.

    ./run python benchmarks/sampler_times.py

Ours draw from the operating system's random bits, one call a draw.  OpenDP's draw in one call for a
vector of zeros, so that calls from Python count for nothing; and also one call a draw.
"""

import sys
import time
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))

from geodp.samplers.exact_noise import discrete_gaussian, discrete_laplace, rounded_laplace
from geodp.samplers.integer_choice import ExactChoice, system_bits

# Draws of a timing, timings of which the median is shown, the scale of noise on a sum of
# contributions, and the points of a choice.
DRAWS, REPEATS, SCALE, POINTS = 300, 7, 1 << 27, 4096


def microseconds(call, draws):
    """Median processor time a draw, of calls that make so many each."""
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return 1e6 * float(np.median(seconds)) / draws


def one_by_one(draw):
    return microseconds(lambda: [draw() for _ in range(DRAWS)], DRAWS)


def ours():
    """Time a draw by sampler."""
    found = {
        "discrete Laplace": one_by_one(lambda: discrete_laplace(system_bits, Fraction(SCALE))),
        "discrete Gaussian": one_by_one(lambda: discrete_gaussian(system_bits, Fraction(SCALE**2))),
    }
    for dimension in (1, 3, 14, 96):
        found[f"rounded l2 Laplace, {dimension} dimensions"] = one_by_one(
            lambda d=dimension: rounded_laplace(system_bits, d, Fraction(SCALE))
        )
    losses = np.random.default_rng(0).integers(0, 1 << 16, POINTS)
    weights, rate = [1] * POINTS, Fraction(1, 1 << 10)
    found[f"choice among {POINTS}"] = microseconds(
        lambda: ExactChoice(weights, losses, rate).draw(system_bits), 1
    )
    return found


def of_opendp():
    """Time a draw of OpenDP's by sampler: in one call for all, and in one call each."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    number, many = dp.atom_domain(T=int), dp.vector_domain(dp.atom_domain(T=int))
    found = {}
    for name, make, metric in (
        ("discrete Laplace", dp.m.make_laplace, dp.l1_distance(T=int)),
        ("discrete Gaussian", dp.m.make_gaussian, dp.l2_distance(T=float)),
    ):
        together = make(many, metric, scale=float(SCALE))
        alone = make(number, dp.absolute_distance(T=int), scale=float(SCALE))
        zeros = [0] * DRAWS
        found[name] = (
            microseconds(lambda call=together, zeros=zeros: call(zeros), DRAWS),
            one_by_one(lambda call=alone: call(0)),
        )
    losses = np.random.default_rng(0).integers(0, 1 << 16, POINTS).tolist()
    chosen = dp.m.make_noisy_max(
        many,
        dp.linf_distance(T=int),
        dp.zero_concentrated_divergence(),
        scale=float(1 << 10),
        negate=True,
    )
    time_ = microseconds(lambda: chosen(losses), 1)
    found[f"choice among {POINTS}"] = time_, time_
    return found


def main():
    try:
        theirs = of_opendp()
        print(f"OpenDP {version('opendp')}")
    except ImportError:
        theirs = {}
        print('OpenDP is not installed: pip install ".[opendp]"')
    print(f"{'microseconds a draw':36}{'ours':>10}{'OpenDP':>10}{'one call each':>15}")
    for name, value in ours().items():
        others = theirs.get(name, (np.nan, np.nan))
        print(f"{name:36}{value:10.0f}{others[0]:10.0f}{others[1]:15.0f}")


if __name__ == "__main__":
    main()
