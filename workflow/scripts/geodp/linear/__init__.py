"""Private linear and quantile regression and private quantiles in Euclidean space."""
