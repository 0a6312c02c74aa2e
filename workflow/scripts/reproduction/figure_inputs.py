"""Inputs and parameters of jobs that make a table for one figure: a function for each kind.

Each returns some of ``groups``, pairs of a study and a group, of which data and fit are read;
``cells``, (group, cell, sampler) of the figure's study; ``modules``, which the job loads by name;
and ``params``.
"""

from reproduction.studies import DEFAULT, RELEASE


def convergence(study, figure, studies):
    """The group of the figure, and the first one of the study with reduced shapes."""
    chosen, group = study.settings["figures"][figure], study.shown_group(figure)
    both = [(study, group)]
    if reduced := studies.get(chosen.get("reduced")):
        both.append((reduced, reduced.first_group))
    walk = study.settings["random_walk"]
    return {
        "groups": [(each.name, group) for each, group in both],
        "modules": [study.sampling_module(DEFAULT)],
        "params": {
            "studies": [each.mechanism_settings | {"study": each.name} for each, _ in both],
            "cell_budgets": study.cells[group][chosen["cell"]],
            "sampler": study.sampler_settings(DEFAULT),
            "steps_of_draws": walk["steps"],
            "step_scale": walk["step_scale"],
        },
    }


def curves(study, figure, studies):
    """Groups of the figure, each with its cells in the figure's grids."""
    chosen = study.settings["figures"][figure]
    groups = [
        {
            "group": group,
            **study.groups[group],
            "cells": {
                cell: study.cells[group][cell]
                for grid, owner, cell in study.grids
                if owner == group and grid in chosen["grids"]
            },
        }
        for group in chosen["groups"]
    ]
    return {
        "groups": [(study.name, name) for name in chosen["groups"]],
        "cells": [
            (each["group"], cell, study.sampler_of(each["group"], cell))
            for each in groups
            for cell in each["cells"]
        ],
        "params": {"groups": groups},
    }


def predictions(study, figure, studies):
    """The cells of one group, each by the samplers that the figure shows."""
    group, shown = study.shown_group(figure), study.shown_cells(figure)
    # Bands of releases follow from their public inputs.
    released = any(sampler == RELEASE for _, sampler in shown)
    return {
        "groups": [(study.name, group)],
        "cells": [(group, *each) for each in shown],
        "modules": [study.sampling_module(RELEASE)] if released else [],
        "params": {
            "name": figure,
            "shown": [(*each, study.cells[group][each[0]]) for each in shown],
            "released": study.sampled_mechanism(RELEASE, group) if released else None,
            "transformation": study.transformation,
        },
    }


def regression(study, figure, studies):
    """The study's first group."""
    params = {key: study.settings[key] for key in ("data", "covariate_label")}
    return {"groups": [(study.name, study.first_group)], "params": params}


def transport(study, figure, studies):
    """None, since the triangle is always the same."""
    return {}
