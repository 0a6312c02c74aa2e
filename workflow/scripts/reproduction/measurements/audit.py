"""What the audit measures: rows of its tables, from its settings."""

from fractions import Fraction

import numpy as np

from geodp.audit.attack import attack, dependence
from geodp.audit.change import largest_change
from geodp.audit.joint import certified_law, joint_loss, search_joint_loss
from geodp.audit.published import (
    SPHERE,
    VARIANTS,
    SphereSetting,
    pair_loss,
    realised_loss,
    search_change,
    search_loss,
    two_point_laws,
    two_points,
)
from geodp.audit.search import Pair, RecordDomain, worst_neighbour
from geodp.data.simulate import simulate_geodesic_data
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.certified import SCORES, Certified, PublicInputs, map_records
from geodp.mechanisms.kng_as_published import AsPublished, configured_support
from geodp.models.regression import fit
from geodp.models.sensitivity import published_sensitivity
from geodp.randomness import random_stream
from geodp.samplers import choice, public_points
from geodp.samplers.base import run
from geodp.samplers.integer_choice import generator_bits
from reproduction.measurements.rats import observed_rats

CENTRE = np.array([0.0, 0.0, 1.0])

CERTIFIED = "certified"
TWO_POINTS = {1.0: "two points, residuals clipped", 2.0: "two points, clipped, factor 2"}
CERTIFIED_TWO_POINTS = "two points, certified"
UNIT = (0.0, 1.0)

# Published densities whose gradient's change is compared with what it is said to be.
MOVED = (
    "tau shared, v fixed",
    "tau shared, v fixed, any footpoint",
    "residuals clipped",
    "shooting vector, tau shared",
    "shooting vector, residuals clipped",
)

# Beyond the reach of records, wherever the certified law must hold.
ANYWHERE = 3.1

# Records from which on half the points must do for the certified law.
MANY = 500

# Public inputs of the certified law for two points: the whole sphere, next to no slope, and an
# offset that leaves all to the gradient.
TWO_POINT_SHAPE = {
    "footpoint_radius": np.pi,
    "shooting_vector_length": 1e-3,
    "covariate_range": UNIT,
    "loss_scale": 3.0,
    "number": 2,
    "loss_offset": 0.999,
}

AUDIT_COLUMNS = [
    *("pair", "mechanism", "quantity", "n", "stated", "realised", "error", "verdict", "tau"),
    *("scale_1", "scale_2", "log_constant_1", "log_constant_2", "place", "geodesics"),
]
NEIGHBOUR_COLUMNS = ["pair", "record", "data_set", "x", "y1", "y2", "y3"]

# Of a loss, whose error may leave it open.
VERDICTS = ("exceeded", "not exceeded", "undecided")


def sphere_data(settings, seed, number):
    """Covariates (n,) and points (n, 3) in the public ball, about a geodesic through its middle."""
    rng = random_stream(seed, "audit", f"n{number}", "data")
    along = 0.5 * settings["geodesic_length"] * SPHERE.frame(CENTRE)[0]
    first, last = SPHERE.exp(CENTRE, -along), SPHERE.exp(CENTRE, along)
    made = simulate_geodesic_data(
        rng,
        SPHERE,
        1,
        number,
        settings["noise_variance"],
        first_point=first,
        last_point=last,
    )
    return made.covariates[0], record_domain(settings).pull_inside(made.points[0])


def record_domain(settings):
    return RecordDomain(SPHERE, CENTRE, settings["ball_radius"], UNIT)


def sphere_setting(settings):
    return SphereSetting(CENTRE, settings["ball_radius"], settings["tau"])


def certified_inputs(settings, number):
    """Public inputs of the certified mechanism on the sphere."""
    names = (
        "footpoint_radius",
        "shooting_vector_length",
        "gradient_scale",
        "loss_scale",
        "loss_offset",
    )
    return PublicInputs(
        SPHERE,
        CENTRE,
        covariate_range=UNIT,
        number=number,
        **{name: settings[name] for name in names},
    )


