"""Linear and quantile regression, and geodesics on the sphere: papers 002 and 000."""
