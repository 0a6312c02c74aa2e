"""A sweep of ten thousand cells is planned in seconds."""

import os

# Seconds of the processor, which other processes hardly change.
LIMIT = 20.0


def test_plan_of_ten_thousand_cells_takes_seconds(checkout):
    study = {
        "manifold": {"name": "sphere", "size": 2},
        "data": {"source": "simulated", "data_sets": 1, "shooting_vector_length": 0.6},
        "budgets": {"equal": {"totals": [f"{2 * (k + 1) / 100:.2f}" for k in range(500)]}},
        "cells": [
            {
                "n": [5],
                "noise_variance": [f"{(k + 1) / 10000:.4f}" for k in range(20)],
                "budgets": ["equal"],
            }
        ],
        "draws": {"footpoint": 2, "shooting_vector": 2},
        "sampler": {"states": 250},
    }
    checkout.configure({"name": "sweep", "seed": 1, "studies": {"sphere": study}})
    before = os.times()
    planned = checkout.planned()
    after = os.times()
    spent = after.children_user + after.children_system
    assert spent - before.children_user - before.children_system < LIMIT
    # Each job takes cells enough to be worth its start.
    assert planned == {
        **{"make_data": 20, "fit": 20, "bound_sensitivity": 20},
        **{"sample": 200, "describe_data": 1, "evaluate": 1, "report": 1},
    }