def two_point_inputs(tau, manifold=SPHERE, centre=CENTRE, **others):
    """Public inputs of the certified mechanism for two points, some of them others if wanted."""
    return PublicInputs(manifold, centre, gradient_scale=tau, **TWO_POINT_SHAPE | others)


def numbers_of(array):
    """An array as text that gives back every digit."""
    return " ".join(repr(float(value)) for value in np.ravel(array))


def verdict(loss, error, stated):
    """Whether a pair's loss, known up to an error, exceeds what is stated: in words.

    Parameters
    ----------
    loss, error, stated : float

    Returns
    -------
    str
        One of `VERDICTS`; undecided where the interval of the loss has the stated one inside, or
        where one of the numbers is no number.
    """
    exceeded, not_exceeded, undecided = VERDICTS
    if loss - error > stated:
        return exceeded
    return not_exceeded if loss + error <= stated else undecided


def audit_row(name, quantity, number, budget, found, **others):
    """One line of the audit's table."""
    line = dict.fromkeys(AUDIT_COLUMNS, "")
    line |= {
        "pair": f"{name} | n {number} | {budget:g}",
        "mechanism": name,
        "quantity": quantity,
        "n": number,
        "stated": budget,
        "realised": found.loss,
        "error": found.error,
        "verdict": verdict(found.loss, found.error, budget),
        "log_constant_1": found.log_constants[0],
        "log_constant_2": found.log_constants[1],
        "place": numbers_of(found.place),
    }
    return line | others


def neighbour_rows(name, pair):
    """The records of a pair: those of both data sets once, and the two that differ."""
    rows = []
    for record in range(pair.covariates.shape[1]):
        differs = record == pair.record
        for which in (0, 1) if differs else (0,):
            x, y = pair.covariates[which, record], pair.points[which, record]
            data_set = "both" if not differs else ("first", "second")[which]
            rows.append(dict(zip(NEIGHBOUR_COLUMNS, (name, record, data_set, x, *y), strict=True)))
    return rows


def published_row(variant, found, number, budget):
    return audit_row(
        variant.name,
        variant.block.replace("_", " "),
        number,
        budget,
        found,
        tau=float(np.max(found.scale)) * number * budget / (2.0 * variant.factor),
        scale_1=found.scale[0],
        scale_2=found.scale[1],
        geodesics=numbers_of([found.footpoint, found.shooting_vector]),
    )


