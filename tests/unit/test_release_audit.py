"""An exact audit of releases: privacy losses of each stage between neighbours, and mutants.

No loss is estimated.  The code that draws is run with noise that the test chooses: once without
any, and once with a unit of each noise variable.  So the audit knows what would have been released
without noise, how noise enters, and, from the scales the code asks for, the density of what is
released, for each of two neighbouring data sets.  Of choices it reads the probabilities off the
integers by which they are drawn.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.stats import chisquare, gamma, kstest, laplace, norm

from geodp import SPD, DataError, Euclidean, ReleasePlan, Sphere
from geodp.samplers import exact_noise
from geodp.samplers.integer_choice import PRECISION, ExactChoice, generator_bits
from geodp_release import contributions
from geodp_release.accounting import CONCENTRATED, PURE, UNITS, PrivacyBudget, choice_epsilon
from geodp_release.assumptions import ADD_OR_REMOVE, NEIGHBOURS, REPLACE, Assumptions
from geodp_release.contributions import COVARIATE_LATTICE, LATTICE
from geodp_release.coordinates import WINDOW
from geodp_release.draw import Released
from geodp_release.simulation import Covariates
from geodp_release.stages import (
    CountStage,
    FarStage,
    MomentsStage,
    NoisyStep,
    PointsStage,
    ScaleStage,
)
from geodp_release.stages import points as points_module
from geodp_release.stages import scale as scale_module
from geodp_release.subjects import SubjectRecords, subject_records
from reproduction.measurements.audit import mistakes

SPHERE = Sphere(2)
RANGE = (-0.5, 0.5)
CLIP, FEW = 0.3, 8
# A last released length, of which some residuals are far more than that.
FAR_AWAY = 0.05
KINDS = ("points", "moments", "scale", "far", "step", "count")

# Subjects of a data set, of which the last is replaced or removed; and the limit of its records.
NUMBER, LIMIT = 3, 2


def assumed(manifold=SPHERE, neighbours=REPLACE, number=NUMBER, covariates=1):
    centre, ranges = manifold.random_point(np.random.default_rng(0)), (RANGE,) * covariates
    public = manifold, centre, 0.8, 1.5, ranges, number, LIMIT, neighbours
    return Assumptions(*public, residual_scale=0.1)


def planned(assumptions, *stages):
    """A plan of stages that may cost more than its budget, as one of a mutant does."""
    budget = PrivacyBudget("1e6", stages[0].unit, None if stages[0].unit == PURE else "1e-6")
    return ReleasePlan(assumptions, budget, stages, 1.0, 1.0, 1.0)


def stage_of(kind, unit, budget, covariates=1):
    """A stage of about a budget, and exactly that unless it is a choice."""
    if kind == "points":
        return PointsStage.of(choice_epsilon(budget, unit), unit, FEW, 0.5)
    if kind == "step":
        return NoisyStep(budget, unit, clip=CLIP, prior=(1.0,) * (1 + covariates))
    others = CountStage, FarStage, MomentsStage, partial(ScaleStage, share=0.75)
    return dict(zip(("count", "far", "moments", "scale"), others, strict=True))[kind](budget, unit)


# Neighbouring data sets


@dataclass(frozen=True)
class Neighbours:
    """Two data sets that differ in their last subject, or of which the second lacks it."""

    assumptions: Assumptions
    first: SubjectRecords
    second: SubjectRecords


def extreme_subject(assumptions, state, rng):
    """Covariates and points of a subject: far from a state's geodesic or on it, at the ends."""
    manifold = assumptions.manifold
    p, *vectors = state
    # The moments' worst pairs are an end and the place next to it in this list.
    x = rng.choice([-0.5, -0.125, -0.07, 0.0, 0.5], size=(LIMIT, len(vectors)))
    if rng.random() < 0.6:
        x[:] = x[0]
    if len(vectors) > 1 and rng.random() < 0.5:
        # Of several covariates those of corners.
        x[:] = rng.choice([-0.5, 0.5], size=len(vectors))
    steps = along(manifold, state, x)
    ends = manifold.exp(np.broadcast_to(p, steps.shape), steps)
    # In the same few directions for all subjects, so that some are opposite.
    frame = manifold.frame(p)
    towards = rng.choice([-1.0, 1.0]) * frame[rng.integers(len(frame))]
    directions = manifold.transport(p, steps, towards)
    lengths = rng.choice([0.0, 1e-3, 0.4, 2.0]) * np.ones(LIMIT)
    points = manifold.exp(ends, manifold.expand(lengths) * directions)
    return x, points, int(rng.integers(1, LIMIT + 1))


