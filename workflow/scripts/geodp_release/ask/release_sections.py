"""Sections of the settings of a release: data, public inputs, budget."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, PrivateAttr, WithJsonSchema, model_validator

from geodp.mechanisms.budgets import parse_budget
from geodp.settings.section import Count, FileName, Section, Text, refused, surplus
from geodp.settings.settings_files import LONGEST_NUMBER
from geodp.settings.shared_sections import NO_COVARIATE, CentreName, ManifoldSettings, TableSection
from geodp_release.promise import public_inputs as inputs
from geodp_release.promise.budget import CONCENTRATED, PURE, PrivacyBudget
from geodp_release.run.subjects import ONE_EACH


def _is_line(text):
    """Refuse text that a page or a terminal does not show as one line."""
    if not text.isprintable():
        raise refused(": it is not one line of printable characters: give that")
    return text


# Numbers become floats, so that 1 and 1.0 are the same release to a ledger.
Number = Annotated[float, Field()]
Positive = Annotated[float, Field(gt=0)]
Line = Annotated[Text, AfterValidator(_is_line)]
Amount = Annotated[str, Field(min_length=1, max_length=LONGEST_NUMBER)]
# Of a covariate; dates that stand for it become numbers before.
DatedNumber = Annotated[
    float, WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "format": "date"}]})
]
Pair = Annotated[list[DatedNumber], Field(min_length=2, max_length=2)]
Transformation = Literal[tuple(inputs.TRANSFORMATIONS)]  # type: ignore[valid-type]
Spread = Literal[tuple(inputs.SQUARES)]  # type: ignore[valid-type]


class ReleaseSection(Section):
    """A section of a release, which has no seed."""

    @classmethod
    def check_keys(cls, given):
        if "seed" in given:
            raise refused(
                " is refused: a release draws its random bits from the operating system, since "
                "whoever knew a seed could take the noise away: remove the key",
                "seed",
            )
        super().check_keys(given)


class JoinSettings(ReleaseSection):
    """A second table, with covariates of each subject in a row."""

    path: Text
    """Its file, in any format of the first."""
    subject: Text
    """Its column of the labels of subjects; the first row of a label counts."""


class TableSettings(ReleaseSection, TableSection):
    """Records of a table, one a row."""

    covariate: Text | Annotated[list[Text], Field(min_length=1)] | None = None
    """Column of the covariate, or of each; null for a mean."""
    subject: Text
    """Column that names the subject of each record; or "one record each"."""
    missing_responses: Literal["keep", "drop"] = "keep"
    """Records whose response is missing, in any of its cells: `drop` leaves them out, so that the
    release is about subjects with a response; else they count for a subject, and tell nothing."""
    join: JoinSettings | None = None
    """A second table, for covariates that are not in the first."""
    _frame: Any = PrivateAttr(None)

    def set_frame(self, frame):
        """Take the records from a data frame."""
        self._frame = frame

    @property
    def frame(self):
        """A data frame in place of a file, or None."""
        return self._frame

    @model_validator(mode="after")
    def _joined_by_subjects(self):
        if self.join is not None and self.is_one_each:
            raise refused(": tables are joined by subjects: name their column", "subject")
        for key in ("categories", "dates"):
            for name in getattr(self, key):
                if name not in self.covariates:
                    raise surplus(f"{key}.{name}", NO_COVARIATE)
        for name in self.dates:
            if name in self.categories:
                raise surplus(f"dates.{name}", "its words have numbers by categories")
        return self

    @property
    def paths(self):
        """Files of the records; a data frame has none."""
        first = [self.path] if self._frame is None else []
        return first if self.join is None else [*first, self.join.path]

    @property
    def drops_missing(self):
        """Whether records without a response are none."""
        return self.missing_responses == "drop"

    @property
    def is_one_each(self):
        """Whether no two records are of one subject."""
        return self.subject == ONE_EACH


class SimulatedSettings(ReleaseSection):
    """Simulated outlines of the corpus callosum, new ones at every run, to try releases on."""

    source: Literal["simulated outlines"]
    number: Count
    """Number of outlines, each of a subject of its own."""
    trend_length: Annotated[float, Field(ge=0)] = 0.045
    """Length of their geodesic from age 50 to age 90, in rad."""
    drops_missing: ClassVar[bool] = False
    paths: ClassVar[tuple] = ()


class PublicSettings(ReleaseSection):
    """Public inputs: assumptions about the data, chosen without a look at them."""

    manifold: ManifoldSettings
    centre: CentreName | list[Number] | Text = "anywhere"  # type: ignore[valid-type]
    """Centre of the ball of footpoints: numbers, the path of a table with one point, a name as of a
    study's releases, or `anywhere`."""
    footpoint_radius: Positive | None = None
    """Largest distance of the footpoint, in the middle of the covariate's range, from the centre;
    left out as large as numbers allow."""
    smallest_radius: Positive | None = None
    """The release is planned for balls from this radius to the one above; left out with that one it
    is far smaller."""
    shooting_vector_length: Positive | list[Positive] | None = None
    """Largest length of the geodesic over the covariate's range; of several covariates one for all,
    or a list; left out with the radius."""
    covariate_range: Pair | Annotated[list[Pair], Field(min_length=1)] | None = None
    """Range of the covariate, or a list; values outside are clipped to it. null for a mean."""
    residual_scale: Positive | None = None
    """A guess: standard deviation of the records about their geodesic, in each direction, for which
    the plan is best; a release measures it in any case."""
    subjects: Count
    """Number of subjects; an approximate one where neighbours add or remove one."""
    records_per_subject: Count = 1
    """Records of a subject that count, the first so many."""
    transformation: Transformation | list[Transformation] = inputs.NONE  # type: ignore[valid-type]
    """Transformation of the covariate, or a list; `log` needs positive values. Ranges and
    predictions are given without it."""
    covariate_spread: Spread | list[Spread] = inputs.UNKNOWN  # type: ignore[valid-type]
    """How the covariate is spread over its range, or a list; `two groups` are at its ends. Bands
    rest on `evenly`: say it only if that is known, as by design."""
    tails: Literal[inputs.TAILS] = inputs.EXPONENTIAL  # type: ignore[valid-type]
    """Assumption on which bands rest: long residuals thin out as those of an exponential
    distribution do, or faster; or `any`, where the last stage clips none, which costs noise."""
    loss: Literal[inputs.LOSSES] = inputs.LEAST_SQUARES  # type: ignore[valid-type]
    """What is released: the geodesic of least `squares`, or of Huber's loss, which is that of most
    records, whatever the others are."""
    threshold: Positive | None = None
    """Length of a residual from which on Huber's loss is linear, in units of a released length that
    half of the residuals are shorter than; null for 2."""
    neighbours: Literal[inputs.NEIGHBOURS] = inputs.REPLACE  # type: ignore[valid-type]
    """Which data sets a release cannot tell apart."""

    @model_validator(mode="after")
    def _ranges_ascend(self):
        for low, high in self.ranges:
            if not low < high:
                raise refused(
                    f": it runs from {low:g} to {high:g}: give the smaller number first",
                    "covariate_range",
                )
        return self

    @property
    def ranges(self):
        given = self.covariate_range
        if given is None:
            return []
        return given if isinstance(given[0], list) else [given]


