"""A whole configuration of studies."""

from typing import Annotated

from pydantic import Field, model_validator

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
    named,
    refused,
)
from geodp.settings.shared_sections import ManifoldSettings
from reproduction.configuration.study import StudySettings
from reproduction.configuration.study_sections import BallSettings
from reproduction.papers import paper_key


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
            missing = ", ".join(key for key in ("name", "seed") if key not in given)
            raise refused(
                f" is missing or empty: add {missing}{' and ' if missing else ''}studies as in "
                "README's example, or a plan",
                "studies",
            )

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
            for index, name in enumerate(names):
                if name in names[:index]:
                    raise refused(
                        f": {name!r} is the name of two papers: rename one",
                        f"papers[{index}].{'name' if key == 'name' else 'claims'}",
                    )
        return self
