"""Sources of a study's data: one module for each, with a function ``make(job)``."""
