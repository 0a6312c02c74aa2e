"""Methods of other packages: diffprivlib as shipped and corrected, Theil-Sen of OpenDP, Opacus.

Read in the source of `LinearRegression` of diffprivlib 0.6.6 (the functional mechanism):

* The sensitivity of a sum of squares of a covariate is the square of the lower bound alone, which
  stands where both bounds should (its issues 104 and 105): bounds (0, 100) give zero.
* With an intercept, the private means of the covariates and that of the responses each take the
  share 1 / (k + 1) of the budget, and the moments k / (k + 1): so 1 + 1 / (k + 1) times the stated
  budget is spent.

The corrected line has right sensitivities and spends what is stated.
"""

import warnings
from functools import cache
from unittest import mock

import numpy as np


def diffprivlib(problem, budget, rng):
    """Line of all responses by one call of the class of the package, which shares the budget."""
    from diffprivlib.models import LinearRegression

    tool = LinearRegression(
        epsilon=budget.epsilon,
        bounds_X=(problem.low, problem.high),
        bounds_y=(-problem.bound, problem.bound),
        fit_intercept=problem.has_intercept,
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():
        # A quadratic whose noise made it indefinite has no minimum: the search overflows.
        warnings.simplefilter("ignore")
        tool.fit(problem.covariates, problem.responses)
    intercept = [tool.intercept_] if problem.has_intercept else []
    return problem.line(np.vstack([*intercept, tool.coef_.T]))


def diffprivlib_corrected(problem, budget, rng):
    """Line of one response, eps-private for one record replaced."""
    k = problem.covariates.shape[1]
    spent = 1.0 + 1.0 / (k + 1.0) if problem.has_intercept else 1.0
    place = "diffprivlib.models.linear_regression._construct_regression_obj"
    with mock.patch(place, noisy_quadratics):
        return diffprivlib(problem, type(budget)(budget.epsilon / spent, budget.delta), rng)


def noisy_quadratics(X, y, bounds_X, bounds_y, epsilon, alpha, random_state):
    """Objectives of one response from noisy moments, in place of the function of the package.

    Parameters and results are those that ``LinearRegression.fit`` passes and expects.  Each moment
    has an equal part of the budget, as there, but for the sum of squares of the responses: it does
    not move the minimum, and is not released.
    """
    from diffprivlib.mechanisms import Laplace

    k = X.shape[1]
    part = epsilon / (k + k * (k + 1) / 2)

    def released(total, products):
        # Replacing a record moves a sum by the width of what one record can add to it.
        width = float(max(products) - min(products))
        return Laplace(epsilon=part, sensitivity=width, random_state=random_state).randomise(total)

    ends = list(zip(*bounds_X, strict=True))
    response = [float(np.ravel(bound)[0]) for bound in bounds_y]
    right, normal = X.T @ np.ravel(y), X.T @ X
    for i in range(k):
        right[i] = released(float(right[i]), [a * b for a in ends[i] for b in response])
        for j in range(i, k):
            products = [a * b for a in ends[i] for b in ends[j]]
            if i == j:
                # A square is least at zero, or at the end next to it.
                products = [end**2 for end in (*ends[i], float(np.clip(0.0, *ends[i])))]
            normal[i, j] = normal[j, i] = released(float(normal[i, j]), products)

    def objective(slopes):
        pull = normal @ slopes + alpha * slopes
        return float(slopes @ pull - 2.0 * right @ slopes), 2.0 * (pull - right)

    return (objective,), (None, right[:, None], normal)


def theil_sen(problem, budget, rng):
    """Line of one response on one covariate; private for one record added or removed.

    OpenDP draws from the operating system and pairs records by NumPy's global generator, which is
    seeded here; so only the pairs can be repeated.
    """
    import opendp.prelude as opendp
    from opendp.extras.sklearn.linear_model import LinearRegression

    opendp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    given = {
        "output_measure": opendp.max_divergence(),
        "x_bounds": [(float(problem.low[0]), float(problem.high[0]))],
        "y_bounds": (-problem.bound, problem.bound),
    }
    # Noise of scale one costs this much; the cost falls in proportion to the scale.
    unit = LinearRegression(**given, scale=1.0).measurement.map(1)
    tool = LinearRegression(**given, scale=unit / budget.epsilon)
    np.random.seed(rng.integers(2**32))  # noqa: NPY002
    with np.errstate(divide="ignore", invalid="ignore"):
        # Pairs with one covariate; the tool leaves them out.
        found = tool.fit(problem.covariates, problem.responses[:, 0])
    return np.array([[found.intercept_], [found.coef_[0]]])


def dp_sgd(problem, budget, rng, draws, setting):
    """Lines of all responses at once; (eps, delta)-private for one record added or removed.

    A setting has ``passes`` over the records, length of a ``step``, the norm ``clip`` of gradients,
    and the number of records expected in a ``batch``.  All else is as the packages have it.
    """
    import torch

    torch.set_num_threads(1)
    batches = -(-len(problem.responses) // setting["batch"])
    noise = _noise(budget, 1.0 / batches, setting["passes"])
    return np.array([_trained(problem, noise, setting, rng) for _ in range(draws)])


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
