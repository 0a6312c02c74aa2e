"""Private linear regression by the tools people use, on data sets that packages ship."""