class BudgetSettings(ReleaseSection):
    """Privacy budget: epsilon, or rho with a delta."""

    epsilon: Number | Amount | None = None
    """Pure differential privacy, as decimal text such as "0.5"."""
    rho: Number | Amount | None = None
    """Zero-concentrated differential privacy."""
    delta: Number | Amount | None = None
    """With rho: the delta for which an epsilon is stated too."""

    @model_validator(mode="after")
    def _one_unit(self):
        if (self.epsilon is None) == (self.rho is None):
            raise refused(": give one of epsilon and rho")
        return self

    def make(self):
        """The `PrivacyBudget`."""
        unit = CONCENTRATED if self.epsilon is None else PURE
        amount = self.rho if self.epsilon is None else self.epsilon
        delta = None if self.delta is None else parse_budget(self.delta, "budget.delta")
        return PrivacyBudget(parse_budget(amount, f"budget.{unit}"), unit, delta)


# What has a source that can be stated, and the value of a covariate.
PublicInput = Literal[(*PublicSettings.model_fields, "basis", "products")]  # type: ignore[valid-type]
Value = Number | Text


class ReleaseKeys(ReleaseSection):
    """The keys of the settings of a release."""

    name: FileName
    """Name of the release in its ledger, its folder and its page."""
    description: Line | None = None
    """What the data are, in a line for readers of the release, which shows it."""
    covariate: Line | list[Line] | None = None
    """What the release calls the covariate, such as `age`, or a list; null for names of columns."""
    units: dict[Text, Line] = Field(default={})
    """Unit of a covariate or of a response, by its name or column, which the release shows."""
    data: Annotated[TableSettings | SimulatedSettings, Field(discriminator="source")]
    """The private records."""
    public: PublicSettings
    sources: dict[PublicInput, Line] = Field(default={})
    """Where each public input comes from, which the release shows."""
    budget: BudgetSettings
    ledger: Text
    """File that counts what all releases from the data spent; see `geodp ledger create`."""
    folder: Text
    """Folder that the release becomes; it must not be there yet."""
    predictions: (
        Annotated[list[Number | Text] | list[list[Number | Text]], Field(min_length=1)] | None
    ) = None
    """Covariates to tabulate, numbers or their words; null for five over the range. Several
    covariates have a list of rows; null gives the ends of where subjects are for each of them, with
    the others at noisy means or in the first group."""
    allow_noise: bool = False
    """Release even if the plan says that it would be noise."""