def along(manifold, state, x):
    """Steps from the footpoint to predictions at covariates (n, k)."""
    return np.tensordot(x, state[1:], axes=1) + np.zeros((len(x), *manifold.point_shape))


def assembled(assumptions, subjects):
    x, y, labels = [], [], []
    for k, (covariates, points, count) in enumerate(subjects):
        x += [*covariates[:count]]
        y += [*points[:count]]
        labels += [k] * count
    shape = (len(y), *assumptions.manifold.point_shape)
    x = np.reshape(x, (len(y), assumptions.number_of_covariates))
    return subject_records(assumptions, x, np.reshape(y, shape), labels)


def opposite_subjects(assumptions, state, rng):
    """Two subjects whose clipped gradients are opposite, all at one end of the range."""
    manifold = assumptions.manifold
    x = np.full((LIMIT, len(state) - 1), rng.choice([-0.5, 0.5]))
    to_end = along(manifold, state, x)[0]
    end = manifold.exp(state[0], to_end)
    step = 2.0 * manifold.transport(state[0], to_end, manifold.frame(state[0])[0])
    shape = (LIMIT, *manifold.point_shape)
    return [(x, np.broadcast_to(manifold.exp(end, each), shape), 1) for each in (step, -step)]


def neighbours_about(assumptions, anchors, rng):
    """A hard pair of neighbours at a state, the first of the anchors, or about the others."""
    number = NUMBER if rng.random() < 0.5 else 1
    assumptions = replace(assumptions, subjects=number)

    def any_subject():
        state = anchors[0 if rng.random() < 0.5 else rng.integers(len(anchors))]
        return extreme_subject(assumptions, state, rng)

    subjects = [any_subject() for _ in range(number)]
    other = any_subject()
    if rng.random() < 0.5:
        subjects = [subjects[0]] * number
    if rng.random() < 0.3:
        subjects[-1], other = opposite_subjects(assumptions, anchors[0], rng)
    first = assembled(assumptions, subjects)
    if assumptions.neighbours == REPLACE:
        return Neighbours(assumptions, first, assembled(assumptions, [*subjects[:-1], other]))
    second = SubjectRecords(*(part[:-1] for part in vars(first).values()))
    pair = (first, second) if rng.random() < 0.5 else (second, first)
    return Neighbours(assumptions, *pair)


# Exact privacy losses


@dataclass
class Scripted:
    """In place of the samplers: noise variables that are chosen, and the scales asked for."""

    values: list = field(default_factory=list)
    kinds: list = field(default_factory=list)
    scales: list = field(default_factory=list)

    def _next(self, kind, scale, number):
        start = len(self.kinds)
        self.kinds += [kind] * number
        self.scales += [scale] * number
        chosen = self.values[start : start + number]
        return [*chosen, *[0] * (number - len(chosen))]

    def rounded_laplace(self, bits, dimension, scale):
        # One norm: variables of one call have one density.
        return self._next(("norm", len(self.kinds)), Fraction(scale), dimension)

    def discrete_laplace(self, bits, scale):
        return self._next(("laplace", len(self.kinds)), Fraction(scale), 1)[0]

    def discrete_gaussian(self, bits, variance):
        return self._next(("gauss", len(self.kinds)), Fraction(variance), 1)[0]

    SAMPLERS = ("rounded_laplace", "discrete_laplace", "discrete_gaussian")


