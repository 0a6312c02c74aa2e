"""A whole configuration: papers, a plan, and studies of data, a model, a mechanism and budgets."""

from typing import Annotated, Union, get_args

from pydantic import Field, model_validator

from geodp.mechanisms.registry import MECHANISMS, budget_names
from geodp.models.sensitivity import convexity
from geodp.models.terms import Terms
from geodp.settings.section import (
    Count,
    FileName,
    Name,
    Positive,
    Section,
    Seed,
    Text,
    absent,
    distinct,
    missing,
    named,
    refused,
    surplus,
)
from geodp.settings.shared_sections import ManifoldSettings
from reproduction.configuration import computed
from reproduction.configuration.figures import KINDS, PaperFigure
from reproduction.configuration.mechanism import BudgetGrid, MechanismSettings, ModelSettings
from reproduction.configuration.study_sections import (
    BallSettings,
    CellsSettings,
    DataSettings,
    LossesSettings,
    NeighboursSettings,
    RandomWalkSettings,
    SamplerSettings,
    SimulatedData,
    StudyReleases,
    SupportSettings,
    check_centre,
)
from reproduction.papers import paper_key

# Kinds of figures, and of tables that are computed, by name.
FIGURES, TABLES = (
    {name: kind for kind in kinds for name in get_args(kind.model_fields["kind"].annotation)}
    for kinds in (KINDS, computed.TABLES)
)
FigureSettings = Annotated[Union[KINDS], Field(discriminator="kind")]  # noqa: UP007
TableSettings = Annotated[Union[computed.TABLES], Field(discriminator="kind")]  # noqa: UP007


