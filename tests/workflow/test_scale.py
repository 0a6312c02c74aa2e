"""A sweep of a million cells is planned in seconds."""

import os

# Seconds of the processor, which other processes hardly change.
LIMIT = 20.0


def sweep(groups, cells):
    """Configuration of so many groups, each with a noise variance, with so many budgets each."""
    study = {
        "manifold": {"name": "sphere", "size": 2},
        "data": {"source": "simulated", "data_sets": 2, "shooting_vector_length": 0.6},
        "budgets": {"equal": {"totals": [f"{2 * (k + 1) / 100:.2f}" for k in range(cells)]}},
        "cells": [
            {
                "n": [5],
                "noise_variance": [f"{(k + 1) / 10000:.4f}" for k in range(groups)],
                "budgets": ["equal"],
            }
        ],
        "draws": {"footpoint": 2, "shooting_vector": 2},
        "sampler": {"states": 250},
    }
    return {"name": "sweep", "seed": 1, "studies": {"sphere": study}}


def test_plan_of_a_million_cells_takes_seconds(checkout):
    checkout.configure(sweep(groups=1000, cells=1000))
    before = os.times()
    planned = checkout.planned()
    after = os.times()
    spent = after.children_user + after.children_system
    assert spent - before.children_user - before.children_system < LIMIT
    # Each job takes cells enough to be worth its start.
    assert planned == {"fit": 1000, "sample": 1000, "evaluate": 1, "report": 1}
