"""From a configuration to studies, groups of data sets, budget cells and jobs.

A *group* is what shares data sets: one (n, noise variance) of a simulated study, or the one
table of an observed study.  A *cell* is a group and a pair of budgets.  Jobs take cells of a
group in blocks.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from geodp.budgets import budget_pairs, cell_name
from geodp.errors import DataError


class ConfigurationError(DataError):
    """A configuration that cannot be run; the message names the key and the remedy."""


@dataclass(frozen=True)
class Block:
    """Cells of one group that one job samples; ``cells`` maps names to budget pairs."""

    study: str
    group: str
    sampler: str
    index: int
    cells: dict

    @property
    def name(self):
        return f"{self.study}_{self.group}_{self.sampler}_{self.index}"


@dataclass(frozen=True)
class Study:
    """One study of a configuration, expanded.

    Attributes
    ----------
    name : str
    settings : dict
        Its part of the configuration, defaults filled in.
    groups : dict
        From a group's name to ``{"n": ..., "noise_variance": ...}``.
    cells : dict
        From a group's name to its cells, a dict of budget pairs by name.
    grids : list of tuple
        (grid, group, cell) for every use of a cell.
    """

    name: str
    settings: dict
    cells_per_job: int
    groups: dict = field(default_factory=dict)
    cells: dict = field(default_factory=dict)
    grids: list = field(default_factory=list)

    @property
    def simulated(self):
        return self.settings["data"]["source"] == "simulated"

    @cached_property
    def blocks(self):
        compared = {}
        for entry in self.settings["random_walk"]["cells"]:
            pair = self.cells[entry["group"]][entry["cell"]]
            compared.setdefault(entry["group"], {})[entry["cell"]] = pair
        blocks = []
        for sampler, cells_of in (("matched", self.cells), ("random_walk", compared)):
            for group, cells in cells_of.items():
                names = list(cells)
                for index, start in enumerate(range(0, len(names), self.cells_per_job)):
                    chosen = {
                        cell: cells[cell] for cell in names[start : start + self.cells_per_job]
                    }
                    blocks.append(Block(self.name, group, sampler, index, chosen))
        return blocks

    @cached_property
    def sampled(self):
        """Every sampled cell: group, cell, budgets and sampler."""
        return [
            {"group": block.group, "cell": cell, "budgets": budgets, "sampler": block.sampler}
            for block in self.blocks
            for cell, budgets in block.cells.items()
        ]

    @property
    def splits(self):
        """Whether a budget grid splits one total, rather than halving several; by grid."""
        return {grid: "total" in part for grid, part in self.settings["budgets"].items()}

    @property
    def length_unit(self):
        """The unit of distances: radians on spheres and shapes, else none unless configured."""
        given = self.settings["length_unit"]
        if given is not None:
            return given
        return "rad" if self.settings["manifold"]["name"] in ("sphere", "kendall") else ""

    def sampler_settings(self, sampler):
        """What a block's draws and traces depend on, for one of the samplers."""
        matched, walk = self.settings["sampler"], self.settings["random_walk"]
        if sampler == "matched":
            return dict(matched)
        traces = {key: matched[key] for key in ("chains", "states")}
        return traces | {key: walk[key] for key in ("steps", "step_scale")}

    def shapes_group(self, figure):
        """The group whose shapes a figure shows: the one it names, else the study's first."""
        return self.settings["figures"][figure].get("group", next(iter(self.groups)))

    def curve_groups(self, figure):
        """Groups of a figure of curves, each with its budget pairs in the figure's grids."""
        chosen = self.settings["figures"][figure]
        return [
            {
                "group": group,
                **self.groups[group],
                "budgets": [
                    self.cells[group][cell]
                    for grid, owner, cell in self.grids
                    if owner == group and grid in chosen["grids"]
                ],
            }
            for group in chosen["groups"]
        ]


def load_schema(path):
    """The JSON schema of a configuration."""
    import yaml

    return yaml.safe_load(Path(path).read_text())