class Followed(ExactChoice):
    """A choice that says how likely each index is, instead of one."""

    def draw(self, bits):
        lower, _ = self._cumulative(PRECISION)
        parts = np.diff([0, *lower])
        bits.append([float(np.log(float(Fraction(int(part), lower[-1])))) for part in parts])
        return 0


def sums_of_moments(stage, noisy, number, assumptions):
    """In place of `MomentsStage.moments`: noisy sums as they are."""
    return noisy * number


def before(assumptions, state, number=NUMBER):
    """What was released before a stage, with covariates that are not in the middle of ranges."""
    moments = Covariates.independent(assumptions.spreads, clustered=True).moments
    if len(moments) == 2:
        # Of one covariate from -1/2 to 0: at the ends of that lie the worst records.
        moments = np.array([-0.25, 0.0625 + (0.25 / WINDOW) ** 2])
    return Released(state, float(number), moments)


def output_of(stage, assumptions, records, state, script):
    """What a stage releases, as numbers linear in sums and noise, by the code that draws."""
    with pytest.MonkeyPatch.context() as patch:
        for name in Scripted.SAMPLERS:
            patch.setattr(exact_noise, name, getattr(script, name))
        patch.setattr(MomentsStage, "moments", sums_of_moments)
        if isinstance(stage, CountStage):
            return np.array([float(stage.noisy_count(assumptions, records, None))])
        if isinstance(stage, FarStage):
            far = stage.noisy_number(assumptions, records, state, FAR_AWAY, None)
            return np.array([far])
        if isinstance(stage, MomentsStage):
            return stage.noisy_moments(assumptions, records, float(NUMBER), None)
        return np.ravel(stage.noisy_means(assumptions, records, before(assumptions, state), None))


UNIT_NOISE = 1 << 30


def noise_of(stage, assumptions, records, state):
    """Output without noise, the matrix by which noise enters, kinds and scales of variables."""
    script = Scripted()
    plain = output_of(stage, assumptions, records, state, script)
    columns = []
    for k in range(len(script.kinds)):
        values = [0] * k + [UNIT_NOISE]
        moved = output_of(stage, assumptions, records, state, Scripted(values))
        columns.append((moved - plain) / UNIT_NOISE)
    return plain, np.array(columns).T, script


def noise_loss(stage, assumptions, first, second, state):
    """Largest privacy loss of a stage with noise; in rho, if the noise is Gaussian."""
    found = [noise_of(stage, assumptions, records, state) for records in (first, second)]
    (plain, matrix, script), (other, other_matrix, other_script) = found
    same = np.allclose(matrix, other_matrix, rtol=1e-9, atol=0.0)
    if not same or (script.kinds, script.scales) != (other_script.kinds, other_script.scales):
        # Densities of different widths have ratios without a bound.
        return np.inf
    shifts = np.linalg.solve(matrix, other - plain)
    total, index = 0.0, 0
    while index < len(shifts):
        kind = script.kinds[index]
        group = [k for k, each in enumerate(script.kinds) if each == kind]
        shift, scale = shifts[group], float(script.scales[index])
        if kind[0] == "gauss":
            total += np.sum(shift**2) / (2.0 * scale)
        else:
            total += np.linalg.norm(shift) / scale
        index += len(group)
    return total


