"""Lines of red wine by diffprivlib and by DP-SGD of Opacus, which claims of a paper are judged by.

They run in environments of their own, and their mean squared errors are kept below
resources/recorded, for the study `wine` of config/config.yaml.  The paper states no setting of
DP-SGD, so that every combination of ordinary values is drawn; they were chosen before the first
run.
"""

import warnings
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product

import numpy as np
import pandas as pd

import script
from geodp.randomness import random_stream
from tools_methods import Budget, Problem, diffprivlib, predictions

PACKAGES = {"dp_sgd": ("opacus", "torch")}


def measure(wine, methods, covariate, responses, bound, budgets, delta, draws, settings, seed):
    """A row a method, budget and setting; columns ``0``, ``1`` and so on are errors of draws."""
    needed = "opacus" if "dp_sgd" in methods else "diffprivlib"
    if not find_spec(needed):
        name = "opacus" if needed == "opacus" else "competitors"
        command = f"./run --with {name} snakemake -s evaluation/Snakefile {name} --cores 1"
        raise SystemExit(f"Error: this environment has no {needed}: use {command}")
    frame = pd.read_csv(wine, sep=";")
    x = frame[[covariate]].to_numpy(dtype=float)
    x = (x - x.min()) / np.ptp(x)
    y = frame[responses].to_numpy(dtype=float)
    y = (y - y.mean(axis=0)) / y.std(axis=0)
    given, unit = np.clip(y, -bound, bound), (np.zeros(1), np.ones(1))
    problem = Problem(x, given, *unit, norm=1.0, bound=bound, has_intercept=True, records=len(x))
    grid = [dict(zip(settings, each, strict=True)) for each in product(*settings.values())]
    rows = []
    for method, setting, epsilon in product(methods, grid, budgets):
        key = "comparison", method, str(epsilon), *map(str, setting.values())
        rng, budget = random_stream(seed, *key), Budget(epsilon, delta)
        fit = {
            "diffprivlib": each_response,
            "diffprivlib_one_call": diffprivlib,
            "dp_sgd": dp_sgd(setting),
        }[method]
        errors = [
            np.mean((y - predictions(fit(problem, budget, rng), x)) ** 2) for _ in range(draws)
        ]
        packages = PACKAGES.get(method, ("diffprivlib", "scikit-learn"))
        about = {"data": "red wine", "n": len(x), "responses": y.shape[1], "covariate": covariate}
        about |= {"response_bound": bound, "seed": seed, "method": method}
        about["versions"] = ", ".join(f"{each} {version(each)}" for each in packages)
        # To the digits in which other machines agree.
        errors = {str(draw): float(f"{error:.6g}") for draw, error in enumerate(errors)}
        rows.append(about | {"budget": epsilon, "delta": delta} | setting | errors)
    return pd.DataFrame(rows)


def each_response(problem, budget, rng):
    """Line of diffprivlib, called for each response with an equal part of the budget."""
    number = problem.responses.shape[1]
    part = Budget(budget.epsilon / number, budget.delta / number)
    lines = [
        diffprivlib(replace(problem, responses=problem.responses[:, [j]]), part, rng)
        for j in range(number)
    ]
    return np.concatenate(lines, axis=1)


def dp_sgd(setting):
    """A method: line of all responses; (eps, delta)-private for one record added or removed.

    A setting has ``passes`` over the records, length of a ``step``, the norm ``clip`` of gradients,
    and the number of records expected in a ``batch``.  All else is as the packages have it.
    """

    def fitted(problem, budget, rng):
        import torch

        torch.set_num_threads(1)
        batches = -(-len(problem.responses) // setting["batch"])
        noise = _noise(budget, 1.0 / batches, setting["passes"])
        return _trained(problem, noise, setting, rng)

    return fitted


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


def _trained(problem, noise, setting, rng):
    """Line of a layer that Opacus trains with a multiple of the clipping norm as noise."""
    import torch
    from opacus import PrivacyEngine

    # Weights start where the layer draws them.
    torch.manual_seed(int(rng.integers(2**62)))
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    records = torch.utils.data.TensorDataset(
        *(
            torch.tensor(part, dtype=torch.float32)
            for part in (problem.covariates, problem.responses)
        )
    )
    sizes = problem.covariates.shape[1], problem.responses.shape[1]
    model = torch.nn.Linear(*sizes, bias=problem.has_intercept)
    with warnings.catch_warnings():
        # Opacus warns that its generator is not the operating system's.
        warnings.simplefilter("ignore")
        private, optimiser, batches = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=setting["step"]),
            data_loader=torch.utils.data.DataLoader(records, batch_size=setting["batch"]),
            noise_multiplier=noise,
            max_grad_norm=setting["clip"],
            noise_generator=generator,
        )
        batches.batch_sampler.generator = generator
        for _ in range(setting["passes"]):
            # The loader's own batches, without its loop over their records.
            for chosen in batches.batch_sampler:
                if chosen:
                    x, y = records[chosen]
                    optimiser.zero_grad()
                    torch.nn.functional.mse_loss(private(x), y).backward()
                    optimiser.step()
    slopes = model.weight.detach().numpy().T.astype(float)
    intercept = [model.bias.detach().numpy().astype(float)] if problem.has_intercept else []
    return problem.line(np.vstack([*intercept, slopes]))


if __name__ == "__main__":
    script.run(snakemake, measure)
