"""Claims of papers, and verdicts on them computed from the tables of a run."""