def choice_losses(stage, assumptions, first, second, state):
    """Logarithms of ratios of probabilities of all points."""
    logs = []
    before = Released(state, float(assumptions.subjects), np.zeros(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scale_module, "ExactChoice", Followed)
        if points_module.ExactChoice is ExactChoice:
            patch.setattr(points_module, "ExactChoice", Followed)
        for records in (first, second):
            stage.run(before, assumptions, records, logs)
    first, second = np.array(logs)
    assert np.sum(np.exp(first)) == pytest.approx(1.0, rel=1e-12)
    assert np.sum(np.exp(second)) == pytest.approx(1.0, rel=1e-12)
    return first - second


def loss_of(stage, pair, state):
    """Realised privacy loss of a stage in the unit of its budget."""
    given_ = stage, pair.assumptions, pair.first, pair.second, state
    if not isinstance(stage, PointsStage | ScaleStage):
        return noise_loss(*given_)
    losses = choice_losses(*given_)
    if stage.unit == PURE:
        return np.max(np.abs(losses))
    # A range of losses of length r is r^2 / 8 (`geodp_release.accounting.choice_cost`).
    return np.ptp(losses) ** 2 / 8.0


def largest_loss(stages, assumptions, tries=40, seed=3):
    """Largest loss of all stages together that a search over neighbours finds."""
    rng = np.random.default_rng(seed)
    support = assumptions.support
    # Shooting vectors of the first are zero: there residuals are gradients.
    states = np.concatenate([support.origin[None], support.draw(rng, (1,))])
    largest = 0.0
    for attempt in range(tries):
        state = states[attempt % 2]
        anchors = state[None]
        for stage in stages:
            if isinstance(stage, PointsStage):
                anchors = np.concatenate([anchors, support.even_points(FEW)[0]])
        pair = neighbours_about(assumptions, anchors, rng)
        largest = max(largest, sum(loss_of(stage, pair, state) for stage in stages))
    return largest


# What rounding of floats in the audit itself may add.
SLACK = 1.0 + 1e-9
ONE = Fraction(1)


@pytest.fixture(autouse=True)
def _fast():
    with mistakes.same_sums():
        yield


@pytest.mark.parametrize(
    ("space", "covariates", "unit", "neighbours"),
    [
        *((SPHERE, 1, unit, neighbours) for unit in UNITS for neighbours in NEIGHBOURS),
        # Of the others two pairs, which hold each unit and each kind of neighbours.
        *(
            (space, covariates, unit, neighbours)
            for space, covariates in ((Euclidean(1), 1), (SPD(2), 1), (SPHERE, 0), (SPHERE, 2))
            for unit, neighbours in ((PURE, REPLACE), (CONCENTRATED, ADD_OR_REMOVE))
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", KINDS)
def test_stages_hold_their_budgets_and_come_near_them(kind, unit, neighbours, space, covariates):
    if kind == "moments" and not covariates:
        pytest.skip("a mean has no covariates, whose moments a stage would release")
    assumptions = assumed(space, neighbours, covariates=covariates)
    stage = stage_of(kind, unit, ONE, covariates)
    found = largest_loss([stage], assumptions)
    if kind == "count" and neighbours == REPLACE:
        assert found == 0.0
        return
    assert found <= float(stage.budget) * SLACK
    if kind in ("step", "count", "far"):
        # Clipped to the last thousandth.
        assert found > 0.998
    elif kind == "moments":
        assert found > 0.9
    else:
        # No record of a ball prefers one point and dislikes it as much: the best is about half.
        assert found > 0.35 * float(stage.budget)


@pytest.mark.parametrize(("unit", "neighbours"), [(PURE, ADD_OR_REMOVE), (CONCENTRATED, REPLACE)])
def test_a_plan_holds_its_budget_and_spending_one_twice_is_found(unit, neighbours):
    kinds = ["points", "step", "step", "step"]
    kinds = ["count", *kinds] if neighbours == ADD_OR_REMOVE else kinds
    stages = [stage_of(kind, unit, ONE / len(kinds)) for kind in kinds]
    assumptions = assumed(neighbours=neighbours)
    planned(assumptions, *stages)
    found = largest_loss(stages, assumptions)
    assert 0.7 < found <= SLACK
    # The second step spends what the first one has, and that once more.
    greedy = [*stages[:-1], stage_of("step", unit, ONE)]
    assert largest_loss(greedy, assumptions) > 1.1
    exact = PrivacyBudget("1", unit, None if unit == PURE else "1e-6")
    with pytest.raises(DataError, match="more than the budget"):
        ReleasePlan(assumptions, exact, tuple(greedy), 1.0, 1.0, 1.0)


# Mutants


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("mistake", "kind", "least"),
    [
        *((mistakes.without_factor_two, kind, 1.1) for kind in ("points", "step")),
        # The moments' constants are 9/8 and 1, nearly the same.
        (mistakes.without_factor_two, "moments", 1.08),
        (mistakes.clipping_after_the_sum, "step", 1.2),
        # A record decides how wide the noise is.
        (mistakes.tau_from_the_data, "step", np.inf),
    ],
)
def test_mistakes_are_found(mistake, kind, least, unit):
    stage = stage_of(kind, unit, ONE)
    with mistake(), mistakes.same_sums():
        assert largest_loss([stage], assumed(), tries=64) >= least * float(stage.budget)


class TwiceTheRate(Followed):
    """A choice with a wrong rate."""

    def __init__(self, weights, exponents, rate, most):
        super().__init__(weights, exponents, 2 * rate, most)


def test_a_rate_off_by_a_factor_of_two_is_found(monkeypatch):
    monkeypatch.setattr(points_module, "ExactChoice", TwiceTheRate)
    assert largest_loss([stage_of("points", PURE, ONE)], assumed(), tries=64) > 1.1


def test_the_other_ends_noise_is_no_substitute(monkeypatch):
    """One draw of noise for both ends: their difference is released as it is."""
    noisy_means = NoisyStep.noisy_means

    def shared(stage, assumptions, records, before, bits):
        with pytest.MonkeyPatch.context() as patch:
            one, sampler = [], exact_noise.rounded_laplace

            def repeated(bits, dimension, scale):
                if not one:
                    one.append(sampler(bits, dimension, scale))
                return one[0]

            patch.setattr(exact_noise, "rounded_laplace", repeated)
            return noisy_means(stage, assumptions, records, before, bits)

    monkeypatch.setattr(NoisyStep, "noisy_means", shared)
    with pytest.raises(np.linalg.LinAlgError):
        # As many noise variables as numbers that are released are wanted.
        largest_loss([stage_of("step", PURE, ONE)], assumed())


def rounded_up(lattice_gradients):
    """Contributions on the same lattice, rounded away from zero after they were clipped."""

    def mutant(*given_):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(contributions, "LATTICE", LATTICE << 20)
            fine = lattice_gradients(*given_) / ((1.0 - contributions.MARGIN) * 2.0**20)
        return (np.sign(fine) * np.ceil(np.abs(fine))).astype(np.int64)

    return mutant


def test_contributions_that_are_rounded_up_are_found(monkeypatch):
    """Exactly: norms of integers are compared without roots."""
    assumptions = assumed(number=1)
    state = assumptions.support.origin

    def longest():
        worst = -np.inf
        for seed in range(20):
            rng = np.random.default_rng([4, seed])
            far = SPHERE.exp(assumptions.centre, SPHERE.random_tangent(rng, assumptions.centre))
            records = assembled(assumptions, [([0.3, 0.3], [far, far], 1)])
            coordinates = before(assumptions, state).coordinates
            ends = contributions.gradient_sums(assumptions, records, state, 1e-3, coordinates)
            first, second = (sum(entry**2 for entry in row) for row in ends)
            rest = LATTICE**2 - first - second
            worst = max(worst, 1 if rest < 0 or rest**2 < 4 * first * second else 0)
        return worst

    assert longest() == 0
    mutant = rounded_up(contributions.lattice_gradients)
    monkeypatch.setattr(contributions, "lattice_gradients", mutant)
    assert longest() == 1


# Noise on the lattice


def means_on_the_lattice(assumptions, stage, records):
    """Whether released means are whole numbers in units of the lattice."""
    state = assumptions.support.origin
    bits = [generator_bits(np.random.default_rng([7, seed])) for seed in range(8)]
    released = before(assumptions, state, 1.0)
    found = [stage.noisy_means(assumptions, records, released, each) for each in bits]
    units = np.array(found) * (2 * LATTICE / stage.clip)
    return np.allclose(units, np.rint(units), rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("unit", UNITS)
def test_float_noise_in_a_step_is_found(unit, monkeypatch):
    """What a step releases is on a lattice that is the same for all data."""
    assumptions = assumed(number=1)
    rng = np.random.default_rng(8)
    records = assembled(
        assumptions, [extreme_subject(assumptions, assumptions.support.origin, rng)]
    )
    stage = NoisyStep(Fraction(4), unit, clip=0.25)
    assert means_on_the_lattice(assumptions, stage, records)

    def floats(bits, dimension, scale):
        return (rng.laplace(size=dimension) * float(scale)).tolist()

    monkeypatch.setattr(exact_noise, "rounded_laplace", floats)
    monkeypatch.setattr(
        exact_noise, "discrete_gaussian", lambda bits, v: float(rng.normal() * v**0.5)
    )
    assert not means_on_the_lattice(assumptions, stage, records)


# Noise, drawn: black boxes


DRAWS = 400


def drawn(stage, assumptions, records, state, seed):
    """Released minus what it is without noise, (DRAWS, numbers), with seeded bits."""
    plain = output_of(stage, assumptions, records, state, Scripted())
    found = []
    for k in range(DRAWS):
        bits = generator_bits(np.random.default_rng([seed, k]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MomentsStage, "moments", sums_of_moments)
            if isinstance(stage, MomentsStage):
                noisy = stage.noisy_moments(assumptions, records, float(NUMBER), bits)
            else:
                noisy = stage.noisy_means(assumptions, records, before(assumptions, state), bits)
        found.append(np.ravel(noisy) - plain)
    return np.array(found)


def a_pair(neighbours):
    assumptions = assumed(neighbours=neighbours)
    state = assumptions.support.draw(np.random.default_rng(9), ())
    rng = np.random.default_rng(10)
    subjects = [extreme_subject(assumptions, state, rng) for _ in range(NUMBER)]
    return assumptions, assembled(assumptions, subjects), state


def agrees(sample, distribution):
    return kstest(sample, distribution.cdf).pvalue > 1e-4


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_noise_of_pure_steps_has_gamma_lengths_and_uniform_directions(neighbours):
    assumptions, records, state = a_pair(neighbours)
    stage, changes = NoisyStep(Fraction(1, 2), clip=CLIP), assumptions.changes
    noise = drawn(stage, assumptions, records, state, 11).reshape(DRAWS, 2, 2) * NUMBER
    # Of the ends, from a = e+ + e- and b = (e+ - e-) / 2.
    for sign in (1.0, -1.0):
        ends = 0.5 * noise[:, 0] + sign * noise[:, 1]
        lengths = np.linalg.norm(ends, axis=1)
        assert agrees(lengths, gamma(2, scale=2.0 * changes * CLIP))
        assert not agrees(lengths, gamma(2, scale=1.4 * changes * CLIP))
        angles = np.arctan2(ends[:, 1], ends[:, 0]) / (2.0 * np.pi) + 0.5
        assert kstest(angles, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_noise_of_concentrated_steps_is_normal(neighbours):
    assumptions, records, state = a_pair(neighbours)
    stage = NoisyStep(Fraction(1, 2), CONCENTRATED, clip=CLIP)
    noise = drawn(stage, assumptions, records, state, 12).reshape(DRAWS, 2, 2) * NUMBER
    coordinates = before(assumptions, state).coordinates
    variances = coordinates.variances(stage.noise_in_floats(assumptions), 2)
    for block, variance in enumerate(variances):
        for each in noise[:, block].T:
            assert agrees(each, norm(scale=np.sqrt(variance)))
            assert not agrees(each, norm(scale=2.0 * np.sqrt(variance)))
    # No two of them go together.
    correlations = np.corrcoef(noise.reshape(DRAWS, -1).T) - np.eye(4)
    assert np.max(np.abs(correlations)) < 5.0 / np.sqrt(DRAWS)


@pytest.mark.parametrize(
    ("unit", "family", "neighbours", "scale"),
    [
        (PURE, laplace, REPLACE, 9 / (8 * 0.5)),
        (PURE, laplace, ADD_OR_REMOVE, 1 / 0.5),
        (CONCENTRATED, norm, REPLACE, np.sqrt(1 / (2 * 0.5))),
        (CONCENTRATED, norm, ADD_OR_REMOVE, np.sqrt(1 / (4 * 0.5))),
    ],
)
def test_noise_of_moments_is_that_of_their_scales(unit, family, neighbours, scale):
    """Those of the table in docs/guarantee.md, larger by 1/1024 for rounding."""
    assumptions, records, state = a_pair(neighbours)
    stage = MomentsStage(Fraction(1, 2), unit)
    noise = drawn(stage, assumptions, records, state, 13)
    scales = np.array([scale, scale / 2.0])
    np.testing.assert_allclose(stage.deviations(assumptions), scales * family.std(), rtol=2e-3)
    for each, expected in zip(noise.T, scales, strict=True):
        assert agrees(each, family(scale=expected))
        assert not agrees(each, family(scale=2.0 * expected))
    units = noise * [COVARIATE_LATTICE, 2.0**40]
    np.testing.assert_allclose(units[:, 0], np.rint(units[:, 0]), atol=1e-3)


@pytest.mark.parametrize("unit", UNITS)
def test_noise_of_the_count_is_discrete(unit):
    stage = CountStage(Fraction(1, 2), unit)
    assumptions = assumed(neighbours=ADD_OR_REMOVE)
    records = neighbours_about(
        assumptions, [assumptions.support.origin], np.random.default_rng(0)
    ).first
    bits = [generator_bits(np.random.default_rng([14, k])) for k in range(1200)]
    found = [stage.noisy_count(assumptions, records, each) for each in bits]
    found = np.array(found) - len(records)
    values = np.arange(-60, 61)
    # Privacy loss 1/2 a step; variance 1 / (2 rho) = 1.
    logs = -0.5 * np.abs(values) if unit == PURE else -0.5 * values**2
    chances = np.exp(logs) / np.sum(np.exp(logs))
    kept = np.abs(values) <= 2
    counts = np.array([np.sum(found == value) for value in values[kept]])
    counts = np.append(counts, len(found) - counts.sum())
    expected = np.append(chances[kept], 1.0 - chances[kept].sum()) * len(found)
    assert chisquare(counts, expected).pvalue > 1e-4


def test_choices_are_drawn_as_likely_as_the_audit_says():
    assumptions, records, state = a_pair(REPLACE)
    stage, before = stage_of("points", PURE, 8 * ONE), Released(state, NUMBER, np.zeros(0))
    logs, shared = [], {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points_module, "ExactChoice", Followed)
        stage.run(before, assumptions, records, logs)
    states, volumes = assumptions.support.even_points(stage.points)
    assert np.all(volumes > 0.0)
    counts = np.zeros(FEW, dtype=int)
    for k in range(1500):
        bits = generator_bits(np.random.default_rng([15, k]))
        found = stage.run(before, assumptions, records, bits, shared).state
        counts[np.flatnonzero(np.all(states == found, axis=(1, 2)))] += 1
    assert counts.sum() == 1500
    assert chisquare(counts, np.exp(logs[0]) * 1500).pvalue > 1e-4
