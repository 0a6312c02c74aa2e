"""Where the data of a study come from: one module a source, each with ``make(job)``."""
