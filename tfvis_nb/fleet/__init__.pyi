from .analysis.drift import fleet_drift as fleet_drift
from .analysis.heat_map import fleet_heat_map as fleet_heat_map
from .analysis.outliers import fleet_outliers as fleet_outliers
from .analysis.slower_ops import slower_ops as slower_ops
from .analysis.stragglers import fleet_stragglers as fleet_stragglers
