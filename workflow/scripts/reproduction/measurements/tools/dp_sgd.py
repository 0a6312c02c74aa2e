"""Stochastic gradients with clipping and Gaussian noise (DP-SGD), by Opacus."""

import warnings

# Passes over the records, expected records of a batch as a share of all, step, and the norm that
# gradients are clipped to: the best of a few on simulated lines of a hundred records.
PASSES, BATCH_SHARE, STEP, CLIP = 5, 1.0, 1.0, 0.3


def fit(problem, budget, rng):
    """Line of all responses at once; (eps, delta)-private for one record added or removed."""
    import torch
    from opacus import PrivacyEngine

    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    records = torch.utils.data.TensorDataset(
        torch.tensor(problem.design, dtype=torch.float32),
        torch.tensor(problem.responses, dtype=torch.float32),
    )
    model = torch.nn.Linear(problem.design.shape[1], problem.responses.shape[1], bias=False)
    torch.nn.init.zeros_(model.weight)
    size = max(1, round(BATCH_SHARE * len(records)))
    with warnings.catch_warnings():
        # Opacus warns that its generator is not the operating system's.
        warnings.simplefilter("ignore")
        private, optimiser, batches = PrivacyEngine().make_private_with_epsilon(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=STEP),
            data_loader=torch.utils.data.DataLoader(records, batch_size=size),
            target_epsilon=budget.epsilon,
            target_delta=budget.delta,
            epochs=PASSES,
            max_grad_norm=CLIP,
            noise_generator=generator,
        )
        batches.batch_sampler.generator = generator
        for _ in range(PASSES):
            for x, y in batches:
                if len(x):
                    optimiser.zero_grad()
                    torch.nn.functional.mse_loss(private(x), y, reduction="mean").backward()
                    optimiser.step()
    return problem.line(model.weight.detach().numpy().T.astype(float))