class StudySettings(Section):
    """A study: a space, data, a model, a mechanism, budgets, and figures; or tables and figures."""

    paper: Text | None = absent()
    """Paper that its figures stand beside: the name of its file of claims without `_claims.csv`."""
    seed: Seed | None = absent()
    """Another seed than the configuration's."""
    tables: named(TableSettings, Name) | None = absent()
    """Tables that are computed, by the name that claims and figures use, in place of data and
    draws."""
    manifold: ManifoldSettings | None = absent()
    """The space; needed but for a study of tables."""
    model: ModelSettings = Field(default={})
    mechanism: MechanismSettings = Field(default={"name": "kng_as_published"})
    """What draws parameters: a name alone, or a mapping with `options`."""
    also: list[MechanismSettings] = Field(default=[])
    """Mechanisms that draw besides, from the same data sets and at the same budgets."""
    data: DataSettings | None = absent()
    """The records; needed but for a study of tables."""
    data_radius: Positive | None = None
    """Radius tau_m, or r, of a public ball that holds the data; part of sensitivities and supports.
    """
    budgets: dict[Name, BudgetGrid] = Field(default={})
    """Grids of privacy budgets, by a name of yours; without any a table is fitted without privacy,
    and nothing is drawn."""
    cells: list[CellsSettings] = Field(default=[])
    """Combinations of data and budgets."""
    draws: dict[Name, Count] = Field(default={})
    """Draws from each data set by name of a budget, 10 unless given; those of `shooting_vector` are
    at each footpoint."""
    support: SupportSettings = Field(default={})
    sampler: SamplerSettings = Field(default={})
    random_walk: RandomWalkSettings = Field(default={})
    release: StudyReleases | None = None
    neighbours: NeighboursSettings = Field(default={})
    losses: LossesSettings | None = None
    figures: dict[Name, FigureSettings] = Field(default={})
    """Figures, by a name of yours that files and targets get."""
    length_unit: str | None = None
    """Unit of distances; null for rad on spheres and shapes, else for none."""
    covariate_label: str = "x"
    """Covariate in axes and captions."""
    note: str = ""
    """Sentence that every figure adds to its caption."""

    @model_validator(mode="after")
    def _keys_go_together(self):
        for fault in self._faults():
            raise fault
        if self._is_simulated and not self.model.covariates:
            self.data = self.data.model_copy(update={"covariates": "none"})
        return self

    @property
    def _is_simulated(self):
        return isinstance(self.data, SimulatedData)

    @property
    def _space(self):
        return self.manifold.model_copy(update={"landmark_map": None}).make()

    def _faults(self):
        """Errors of keys that do not go together, of which the first is told."""
        if self.tables is not None:
            # All others belong to records, budgets and draws.
            known = {"paper", "seed", "tables", "figures", "note", "length_unit"}
            for key in sorted(self.model_fields_set - known):
                yield refused(" does not go with tables that are computed: remove it", key)
            for name, figure in self.figures.items():
                if not isinstance(figure, PaperFigure):
                    words = "is of data and draws, and this study has tables: give another kind"
                    yield refused(f": {figure.kind} {words}", f"figures.{name}.kind")
            return
        for key in ("manifold", "data"):
            if getattr(self, key) is None:
                yield refused(" is missing: add it, or tables that are computed", key)
        if self.budgets:
            yield from self._faults_of_mechanisms()
            yield from self._faults_of_curvature()
        yield from self._faults_of_budgets()
        if self._is_simulated:
            yield from self._faults_of_simulated_data(self.data)
        else:
            yield from self._faults_of_table(self.data)
        has_ball = any(not MECHANISMS[each.name].anywhere for each in (self.mechanism, *self.also))
        radii = (self.support.footpoint_radius, self.data_radius)
        if has_ball and self.support.footpoint_centre is not None and radii == (None, None):
            words = "a ball of footpoints needs a radius, or data_radius from which one follows"
            yield refused(f" is missing: {words}: add either", "support.footpoint_radius")
        if self.release is not None:
            yield from self._faults_of_release(self.release)
        on_sphere = self.manifold.name == "sphere" and self.manifold.size == 2
        published = self.mechanism.name == "kng_as_published" and self.model.covariates == 1
        if self.losses is not None and not (published and on_sphere):
            words = "kng_as_published with one covariate on the sphere of dimension 2 only"
            yield surplus("losses", f"privacy losses are searched for {words}")

    def _faults_of_budgets(self):
        if not self.budgets and (self.cells or self._is_simulated):
            yield refused(" is missing: add grids of privacy budgets", "budgets")
        if self.budgets and not self.cells:
            yield refused(" is missing: name the budgets of each", "cells")
        for key in ("mechanism", "also", "draws", "random_walk", "release"):
            if not self.budgets and key in self.model_fields_set and getattr(self, key):
                yield refused(": without budgets nothing is drawn: remove it, or add budgets", key)

    def _faults_of_mechanisms(self):
        names = [each.name for each in (self.mechanism, *self.also)]
        for index, name in enumerate(names):
            key = f"also[{index - 1}]"
            if name in names[:index]:
                yield surplus(key, f"{name} draws already")
            first, own = (
                ", ".join(budget_names(each, self.model.covariates)) for each in (names[0], name)
            )
            if first != own:
                words = f"has the budgets {own} and {names[0]} {first}: give it a study of its own"
                yield refused(f": {name} {words}", key)
            yield from self._faults_of_mechanism(name, self.model.covariates, MECHANISMS[name])

    def _faults_of_mechanism(self, name, k, entry):
        loss = self.model.loss.name
        if loss != "squared_distance":
            words = f"is of least squares, not of {loss}: set it to squared_distance"
            yield refused(f": {name} {words}", "model.loss")
        most = entry.most_covariates
        if most is not None and k > most:
            yield refused(
                f": {k} is more than {most}, the most that {name} takes: set it to "
                f"{' or '.join(map(str, range(most + 1)))} or name another mechanism; without "
                "budgets a table is fitted with any number",
                "model.covariates",
            )
        if name == "release" and k > 1 and self.manifold.name != "euclidean":
            yield refused(
                ": release has the footpoint in the middle of the covariates' ranges, where with "
                "several covariates on a curved space the model is another: set it to 1 or 0, or "
                "name another mechanism",
                "model.covariates",
            )
        yield from self._faults_of_public_inputs(name, k, entry)
        if k == 0 and entry.has_mean_sensitivity:
            yield from self._faults_of_radius("the sensitivity of a mean")
            computed.check("data_radius", convexity, self._space, self.data_radius)
        if self.mechanism.name != "kng_as_published" and self.random_walk.cells:
            yield surplus("random_walk.cells", "the random walk draws kng_as_published alone")

    def _faults_of_public_inputs(self, name, k, entry):
        """What a mechanism needs and may not take from the data."""
        support, centre = self.support, self.support.footpoint_centre
        for need in entry.needs:
            if need.startswith("centre"):
                word = need.removeprefix("centre or ")
                if centre != word and not isinstance(centre, list | tuple):
                    also = "" if word == need else f", or {word}"
                    words = f": {name} needs a public centre: give coordinates{also}"
                    yield refused(words, "support.footpoint_centre")
            elif need == "covariate_range":
                yield from self._faults_of_range()
            elif k or need == "footpoint_radius":
                of_study = need in type(self).model_fields
                if getattr(self if of_study else support, need) is None:
                    key = need if of_study else f"support.{need}"
                    yield missing(key, f"{name} needs a public limit")
        for key in ("footpoint_radius", "shooting_vector_length"):
            if entry.anywhere and getattr(support, key) is not None:
                yield surplus(f"support.{key}", f"{name} draws anywhere")

    def _faults_of_radius(self, what):
        if self.data_radius is None:
            words = f"{what} needs the public radius of a ball that holds the data"
            yield missing("data_radius", words)

    def _faults_of_release(self, release):
        if self.mechanism.name == "release":
            yield surplus("release", "draws of release are releases already")
        if self.model.covariates != 1:
            words = "releases are of one covariate: remove it, or set model.covariates to 1"
            yield refused(f": {words}", "release")
        named = check_centre(release.centre, self.manifold.name, "release.centre")
        if release.centre_moved is not None and not named:
            yield surplus("release.centre_moved", "a centre given by coordinates stays there")
        if "release" in self.budgets:
            words = "this is the name of the grid of the section release: rename it"
            yield refused(f": {words}", "budgets.release")
        if release.residual_scale is None and not self._is_simulated:
            words = "nothing public says how far records of a table scatter"
            yield missing("release.residual_scale", words)
        yield from self._faults_of_range()

    def _faults_of_range(self):
        if not self._is_simulated and self.data.covariate_range is None:
            words = "a proved budget needs a public range of the covariate"
            yield missing("data.covariate_range", words)

    def _faults_of_curvature(self):
        space = self._space
        if self.mechanism.name == "kng_as_published" and space.curvature_bounds[0] < 0.0:
            yield from self._faults_of_radius("the sensitivity under negative curvature")
        reason = space.against_ambient_noise
        if reason and self._is_simulated and self.data.noise == "ambient":
            yield refused(f": ambient noise {reason}: set it to tangent", "data.noise")

    def _faults_of_simulated_data(self, data):
        for key in ("random_walk", "release"):
            part = getattr(self, key)
            if part is not None and part.data_sets > data.data_sets:
                words = f"is more than the {data.data_sets} of data.data_sets"
                words = f": {part.data_sets} {words}: lower it, or raise that"
                yield refused(words, f"{key}.data_sets")
        k, length, end = self.model.covariates, data.shooting_vector_length, data.last_point
        if k == 0:
            for key in ("shooting_vector_length", "last_point", "covariates"):
                if key in data.model_fields_set and getattr(data, key) not in (None, "none"):
                    words = "a model without covariates has points about one centre"
                    yield surplus(f"data.{key}", words)
        elif data.covariates == "none":
            words = f": none does not go with model.covariates {k}: give equally_spaced or uniform"
            yield refused(words, "data.covariates")
        elif (length is None) == (end is None):
            words = "which both say where a geodesic ends"
            yield refused(f": give either shooting_vector_length or last_point, {words}", "data")
        elif k > 1 and end is not None:
            words = ": with several covariates there is no last point: give shooting_vector_length"
            yield refused(words, "data.last_point")

    def _faults_of_table(self, data):
        k, count = self.model.covariates, len(data.covariates)
        terms = Terms(data.bases(), [1.0] * count, data.pairs)
        if k != (number := terms.number):
            makes = "" if terms.is_plain else f", of which its basis makes {number}"
            words = f"data.covariate names {', '.join(data.covariates)}{makes}: set it to {number}"
            if not k:
                words += ", or take a table of kind own_means for a mean of a file"
            yield refused(f": {k} is not {number}, and {words}", "model.covariates")
        if self.budgets and not terms.is_plain:
            words = "with a basis a study is fitted without privacy; release it by geodp"
            yield surplus("budgets", words)
        if data.stand_in is not None and self.manifold.name != "kendall":
            yield surplus("data.stand_in", "stand-ins are outlines of planar landmarks")
        if self.neighbours.n:
            words = "pairs of neighbours are simulated and this study reads a table"
            yield surplus("neighbours.n", words)


