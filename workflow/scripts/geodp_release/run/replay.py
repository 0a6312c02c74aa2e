"""Record and replay: calls of noise of a release, replayed on a neighbouring data set.

A release is run once and every call of a noise primitive is recorded with its exact input.  Then it
is run on a neighbouring data set, where each primitive returns what was recorded.  Both runs have
to make the same calls, with inputs that differ by no more than noise is scaled for, and whatever
else leaves them has to be the same.
"""

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from unittest.mock import patch

import numpy as np

from geodp.samplers.integer_choice import ExactChoice, no_noise
from geodp_release.run.noise import ChoiceNoise, Noise


@dataclass(frozen=True)
class Call:
    """A call of a noise primitive: its noise, weights of the points of a choice, private inputs."""

    noise: Noise
    weights: tuple
    inputs: list
    shape: tuple
    output: object

    @property
    def public(self):
        """What has to be the same for neighbours."""
        return type(self.noise).__name__, self.noise.scales, self.weights, self.shape


@dataclass
class Tape:
    """Calls of the noise primitives of one run, whose outputs are those recorded of another."""

    calls: list = field(default_factory=list)
    recorded: list | None = None

    def _output(self, made):
        """The output of a call, or that recorded: noise is drawn all the same, as it takes time."""
        played = (self.recorded or [])[len(self.calls) :][:1]
        if played and played[0].public == made.public:
            made = replace(made, output=played[0].output)
        self.calls.append(made)
        return made.output

    @contextmanager
    def running(self):
        """A context in which primitives are recorded, and played; without noise they are none."""
        add, choose = Noise.add, ExactChoice.draw

        def added(noise, sums, bits):
            if bits is no_noise:
                return add(noise, sums, bits)
            inputs = [int(each) for each in np.ravel(np.array(sums, dtype=object))]
            return self._output(Call(noise, (), inputs, np.shape(sums), add(noise, sums, bits)))

        def chosen(choice, bits):
            if bits is no_noise:
                return choose(choice, bits)
            noise, inputs = ChoiceNoise((choice.rate,)), list(choice.exponents)
            output = choose(choice, bits)
            return self._output(Call(noise, tuple(choice.weights), inputs, (len(inputs),), output))

        with patch.object(Noise, "add", added), patch.object(ExactChoice, "draw", chosen):
            yield self


def call_findings(first, second, stages, rounding=1e-9):
    """What is wrong about the calls of two runs, in words, and the largest share of a budget.

    Stages are those of the public plan: one call each.  Losses are computed in floating point, and
    right up to the relative ``rounding``.
    """
    numbers = len(first.calls), len(second.calls)
    if numbers != (len(stages), len(stages)):
        return [f"{numbers[0]} and {numbers[1]} calls of noise for {len(stages)} stages"], np.inf
    findings, shares = [], [0.0]
    each = zip(first.calls, second.calls, stages, strict=True)
    for number, (one, other, stage) in enumerate(each, start=1):
        if one.public != other.public:
            findings.append(f"stage {number}: noise of another kind, scale or shape")
            continue
        difference = np.array(one.inputs, dtype=object) - np.array(other.inputs, dtype=object)
        loss = one.noise.cost(difference, stage.unit)
        shares.append(loss / float(stage.budget))
        if shares[-1] > 1.0 + rounding:
            findings.append(f"stage {number}: a loss of {loss:g} at a budget of {stage.budget}")
    return findings, max(shares)


def output_findings(first, second):
    """Which outputs of two runs differ, in words; text, bytes or numbers by what they are."""
    return [
        f"{name} differs: {_shortly(first.get(name))} and {_shortly(second.get(name))}"
        for name in sorted(first.keys() | second.keys())
        if first.get(name) != second.get(name)
    ]


def _shortly(value):
    text = repr(value)
    return text if len(text) < 300 else f"{text[:140]} ... {text[-140:]}"
