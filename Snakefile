# The workflow, its rules and its default target: see docs/architecture.md.
include: "workflow/Snakefile"


# Snakemake takes no default target from an included file.
use rule all as default
