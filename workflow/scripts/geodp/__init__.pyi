# The public names of geodp, each with its module: for type checkers and editors, and for
# `geodp.__getattr__`, which reads them here.
from geodp.data.simulate import Simulation as Simulation
from geodp.data.simulate import simulate_geodesic_data as simulate_geodesic_data
from geodp.errors import DataError as DataError
from geodp.manifolds.adapter import GeomstatsManifold as GeomstatsManifold
from geodp.manifolds.euclidean import Euclidean as Euclidean
from geodp.manifolds.hyperbolic import Hyperbolic as Hyperbolic
from geodp.manifolds.kendall import KendallPlanarShapes as KendallPlanarShapes
from geodp.manifolds.spd import SPD as SPD
from geodp.manifolds.sphere import Sphere as Sphere
from geodp.mechanisms.base import Guarantee as Guarantee
from geodp.mechanisms.base import Mechanism as Mechanism
from geodp.mechanisms.base import PublicSettings as PublicSettings
from geodp.models.geodesic import Fit as Fit
from geodp.models.geodesic import GeodesicModel as GeodesicModel
from geodp.models.losses import Distance as Distance
from geodp.models.losses import Huber as Huber
from geodp.models.losses import SquaredDistance as SquaredDistance
from geodp.models.regression import FittedModel as FittedModel
from geodp.models.regression import fit as fit
from geodp.models.regression import mean as mean
from geodp_release.ask.estimator import PrivateGeodesicRegression as PrivateGeodesicRegression
from geodp_release.ask.inspection import Inspection as Inspection
from geodp_release.ask.inspection import inspect_inputs as inspect_inputs
from geodp_release.ask.linear_estimator import PrivateLinearRegression as PrivateLinearRegression
from geodp_release.ask.publish import release as release
from geodp_release.plan.release_plan import ReleasePlan as ReleasePlan
from geodp_release.plan.search import plan_release as plan_release
from geodp_release.promise.assumptions import Assumptions as Assumptions
from geodp_release.promise.budget import PrivacyBudget as PrivacyBudget
from geodp_release.promise.ledger import Ledger as Ledger
from geodp_release.show.release import Release as Release
from geodp_release.show.release import release_geodesic as release_geodesic

__version__: str
