"""Studies of a configuration: groups of data sets, budget cells and jobs.

A *group* is a collection of data sets that cells share: one (n, noise variance) of a simulated
study, the one table of an observed study, or the stand-in for a table that is not there.  A *cell*
is a group and a budget for each block of the model, or one in all.  A *block of cells* is what one
job samples.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property

from geodp.mechanisms.registry import MECHANISMS, budget_names
from geodp.models.blocks import ALL
from reproduction.configuration.figures import TABLE_OF, FigureWithoutDraws
from reproduction.configuration.study import FIGURES, TABLES
from reproduction.configuration.study_sections import BallSettings
from reproduction.models import study_manifold

# Tables of a whole study of records and draws; others are made for one figure.
STUDY_TABLES = ("data", "errors", "diagnostics", "neighbours", "losses")

# Source of simulated records in place of a table, and how names of their groups begin.
STAND_IN = "stand_in"

# Samplers of cells: the study's own, the papers' random walk, and releases; a mechanism that draws
# besides has one of its name.
DEFAULT, RANDOM_WALK, RELEASE = "default", "random_walk", "release"


@dataclass(frozen=True)
class Study:
    """One study of a configuration, expanded."""

    name: str
    settings: dict  # Its section of the configuration, with defaults.
    cells_per_job: int | None  # ``None`` for a number that follows from that of the cells.
    table: str | None  # Path of the file of records, if there is one, as it was found.
    groups: dict  # From a group's name to ``{"n": ..., "noise_variance": ...}``.
    # From a group's name to its cells: by name, the decimal text of the budgets by block; those of
    # releases have one budget, ``all``.
    cells: dict
    grids: list  # (grid, group, cell) for every use of a cell.
    # Files of records of tables that are computed, by the table's name.
    files: dict = field(default_factory=dict)

    @property
    def computed(self):
        """Sections of tables that are computed, by name; none of a study of records and draws."""
        return self.settings.get("tables", {})

    @property
    def paper(self):
        """What results call its paper; empty if it has none."""
        return self.settings.get("paper", "")

    @property
    def source(self):
        """Source of the data: ``simulated``, ``table``, or ``stand_in`` for a missing table."""
        if self.computed:
            return "computed"
        given = self.settings["data"]["source"]
        return STAND_IN if given == "table" and self.table is None else given

    @property
    def transformation(self):
        """Transformation of the covariate that was read, or ``none``."""
        return self.settings["data"].get("transformation", "none")

    @property
    def mechanism(self):
        """Name of the mechanism."""
        return self.settings["mechanism"]["name"]

    def sampling_module(self, sampler):
        """The module of the mechanism that a sampler draws from, which jobs load by name."""
        named = sampler if sampler in (RELEASE, *self.also) else self.mechanism
        return MECHANISMS[named].module

    @property
    def also(self):
        """Sections of mechanisms that draw besides, by name, which is that of their sampler."""
        return {each["name"]: each for each in self.settings["also"]}

    @property
    def note(self):
        """Note on the data, for every figure of the study."""
        if self.computed:
            return self.settings["note"]
        stand_in = "Simulated stand-in: no real data." if self.source == STAND_IN else ""
        chosen = self.settings["manifold"]["landmark_map"]
        reduced = ""
        if chosen is not None:
            kept = chosen["matrix"] or f"harmonics up to {chosen['harmonics']}"
            reduced = f"Landmarks reduced to {kept}."
        return " ".join(filter(None, [stand_in, reduced, self.settings["note"]]))

    @property
    def table_names(self):
        """Names of its tables, but for those of single figures."""
        wanted = {
            "neighbours": self.settings["neighbours"]["n"],
            "losses": self.settings["losses"] is not None,
            "errors": self.grids,
            "diagnostics": self.grids,
        }
        return list(self.computed) or [name for name in STUDY_TABLES if wanted.get(name, True)]

    @property
    def first_group(self):
        return next(iter(self.groups))

    @property
    def walked(self):
        """Cells that the random walk samples too, as (group, cell)."""
        return [
            (entry.get("group", self.first_group), entry["cell"])
            for entry in self.settings["random_walk"]["cells"]
        ]

    @cached_property
    def cell_blocks(self):
        """Cells that one job samples, each by its sampler and some by the random walk too.

        From (group, sampler, number of the block) to budgets by cell.
        """
        chosen = {name: {} for name in (DEFAULT, RELEASE, *self.also, RANDOM_WALK)}
        for group, cells in self.cells.items():
            for cell, budgets in cells.items():
                sampler = self.sampler_of(group, cell)
                for name in (sampler, *(self.also if sampler == DEFAULT else ())):
                    chosen[name].setdefault(group, {})[cell] = budgets
        for group, cell in self.walked:
            chosen[RANDOM_WALK].setdefault(group, {})[cell] = self.cells[group][cell]
        size = self.cells_per_job or 10
        if self.cells_per_job is None:
            # Doubled, so that a few cells more seldom change all blocks.
            while sum(map(len, self.cells.values())) > 200 * size:
                size *= 2
        return {
            (group, sampler, start // size): dict(list(cells.items())[start : start + size])
            for sampler, cells_of in chosen.items()
            for group, cells in cells_of.items()
            for start in range(0, len(cells), size)
        }

    @cached_property
    def block_of(self):
        """Number of the block of each (group, cell, sampler)."""
        return {
            (group, cell, sampler): number
            for (group, sampler, number), cells in self.cell_blocks.items()
            for cell in cells
        }

    @cached_property
    def budgets(self):
        """Names of the budgets: the blocks of the model, or ``all``."""
        return budget_names(self.mechanism, self.settings["model"]["covariates"])

    def sampler_of(self, group, cell):
        """Name of the sampler of a cell."""
        return DEFAULT if set(self.cells[group][cell]) == set(self.budgets) else RELEASE

    def draws_of(self, sampler):
        """Number of draws of a sampler, by name of a budget."""
        if sampler == RELEASE:
            return {ALL: self.settings["release"]["draws"]}
        return {name: self.settings["draws"].get(name, 10) for name in self.budgets}

    @property
    def mechanism_settings(self):
        """Settings that the mechanism of the study depends on."""
        keys = ("manifold", "model", "mechanism", "data_radius", "support")
        return {key: self.settings[key] for key in keys}

    def sampled_mechanism(self, sampler, group):
        """Settings of the mechanism that a sampler draws from in a group."""
        if sampler != RELEASE:
            own = {"mechanism": self.also[sampler]} if sampler in self.also else {}
            return self.mechanism_settings | own
        chosen = self.settings["release"]
        scale = chosen["residual_scale"]
        if scale is None:
            scale = math.sqrt(float(self.groups[group]["noise_variance"]))
        return self.mechanism_settings | {
            "mechanism": {"name": "release", "options": {"residual_scale": scale}},
            "data_radius": None,
            "support": {
                "footpoint_centre": chosen["centre"],
                **{key: chosen[key] for key in ("centre_moved", *BallSettings.model_fields)},
            },
        }

    @property
    def splits(self):
        """By grid of budgets, the block that gets parts of one total; ``None`` for totals."""
        return {
            grid: next((name for name in part if name not in ("total", "totals")), None)
            for grid, part in self.settings["budgets"].items()
        }

    @property
    def length_unit(self):
        """The unit of distances: radians on spheres and shapes, else none unless configured."""
        if (given := self.settings["length_unit"]) is not None:
            return given
        return study_manifold(self.settings["manifold"] | {"landmark_map": None}).length_unit

    def sampler_settings(self, sampler):
        """Settings that a job's draws and traces depend on, for one of the samplers."""
        if sampler == RELEASE:
            return {"data_sets": self.settings["release"]["data_sets"]}
        plan, walk = dict(self.settings["sampler"]), self.settings["random_walk"]
        traces = {key: plan.pop(key) for key in ("chains", "states")}
        if sampler == RANDOM_WALK:
            return traces | {key: walk[key] for key in ("steps", "step_scale", "data_sets")}
        return traces | {"plan": plan}

    def shown_group(self, figure):
        """Group shown by a figure of cells: the one it names, else the study's first.

        Where there is a file there are no stand-ins, and it is shown in their place.
        """
        named = self.settings["figures"][figure].get("group", self.first_group)
        replaced = self.source == "table" and named.startswith(STAND_IN)
        return self.first_group if replaced else named

    def shown_cells(self, figure):
        """Cells that a figure of cells shows, as (cell, sampler)."""
        chosen, group = self.settings["figures"][figure], self.shown_group(figure)
        named = chosen["cell"]
        cells = [named] if isinstance(named, str) else named
        walked = cells if chosen.get("random_walk") else []
        return [
            *((cell, self.sampler_of(group, cell)) for cell in cells),
            *((cell, RANDOM_WALK) for cell in walked),
        ]

    def warns(self, figure):
        """Whether a figure shows draws whose stated budgets do not hold."""
        chosen = self.settings["figures"][figure]
        if self.computed or issubclass(FIGURES[chosen["kind"]], FigureWithoutDraws):
            return False
        released = chosen.get("grids") == [RELEASE]
        if "cell" in chosen:
            released = {sampler for _, sampler in self.shown_cells(figure)} == {RELEASE}
        return not released and self.mechanism == "kng_as_published"

    def own_table(self, figure):
        """Kind of the table that is made for a figure alone; empty if it reads others."""
        table = TABLE_OF.get(self.settings["figures"][figure]["kind"], "")
        return "" if table in STUDY_TABLES else table

    def tables_of(self, figure):
        """Tables that a figure reads, as pairs of a study and a name: of each name all studies."""
        if kind := self.own_table(figure):
            return [(self.name, f"{figure}_{kind}")]
        studies = self.settings["figures"][figure].get("studies", [self.name])
        return [(study, name) for name in self.columns_of(figure) for study in studies]

    def columns_of(self, figure):
        """Columns that a figure of computed tables needs, by the names of tables; else None."""
        chosen = self.settings["figures"][figure]
        kind = chosen["kind"]
        return {TABLE_OF[kind]: None} if kind in TABLE_OF else FIGURES[kind].reads(chosen)

    def missing_columns(self, table, wanted):
        """Why a table has not some columns, in words; empty if it has."""
        if table not in self.computed:
            return f"the study {self.name} has no table {table} that is computed: add it"
        chosen = self.computed[table]
        there = TABLES[chosen["kind"]].columns_of(chosen)
        if not (missing := [column for column in wanted if column not in there]):
            return ""
        return (
            f"the table {table} of the study {self.name}, {chosen['kind']}, has no column "
            f"{missing[0]} (there are: {', '.join(there)}): name another table or column"
        )