def measure_losses(settings, number, budgets):
    """Realised losses of every mechanism on the sphere at one n; of the worst case at two.

    Parameters
    ----------
    settings : dict
        Of config/audit.yaml.
    number : int
        n.
    budgets : list of float
        Stated.

    Returns
    -------
    tuple of list
        Rows of audit.csv and of neighbours.csv.
    """
    if number == 2:
        return measure_two_points(settings, budgets)
    sphere, seed = settings["sphere"], settings["seed"]
    first = sphere_data(sphere, seed, number)
    setting, domain = sphere_setting(sphere), record_domain(sphere)
    search = sphere["search"]
    effort = {
        "candidates": max(8, min(search["candidates"], search["work"] // number)),
        "rounds": search["rounds"],
    }
    rows, neighbours = [], []

    def keep(row, pair):
        rows.append(row)
        neighbours.extend(neighbour_rows(row["pair"], pair))

    for budget in budgets:
        for variant in VARIANTS.values():
            rng = random_stream(seed, "audit", f"n{number}", f"{budget:g}", variant.name)
            loss = search_loss(variant, setting, budget, first)
            pair, _ = worst_neighbour(rng, *first, domain, loss, **effort)
            found = pair_loss(rng, variant, setting, budget, pair)
            keep(published_row(variant, found, number, budget), pair)
        public = certified_inputs(settings["certified"], number)
        rng = random_stream(seed, "audit", f"n{number}", f"{budget:g}", CERTIFIED)
        loss = search_joint_loss(certified_law, public, budget, first)
        anywhere = RecordDomain(SPHERE, CENTRE, ANYWHERE, UNIT)
        pair, _ = worst_neighbour(rng, *first, anywhere, loss, **effort)
        found = certified_loss(rng, settings, CERTIFIED, pair, budget)
        row = audit_row(CERTIFIED, "geodesic", number, budget, found, tau=public.gradient_scale)
        keep(row, pair)
    return rows, neighbours


def measure_two_points(settings, budgets):
    """Realised losses for the two records of the worst case, at every budget."""
    chosen, seed = settings["two_points"], settings["seed"]
    pair = two_points(chosen["angle"])
    rows, neighbours = [], []
    for budget in budgets:
        for factor, name in TWO_POINTS.items():
            rng = random_stream(seed, "audit", name, f"{budget:g}")
            found = realised_loss(rng, two_point_laws(pair, chosen["tau"], budget, factor))
            rows.append(
                audit_row(
                    name,
                    "footpoint",
                    2,
                    budget,
                    found,
                    tau=chosen["tau"],
                    scale_1=found.scale[0],
                    scale_2=found.scale[1],
                    geodesics=numbers_of([found.footpoint, found.shooting_vector]),
                )
            )
        rng = random_stream(seed, "audit", CERTIFIED_TWO_POINTS, f"{budget:g}")
        found = certified_loss(rng, settings, CERTIFIED_TWO_POINTS, pair, budget)
        rows.append(
            audit_row(CERTIFIED_TWO_POINTS, "geodesic", 2, budget, found, tau=chosen["tau"])
        )
        for row in rows[-3:]:
            neighbours.extend(neighbour_rows(row["pair"], pair))
    return rows, neighbours


def read_pair(neighbours, name):
    """The `Pair` of a name, from the table of neighbours."""
    part = neighbours[neighbours["pair"] == name].sort_values("record", kind="stable")
    data_sets = [part[part["data_set"] != other] for other in ("second", "first")]
    return Pair(
        np.stack([data["x"].to_numpy() for data in data_sets]),
        np.stack([data[["y1", "y2", "y3"]].to_numpy() for data in data_sets]),
        int(part.loc[part["data_set"] == "first", "record"].iloc[0]),
    )


def recompute(settings, row, neighbours, name):
    """The loss of one line of the audit's table, from its neighbours alone.

    Parameters
    ----------
    settings : dict
        Of config/audit.yaml.
    row : mapping
        The line.
    neighbours : DataFrame
    name : str
        Of the pair.

    Returns
    -------
    Realised or JointLoss
    """
    pair, mechanism, budget = read_pair(neighbours, name), row["mechanism"], float(row["stated"])
    rng = random_stream(settings["seed"], "audit", "again", name)
    if mechanism in VARIANTS:
        setting = sphere_setting(settings["sphere"])
        return pair_loss(rng, VARIANTS[mechanism], setting, budget, pair)
    if mechanism in (CERTIFIED, CERTIFIED_TWO_POINTS):
        return certified_loss(rng, settings, mechanism, pair, budget)
    factor = next(factor for factor, known in TWO_POINTS.items() if known == mechanism)
    return realised_loss(rng, two_point_laws(pair, settings["two_points"]["tau"], budget, factor))


def certified_loss(rng, settings, mechanism, pair, budget):
    """Realised loss of the certified mechanism for a pair of a search, or for two points."""
    chosen, number = settings["certified"], pair.covariates.shape[1]
    repetitions = chosen["repetitions"]
    if mechanism == CERTIFIED_TWO_POINTS:
        public = two_point_inputs(settings["two_points"]["tau"])
        # The law is nearly flat, and all of the points are spread evenly.
        power = chosen["power"] + 4
        return joint_loss(
            rng, certified_law, public, pair, budget, power, repetitions, proposals=[]
        )
    power = chosen["power"] - (number > MANY)
    public = certified_inputs(chosen, number)
    return joint_loss(rng, certified_law, public, pair, budget, power, repetitions)


def sensitivity_inputs(manifold, number):
    """Public inputs of a search on any space; those of lengths in its own unit."""
    centre = manifold.random_point(np.random.default_rng(0))
    return PublicInputs(
        manifold,
        centre,
        footpoint_radius=0.6,
        shooting_vector_length=1.2,
        covariate_range=UNIT,
        gradient_scale=0.3,
        loss_scale=0.4,
        number=number,
        loss_offset=0.2,
    )


def measure_sensitivity(settings):
    """How far a record moves each score on each space, as a fraction of its sensitivity."""
    chosen, rows = settings["sensitivity"], []

    def keep(mechanism, manifold, score, number, found):
        rows.append(
            {
                "mechanism": mechanism,
                "space": manifold.name,
                "dimension": manifold.dim,
                "score": score,
                "n": number,
                "largest_fraction": np.max(found),
                "median_fraction": np.median(found),
                "searches": len(found),
                "rounds": chosen["rounds"],
                "at_most_one": bool(np.max(found) <= 1.0),
            }
        )

    for space in chosen["spaces"]:
        manifold = make_manifold(space["name"], space["size"])
        public = sensitivity_inputs(manifold, chosen["n"])
        for score in SCORES:
            rng = random_stream(settings["seed"], "audit", "sensitivity", manifold.name, score)
            effort = {name: chosen[name] for name in ("searches", "rounds")}
            found = largest_change(rng, public, score, **effort)
            keep(CERTIFIED, manifold, score, chosen["n"], found)
    sphere, seed = settings["sphere"], settings["seed"]
    number = sphere["n"][0]
    first = sphere_data(sphere, seed, number)
    for name in MOVED:
        change = search_change(VARIANTS[name], sphere_setting(sphere), first)
        rng = random_stream(seed, "audit", "sensitivity", name)
        _, found = worst_neighbour(
            rng, *first, record_domain(sphere), change, rounds=sphere["search"]["rounds"]
        )
        keep(name, SPHERE, "norm of a gradient", number, np.array([found]))
    return rows


# Attacks from released draws alone


def published_footpoints(manifold, budget, data_radius=None):
    """The published footpoint's draws, as the workflow makes them.

    Returns
    -------
    callable
        From a generator, data (covariates, points) and a number to draws (number, 1,
        *point_shape).
    """

    def draw(rng, data, number):
        covariates, points = (part[None] for part in data)
        found = fit(manifold, covariates, points)
        sensitivity = published_sensitivity(
            manifold, found.largest_residual, covariates.shape[-1], data_radius
        )
        support = configured_support(manifold, sensitivity)
        mechanism = AsPublished(manifold, covariates, points, found, sensitivity, support)
        target = mechanism.footpoint_target(budget)
        plan = choice.plan(rng, target, number)
        state, _ = run(rng, plan.sampler, target, number, plan.steps)
        return state.position[0][:, None]

    return draw


def released_geodesics(public, budget, power):
    """The certified mechanism's draws as a release makes them, but for where random bits come from.

    Parameters
    ----------
    public : PublicInputs
    budget : float
        At which it is run.
    power : int
        One choice is made, among 2^power public points.

    Returns
    -------
    callable
        From a generator, data (covariates, points) and a number to draws (number, 2,
        *point_shape).
    """
    stages = (public_points.Stage(Fraction(str(budget)), 1 << power),)

    def draw(rng, data, number):
        covariates, points = (part[None] for part in data)
        law = Certified(public, map_records(public, covariates, points))
        return public_points.draw(law, stages, generator_bits(rng), number)[0]

    return draw


def one_far(manifold, centre, direction, number, place, far):
    """Neighbours that differ in where one record lies: far away on one side or on the other.

    All the others lie in one place of the same line.  On the far side of that place, as seen from
    the centre, they pull with the last record of one data set and against that of the other; on
    the near side, where most of a ball of footpoints lies, it is the other way round.  So one law
    is denser by up to exp(eps / 2) in the small part beyond, and the other's constant is larger by
    nearly as much.  On the sphere two records do better (`two_points`): a record and its antipode
    pull in opposite directions everywhere.

    Parameters
    ----------
    manifold : Manifold
    centre, direction : ndarray, shape point_shape
        Of the line; a point, and a unit vector there.
    number : int
        n.
    place, far : float
        How far along the line the others lie, and the last one.

    Returns
    -------
    Pair
    """
    steps = np.full((2, number), place)
    steps[:, -1] = -far, far
    points = manifold.exp(centre, manifold.expand(steps) * direction)
    return Pair(np.full((2, number), 0.5), points, number - 1)


def mistyped(data, covariate=1.0):
    """A data set, and the one in which the record of least covariate has another."""
    covariates, points = data
    record = int(np.argmin(covariates))
    changed = covariates.copy()
    changed[record] = covariate
    return Pair(np.stack([covariates, changed]), np.stack([points, points]), record)


def rats_data(path):
    """The rats' records, covariates scaled to [0, 1]."""
    manifold = make_manifold("kendall", 8)
    records = observed_rats(manifold, path)
    return manifold, (records.covariates, records.points)


def spd_data(seed, number=20):
    """Simulated records on SPD(2)."""
    manifold = make_manifold("spd", 2)
    made = simulate_geodesic_data(
        random_stream(seed, "audit", "spd", "data"),
        manifold,
        1,
        number,
        0.001,
        shooting_vector_length=0.6,
        first_point=np.eye(2),
        ambient_noise=False,
    )
    return manifold, (made.covariates[0], made.points[0])


def sphere_case(chosen):
    """A name, public inputs and neighbours for a joint law on the sphere, from settings."""
    return "two records", two_point_inputs(chosen["tau"]), two_points(chosen["angle"])


def spd_case(chosen):
    """The same on SPD(2): on the line of multiples of the identity, which no curvature bends."""
    manifold, centre = make_manifold("spd", 2), np.eye(2)
    public = two_point_inputs(
        chosen["tau"],
        manifold,
        centre,
        footpoint_radius=chosen["footpoint_radius"],
        number=chosen["n"],
    )
    direction = centre / manifold.norm(centre, centre)
    pair = one_far(manifold, centre, direction, chosen["n"], chosen["place"], chosen["far"])
    return "one record far away", public, pair


def measure_black_box(settings, rats):
    """Bounds of budgets from draws alone: the published footpoint, and joint laws.

    Parameters
    ----------
    settings : dict
        Of config/audit.yaml.
    rats : path
        Table of the rats' landmarks.
    """
    chosen, seed = settings["black_box"], settings["seed"]
    rows = []

    def measure(mechanism, manifold, centre, draw, pair, number, stated, run_at, data):
        names = (seed, "audit", "black box", mechanism, data, f"{run_at:g}")
        draws = [
            draw(random_stream(*names, f"{which}"), (x, y), number)
            for which, (x, y) in enumerate(zip(pair.covariates, pair.points, strict=True))
        ]
        found = attack(manifold, centre, draws, pair, chosen["confidence"])
        rows.append(
            {
                "mechanism": mechanism,
                "data": data,
                "space": manifold.name,
                "n": pair.covariates.shape[1],
                "stated": stated,
                "run_at": run_at,
                "lower_bound": found.bound,
                "confidence": chosen["confidence"],
                "caught": bool(found.bound > stated),
                "estimate": found.estimate,
                "share": found.shares[0],
                "other_share": found.shares[1],
                "event": found.statistic,
                "draws": number,
                "independence_p": dependence(
                    random_stream(*names, "independence"), manifold, draws
                ),
            }
        )

    stated = chosen["stated"]
    for (manifold, data), name, radius in (
        (rats_data(rats), "rats, one age mistyped", None),
        (spd_data(seed), "simulated, one covariate mistyped", 1.0),
    ):
        draw = published_footpoints(manifold, stated, radius)
        centre = fit(manifold, *data).footpoint
        number = chosen["published_draws"]
        pair = mistyped(data)
        measure(
            "footpoint as published", manifold, centre, draw, pair, number, stated, stated, name
        )
    for name, public, pair in (sphere_case(chosen["two_points"]), spd_case(chosen["one_far"])):
        for run_at in (stated, chosen["times"] * stated):
            measure(
                CERTIFIED,
                public.manifold,
                public.centre,
                released_geodesics(public, run_at, chosen["power"]),
                pair,
                chosen["joint_draws"],
                stated,
                run_at,
                name,
            )
    return rows
