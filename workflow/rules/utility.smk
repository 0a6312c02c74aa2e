# Errors of private releases on simulated data, `snakemake utility`; and how often confidence bands
# hold the true prediction, `snakemake coverage`.
# In: config/utility.yaml. Out: results/utility/utility.csv, .pdf, .svg, .png and .md;
# results/utility/coverage.csv and .md.


def utility_parts(wildcards):
    """Tables of all spaces and n of the utility, the slowest first."""
    return [
        f"{UTILITY_RESULTS}/cells/{space}_n{number}.csv"
        for number in sorted(settings_of("utility")["utility"]["n"], reverse=True)
        for space in spaces_by_file("utility")
    ]


def utility_arguments(wildcards):
    """Arguments of a job on one space and n: the settings of the space and of errors."""
    space = space_named("utility", wildcards)
    settings = part_of("utility", "seed", "chains", "utility")
    settings |= {"spaces": {space: settings_of("utility")["spaces"][space]}}
    return {"settings": settings, "space": space, "number": int(wildcards.n)}


def coverage_parts(wildcards):
    """Tables of all spaces of the coverage."""
    return [
        f"{UTILITY_RESULTS}/coverage/{space}.csv" for space in spaces_by_file("utility", "coverage")
    ]


MEASURED |= {
    "utility_cells": {
        "module": "utility.releases",
        "arguments": utility_arguments,
        "input": {"rats": shipped("resources/vilmann_rats.csv")},
        "output": {"table": "cells/{space}_n{n}.csv"},
        "message": "utility: releases on {wildcards.space}, n = {wildcards.n}",
    },
    "coverage_cells": {
        "module": "coverage.releases",
        "settings": ("seed", "coverage"),
        "arguments": lambda wildcards: {"space": space_named("utility", wildcards, "coverage")},
        "output": {"table": "coverage/{space}.csv"},
        "message": "coverage: releases on {wildcards.space}",
    },
}

SUMMARISED |= {
    "utility": {
        "module": "utility.summary",
        "arguments": lambda wildcards: {"shown": settings_of("utility")["utility"]["shown"]},
        "input": {"tables": utility_parts},
        "output": {"csv": "utility.csv", "text": "utility.md", **pictures("utility")},
        "message": "utility: write the table and the figure",
    },
    "coverage": {
        "module": "coverage.summary",
        "input": {"tables": coverage_parts},
        "output": {"csv": "coverage.csv", "text": "coverage.md"},
        "message": "coverage: write the table",
    },
}
