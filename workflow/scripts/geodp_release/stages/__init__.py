"""Stages of a release: each is private by itself, and starts from what those before released.

To add one, write its class, name it in `STAGES`, and prove it in `docs/guarantee.md`.
"""

from geodp_release.stages.counts import BeyondStage, CountStage, FarStage, TailStage
from geodp_release.stages.matrix import MatrixStage, ProductsStage
from geodp_release.stages.moments import MomentsStage
from geodp_release.stages.points import PointsStage
from geodp_release.stages.scale import ScaleStage
from geodp_release.stages.step import LastStep, NoisyStep

# All of which the guarantee is proved.
STAGES = (
    *(PointsStage, CountStage, MomentsStage, MatrixStage, ScaleStage, FarStage, NoisyStep),
    *(TailStage, BeyondStage, LastStep, ProductsStage),
)
