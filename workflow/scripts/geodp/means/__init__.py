"""Private Frechet means of many data sets at once: simulated data, mechanisms and baselines."""
