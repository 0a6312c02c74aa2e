"""Claims of papers, judged by computation from the tables of a run."""
