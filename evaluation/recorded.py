"""Errors of diffprivlib and DP-SGD on the red wine data, recorded once for the study `wine`.

They run in environments of their own, and their mean squared errors are kept below
resources/recorded, for the study `wine` of config/config.yaml.  The paper states no setting of
DP-SGD, so that every combination of ordinary values is drawn; they were chosen before the first
run.
"""

import warnings
from functools import cache, partial
from importlib.metadata import version
from itertools import product

import numpy as np
import pandas as pd

import script
from geodp.randomness import random_stream
from linear_methods import Budget, functional_mechanism


def measure(wine, methods, covariate, responses, bound, budgets, delta, draws, seed, settings=None):
    """A row a method, budget and setting; columns ``0``, ``1`` and so on are errors of draws."""
    environment = "opacus" if "dp_sgd" in methods else "competitors"
    script.need(environment, environment, "opacus" if "dp_sgd" in methods else "diffprivlib")
    frame = pd.read_csv(wine, sep=";")
    x = frame[[covariate]].to_numpy(dtype=float)
    x = (x - x.min()) / np.ptp(x)
    y = frame[responses].to_numpy(dtype=float)
    y = (y - y.mean(axis=0)) / y.std(axis=0)
    fits = {
        "diffprivlib": partial(each_response, bound=bound),
        "diffprivlib_one_call": partial(one_call, bound=bound),
        "dp_sgd": dp_sgd,
    }
    settings, rows = settings or {}, []
    grid = [dict(zip(settings, each, strict=True)) for each in product(*settings.values())]
    for method, setting, epsilon in product(methods, grid, budgets):
        key = "comparison", method, str(epsilon), *map(str, setting.values())
        rng, given = random_stream(seed, *key), (x, np.clip(y, -bound, bound))
        lines = (fits[method](*given, Budget(epsilon, delta), rng, **setting) for _ in range(draws))
        errors = [np.mean((y - line[0] - x @ line[1:]) ** 2) for line in lines]
        packages = ("opacus", "torch") if method == "dp_sgd" else ("diffprivlib", "scikit-learn")
        about = {"data": "red wine", "n": len(x), "responses": y.shape[1], "covariate": covariate}
        about |= {"response_bound": bound, "seed": seed, "method": method}
        about["versions"] = ", ".join(f"{each} {version(each)}" for each in packages)
        # To the digits in which other machines agree.
        errors = {str(draw): float(f"{error:.6g}") for draw, error in enumerate(errors)}
        rows.append(about | {"budget": epsilon, "delta": delta} | setting | errors)
    return pd.DataFrame(rows)


def one_call(x, y, budget, rng, bound):
    """Lines of diffprivlib for all responses, intercepts first."""
    limits = np.zeros(x.shape[1]), np.ones(x.shape[1])
    return functional_mechanism(x, y, limits, bound, budget.epsilon, rng, has_intercept=True)


def each_response(x, y, budget, rng, bound):
    """The same, called for each response with an equal part of the budget."""
    part = Budget(budget.epsilon / y.shape[1], budget.delta / y.shape[1])
    return np.hstack([one_call(x, each[:, None], part, rng, bound) for each in y.T])


def dp_sgd(x, y, budget, rng, passes, step, clip, batch):
    """Lines of all responses; (eps, delta)-private for one record added or removed.

    Parameters are passes over the records, length of a step, largest norm of gradients, and number
    of records expected in a batch.  All else is as the packages have it.
    """
    import torch
    from opacus import PrivacyEngine

    torch.set_num_threads(1)
    noise = _noise(budget, 1.0 / -(-len(y) // batch), passes)
    # Weights start where the layer draws them.
    torch.manual_seed(int(rng.integers(2**62)))
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    records = torch.utils.data.TensorDataset(
        *(torch.tensor(part, dtype=torch.float32) for part in (x, y))
    )
    model = torch.nn.Linear(x.shape[1], y.shape[1])
    with warnings.catch_warnings():
        # Opacus warns that its generator is not the operating system's.
        warnings.simplefilter("ignore")
        private, optimiser, batches = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=step),
            data_loader=torch.utils.data.DataLoader(records, batch_size=batch),
            noise_multiplier=noise,
            max_grad_norm=clip,
            noise_generator=generator,
        )
        batches.batch_sampler.generator = generator
        for _ in range(passes):
            # The loader's own batches, without its loop over their records.
            for chosen in batches.batch_sampler:
                if chosen:
                    covariates, responses = records[chosen]
                    optimiser.zero_grad()
                    torch.nn.functional.mse_loss(private(covariates), responses).backward()
                    optimiser.step()
    weights = torch.vstack([model.bias[None], model.weight.T])
    return weights.detach().numpy().astype(float)


@cache
def _noise(budget, rate, passes):
    """Standard deviation of Opacus's noise over the clipping norm, for passes with batches."""
    from opacus.accountants.utils import get_noise_multiplier

    with warnings.catch_warnings():
        # Of a grid of losses that the accountant makes finer.
        warnings.simplefilter("ignore")
        return get_noise_multiplier(
            target_epsilon=budget.epsilon,
            target_delta=budget.delta,
            sample_rate=rate,
            epochs=passes,
            accountant="prv",
        )