def validate(configuration, schema):
    """Check a configuration against its schema and fill in defaults, in place.

    Raises
    ------
    ConfigurationError
        One sentence with the path of the key.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    _fill_defaults(configuration, schema, schema)
    problem = best_match(Draft202012Validator(schema).iter_errors(configuration))
    if problem is not None:
        raise ConfigurationError(_sentence(problem))
    _refuse_infinite(configuration)


def _refuse_infinite(value, place=""):
    """Refuse .nan and .inf, which are numbers to a schema and may pass its limits."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(
            f"configuration key {place}: {value} is not finite: give a finite number"
        )
    if isinstance(value, dict):
        for key, part in value.items():
            _refuse_infinite(part, _join(place, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            _refuse_infinite(part, f"{place}[{index}]")


def _fill_defaults(value, schema, root):
    from copy import deepcopy

    from jsonschema import Draft202012Validator

    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "if" in schema:
        holds = Draft202012Validator(schema["if"]).is_valid(value)
        _fill_defaults(value, schema.get("then" if holds else "else", {}), root)
    if isinstance(value, dict):
        for key, part in schema.get("properties", {}).items():
            if "default" in part and key not in value:
                value[key] = deepcopy(part["default"])
            if key in value:
                _fill_defaults(value[key], part, root)
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            for part in value.values():
                _fill_defaults(part, extra, root)
    elif isinstance(value, list) and "items" in schema:
        for part in value:
            _fill_defaults(part, schema["items"], root)


def _sentence(problem):
    from difflib import get_close_matches

    place = _place(problem.absolute_path)
    found, limit = problem.instance, problem.validator_value
    if problem.validator == "additionalProperties":
        known = list(problem.schema.get("properties", {}))
        unknown = next(key for key in found if key not in known)
        near = get_close_matches(str(unknown), known, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(known)}"
        return f"configuration key {_join(place, unknown)} is unknown: {remedy}"
    if problem.validator == "required":
        missing = next(key for key in limit if key not in found)
        return f"configuration key {_join(place, missing)} is missing: add it"
    remedies = {
        "minimum": "{found} is too small: give {limit} or more",
        "exclusiveMinimum": "{found} is too small: give a number above {limit}",
        "exclusiveMaximum": "{found} is too large: give a number below {limit}",
        "enum": "{found!r} is not known: give one of {choices}",
        "type": "{found!r} has the wrong type: give {choices}",
        "minItems": "the list is empty: give at least one entry",
        "minProperties": "it is empty: give at least one entry",
        "pattern": "{found!r} is not allowed: it must match {limit}",
    }
    # What else can fail are choices between several forms.
    remedy = remedies.get(
        problem.validator,
        "{found!r} has none of the forms this key may take: config/config.yaml explains them",
    )
    choices = ", ".join(map(str, limit if isinstance(limit, list) else [limit]))
    text = remedy.format(found=found, limit=limit, choices=choices)
    return f"configuration key {place or '(top)'}: {text}"


def _place(path):
    place = ""
    for part in path:
        place = f"{place}[{part}]" if isinstance(part, int) else _join(place, part)
    return place


def _join(place, key):
    return f"{place}.{key}" if place else str(key)


def expand(configuration):
    """Studies of a validated configuration, by name.

    Raises
    ------
    ConfigurationError
    """
    return {
        name: _expand_study(name, settings, configuration["cells_per_job"])
        for name, settings in configuration["studies"].items()
    }


def _expand_study(name, settings, cells_per_job):
    study = Study(name, settings, cells_per_job)
    key = f"studies.{name}"
    budgets = {
        grid: budget_pairs(part, f"configuration key {key}.budgets.{grid}")
        for grid, part in settings["budgets"].items()
    }
    for index, entry in enumerate(settings["cells"]):
        place = f"{key}.cells[{index}]"
        for grid in entry["budgets"]:
            if grid not in budgets:
                raise ConfigurationError(
                    f"configuration key {place}.budgets: there is no grid {grid} under "
                    f"{key}.budgets (there are: {', '.join(budgets)})"
                )
            for group, properties in _groups(study, entry, place):
                study.groups[group] = properties
                cells = study.cells.setdefault(group, {})
                for pair in budgets[grid]:
                    cells[cell_name(*pair)] = pair
                    member = (grid, group, cell_name(*pair))
                    # Two entries, or a budget given twice, may ask for the same cell.
                    if member not in study.grids:
                        study.grids.append(member)
    _check_manifold(study, key)
    _check_table(study, key)
    _check_support(study, key)
    _check_comparison(study, key)
    _check_neighbours(study, key)
    _check_figures(study, key)
    return study


def group_name(number, noise_variance):
    """Name of a group of simulated data sets."""
    return f"n{number}_noise{noise_variance}"


def _groups(study, entry, place):
    given = "n" in entry or "noise_variance" in entry
    if not study.simulated:
        if given:
            raise ConfigurationError(
                f"configuration key {place}: n and noise_variance belong to simulated data and "
                "this study reads a table: remove them"
            )
        return [("observed", {"n": None, "noise_variance": None})]
    if "n" not in entry or "noise_variance" not in entry:
        raise ConfigurationError(
            f"configuration key {place}: simulated data need n and noise_variance: add them"
        )
    for index, noise in enumerate(entry["noise_variance"]):
        _check_variance(noise, f"{place}.noise_variance[{index}]")
    return [
        (group_name(n, noise), {"n": n, "noise_variance": noise})
        for noise in map(str, entry["noise_variance"])
        for n in entry["n"]
    ]


def _check_variance(value, place):
    """A variance may be text, so that its digits stay as they are in names."""
    try:
        positive = 0.0 < float(value) < math.inf
    except ValueError:
        positive = False
    if not positive:
        raise ConfigurationError(
            f"configuration key {place}: {value!r} is not a number above zero: give a variance "
            'such as "0.001"'
        )


def _check_neighbours(study, key):
    _check_variance(
        study.settings["neighbours"]["noise_variance"], f"{key}.neighbours.noise_variance"
    )


def _check_manifold(study, key):
    manifold, data = study.settings["manifold"], study.settings["data"]
    if manifold["name"] == "kendall" and manifold["size"] < 3:
        raise ConfigurationError(
            f"configuration key {key}.manifold.size: {manifold['size']} is too small: planar "
            "shapes need 3 landmarks or more"
        )
    if manifold["name"] == "spd":
        if manifold["size"] > 1 and study.settings["data_radius"] is None:
            raise ConfigurationError(
                f"configuration key {key}.data_radius is missing: the sensitivity under negative "
                "curvature needs the public radius of a ball that holds the data: add it"
            )
        if data.get("noise") == "ambient":
            raise ConfigurationError(
                f"configuration key {key}.data.noise: ambient noise can leave the positive "
                "definite matrices: set it to tangent"
            )


def _check_table(study, key):
    path = study.settings["data"].get("path")
    if path is not None and not Path(path).is_file():
        raise ConfigurationError(
            f"configuration key {key}.data.path: there is no file {path} (seen from {Path.cwd()}): "
            "put it there or correct the path"
        )


def _check_support(study, key):
    support, neighbours = study.settings["support"], study.settings["neighbours"]
    centre, radius = support["footpoint_centre"], support["footpoint_radius"]
    if (centre is None) != (radius is None):
        missing = "footpoint_centre" if centre is None else "footpoint_radius"
        raise ConfigurationError(
            f"configuration key {key}.support.{missing} is missing: a ball of footpoints needs a "
            "centre and a radius"
        )
    if centre == "truth" and not study.simulated:
        raise ConfigurationError(
            f"configuration key {key}.support.footpoint_centre: there is no truth for observed "
            "data: give coordinates"
        )
    if neighbours["n"] and not study.simulated:
        raise ConfigurationError(
            f"configuration key {key}.neighbours.n: pairs of neighbours are simulated and this "
            "study reads a table: remove it"
        )


def _check_comparison(study, key):
    for index, entry in enumerate(study.settings["random_walk"]["cells"]):
        if entry["cell"] not in study.cells.get(entry["group"], {}):
            raise ConfigurationError(
                f"configuration key {key}.random_walk.cells[{index}]: there is no cell "
                f"{entry['cell']} in group {entry['group']} (groups: {', '.join(study.groups)})"
            )


# As many styles of curves there are in geodp.plotting, which would load Matplotlib here.
MOST_CURVES = 4

# Keys of a figure that its kind cannot do without, and those it may have.
FIGURE_KEYS = {
    "error": ({"grids"}, {"groups", "curves"}),
    "curves": ({"grids", "groups"}, set()),
    "ratios": (set(), set()),
    "samplers": (set(), set()),
    "shapes": ({"cell", "values"}, {"group", "draws"}),
}


def _check_figures(study, key):
    for name, figure in study.settings["figures"].items():
        place = f"configuration key {key}.figures.{name}"
        needed, allowed = FIGURE_KEYS[figure["kind"]]
        given = set(figure) - {"kind"}
        for missing in sorted(needed - given):
            raise ConfigurationError(
                f"{place}.{missing} is missing: a figure of kind {figure['kind']} needs it"
            )
        for extra in sorted(given - needed - allowed):
            raise ConfigurationError(
                f"{place}.{extra}: a figure of kind {figure['kind']} has no such key: remove it"
            )
        used = {grid for grid, _, _ in study.grids}
        for grid in figure.get("grids", []):
            if grid not in used:
                raise ConfigurationError(f"{place}.grids: no cells use a grid {grid}")
        groups = [*figure.get("groups", []), *([figure["group"]] if "group" in figure else [])]
        for group in groups:
            if group not in study.groups:
                raise ConfigurationError(
                    f"{place}: there is no group {group} (there are: {', '.join(study.groups)})"
                )
        _check_groups_in_grids(study, figure, place)
        if figure["kind"] == "ratios" and not study.settings["neighbours"]["n"]:
            raise ConfigurationError(
                f"{place}: no sizes are given under {key}.neighbours.n: add them"
            )
        if figure["kind"] == "shapes":
            _check_shapes(study, name, place)
        if figure["kind"] == "curves" and study.settings["manifold"] != {
            "name": "sphere",
            "size": 2,
        }:
            raise ConfigurationError(f"{place}: curves are drawn on the sphere of dimension 2 only")


def _check_groups_in_grids(study, figure, place):
    """A panel shows one grid, with a curve for every group."""
    members = {(grid, group) for grid, group, _ in study.grids}
    grids = figure.get("grids", [])
    shown = figure.get(
        "groups", list(dict.fromkeys(group for grid, group, _ in study.grids if grid in grids))
    )
    for grid in grids:
        for group in shown:
            if (grid, group) not in members:
                raise ConfigurationError(
                    f"{place}: the group {group} has no cells in the grid {grid}: name other "
                    "groups or grids"
                )
    if figure["kind"] == "error" and len(shown) > MOST_CURVES:
        raise ConfigurationError(
            f"{place}.groups: {len(shown)} curves cannot be told apart: name {MOST_CURVES} groups "
            "at most"
        )


def _check_shapes(study, name, place):
    if study.settings["manifold"]["name"] != "kendall":
        raise ConfigurationError(f"{place}: shapes are drawn of planar landmarks only")
    figure = study.settings["figures"][name]
    cells = study.cells[study.shapes_group(name)]
    if figure["cell"] not in cells:
        raise ConfigurationError(
            f"{place}.cell: there is no cell {figure['cell']} (the first are: "
            f"{', '.join(list(cells)[:5])})"
        )
    drawn = study.settings["draws"]["footpoints"]
    if figure.get("draws", 1) > drawn:
        raise ConfigurationError(
            f"{place}.draws: {figure['draws']} is too large: {drawn} footpoints are drawn"
        )
    if study.settings["data"].get("transformation") == "log" and min(figure["values"]) <= 0:
        raise ConfigurationError(
            f"{place}.values: {min(figure['values'])} has no logarithm: give positive values"
        )
