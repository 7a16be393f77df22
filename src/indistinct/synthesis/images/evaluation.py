"""Train on synthetic images, test on real ones, with the network of *Functional RDP*, appendix C."""

from typing import Any

from indistinct.synthesis.images.cuda_graph import RecordedStep


def accuracy(
    images: Any,
    labels: Any,
    test_images: Any,
    test_labels: Any,
    *,
    epochs: int = 20,
    batch: int = 250,
    seed: int = 0,
) -> float:
    """The share of test images whose class the network finds, after training on the first two arguments."""
    found = predicted(images, labels, test_images, epochs=epochs, batch=batch, seed=seed)
    return float((found == test_labels).float().mean())


def predicted(
    images: Any, labels: Any, test_images: Any, *, epochs: int = 20, batch: int = 250, seed: int = 0
) -> Any:
    """The classes that the network finds in test images, after training on the first two arguments: tensors
    on one device, labels from 0."""
    import torch
    from torch import nn

    device = images.device
    channels, height, width = images.shape[1:]
    cells = 64 * ((height + 3) // 4) * ((width + 3) // 4)
    batch = min(batch, len(images))
    on_gpu = device.type == "cuda"
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Conv2d(channels, 32, 3, stride=2, padding=1),
            nn.Dropout(0.5),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1),
            nn.Dropout(0.5),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(cells, int(labels.max()) + 1),
        ).to(device)
        optimiser = torch.optim.Adam(network.parameters(), capturable=on_gpu)
        chosen = torch.zeros(batch, dtype=torch.long, device=device)

        def step() -> Any:
            loss = nn.functional.cross_entropy(network(images[chosen]), labels[chosen])
            loss.backward()
            optimiser.step()
            return loss.detach()

        take_step = RecordedStep(step, optimiser.zero_grad, on_gpu)
        for _ in range(epochs):
            order = torch.randperm(len(images), device=device)
            for start in range(0, len(images) - batch + 1, batch):
                chosen.copy_(order[start : start + batch])
                take_step()
        network.eval()
        with torch.no_grad():
            return torch.cat([network(some).argmax(1) for some in test_images.split(5000)])
