"""Stages of a release: each is private by itself, and starts from what those before released.

A stage is one class in one file.  To add one, write it, name it in `STAGES`, and prove it in
`docs/guarantee.md`.
"""

from geodp_release.stages.beyond_count import BeyondStage
from geodp_release.stages.count import CountStage
from geodp_release.stages.far_count import FarStage
from geodp_release.stages.last_step import LastStep
from geodp_release.stages.matrix import MatrixStage
from geodp_release.stages.moments import MomentsStage
from geodp_release.stages.points import PointsStage
from geodp_release.stages.products import ProductsStage
from geodp_release.stages.scale import ScaleStage
from geodp_release.stages.step import NoisyStep
from geodp_release.stages.tail_count import TailStage

# All of which the guarantee is proved.
STAGES = (
    *(PointsStage, CountStage, MomentsStage, MatrixStage, ScaleStage, FarStage, NoisyStep),
    *(TailStage, BeyondStage, LastStep, ProductsStage),
)