class PaperSettings(Section):
    """A paper and its claims."""

    name: Annotated[Text, Field(min_length=1)]
    """What tables and pages call the paper."""
    claims: Text
    """CSV file of its claims, a row each."""
    own_questions: bool = False
    """Whether its claims are questions of ours, which the report counts apart."""

    @property
    def key(self):
        """What files of its verdicts, and the key `paper` of studies, call it."""
        return paper_key(self.claims)


class PlanSettings(Section):
    """Predicted errors of a release, `./run snakemake plan`, from what is public alone."""

    manifold: ManifoldSettings
    support: BallSettings
    residual_scale: Positive
    """A guess: standard deviation of the records about their geodesic, in each direction."""
    n: distinct(Count) = Field(default=[20, 50, 100, 200, 500, 1000, 3000, 10000])
    """Numbers of subjects."""
    budgets: distinct(Positive) = Field(default=[0.1, 0.3, 1, 3, 10])
    """Budgets of the release."""
    wanted: Positive | None = None
    """Root mean squared error of the geodesic for which the n and the budget needed are found."""


class ReproductionSettings(Section):
    """The whole configuration."""

    name: FileName
    """Results go to `results/<name>/`."""
    note: str = ""
    """What the report and the page of verdicts say first."""
    seed: Seed
    cells_per_job: Count | None = None
    """Cells that one job samples, which changes no result; null for 10, or more in large studies.
    """
    papers: list[PaperSettings] = Field(default=[])
    """Papers whose claims get verdicts; none for no verdicts."""
    plan: PlanSettings | None = absent()
    studies: named(StudySettings, Name) | None = absent()
    """Studies, by a name of yours."""

    @classmethod
    def check_keys(cls, given):
        super().check_keys(given)
        if not given.get("studies") and not given.get("plan"):
            lacks = [key for key in ("name", "seed") if key not in given]
            add = " and ".join(filter(None, [", ".join(lacks), "studies"]))
            words = f" is missing or empty: add {add} as in README's example, or a plan"
            raise refused(words, "studies")

    @model_validator(mode="after")
    def _studies_have_their_papers(self):
        keys = [paper.key for paper in self.papers]
        for name, study in (self.studies or {}).items():
            if keys and study.paper is not None and study.paper not in keys:
                raise refused(
                    f": there is no paper {study.paper} (there are: {', '.join(keys)}): name one",
                    f"studies.{name}.paper",
                )
        return self

    @model_validator(mode="after")
    def _papers_differ(self):
        for key in ("name", "key"):
            names = [getattr(paper, key) for paper in self.papers]
            if len({*names}) < len(names):
                raise refused(f": two have the same name, of {', '.join(names)}: rename", "papers")
        return self
