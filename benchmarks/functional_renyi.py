"""Tables 1 and 3 and Figures 1 to 4 of *Functional Rényi DP* (Jiang, Sun and Yu 2023), measured again.

- one release (ours): `ImageSynthesizer` with its defaults.
- DP-MERF (Harder, Adamczewski and Park 2021): one release of random features of one Gaussian kernel on
  pixels, with the features, generator and training of its published code; the noise is ours (exact
  calibration, add/remove).
- a release in each step, and the published loop (conditional, and one generator a class): published_loop.py,
  with the rates, noises and steps of Table 2. The published loop is NOT PRIVATE, so its ε is only the one
  claimed.

All are judged alike, as the paper and its code do: at 32 × 32 pixels the network of appendix C is trained for
5 epochs on 60,000 generated images and tested on the 10,000 real test images, five times. δ = 1e-5. Instead
of FID, which needs a network that has to be downloaded, the Fréchet distance of fixed wavelet features.
CelebA is not at hand; CIFAR-10 (recompressed as JPEG, lossy; 50,000 images; 20 epochs, three times) stands
in. Nothing was tuned here, and no method saw test images in training. One seed of noise and training.

    python benchmarks/functional_renyi.py [--data ../shared/data] [--out build/functional_renyi] [--small]
                                          [--parts merf conditional parallel step ours]
                                          [--sets mnist fashion cifar10]

Every result is written at once, beside those that are there already: FOLDER/functional_renyi.json and, for
the figures, ten times two samples of each in FOLDER/functional_renyi.npz; both belong in
src/indistinct/reproduce/. All of it takes some 17 minutes on one H200 with --limit 110, and ten more with
all steps; --small shows in some minutes on a CPU that everything runs.
"""

import argparse
import json
import math
import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from published_loop import SIDE, Loop, Published, ReleasedEachStep
from synthesis_images import SMALL as SMALL_TRAINING
from synthesis_images import device_for, read
from synthesis_protocol import cifar
from torch import nn
from torch.nn import functional

from indistinct import Budget
from indistinct.data import CachedTable
from indistinct.noise import NotPrivateSource
from indistinct.reproduce.functional_renyi import DELTA, TABLE_2
from indistinct.synthesis.images import (
    ImageMap,
    ImageSynthesizer,
    ImageTraining,
    MapPart,
    Pixels,
    SyntheticImages,
    accuracy,
    frechet_distance,
    wavelet_features,
)

GREY, CLASSES, EPSILONS = ("mnist", "fashion"), 10, (1.0, 0.2, 10.0)
MERF_LENGTHS = {"mnist": math.sqrt(105), "fashion": math.sqrt(127), "cifar10": math.sqrt(127 * 3072 / 784)}
"""Those of its code; for colour, by the number of pixels."""
PARTS = ("merf", "conditional", "parallel", "step", "ours")
Made = tuple[Any, Any]


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    records: int = 60_000
    tested: int = 10_000
    share: float = 1.0
    """Of the steps of Table 2."""
    pairs: int = 20_000
    merf_pairs: int = 5000
    runs: int = 5


FULL = Size()
SMALL = Size(records=2000, tested=500, share=0.0002, pairs=300, merf_pairs=300, runs=1)


def resized(images: Any) -> Any:
    """At the size that the paper's pictures have."""
    if images.shape[-1] == SIDE:
        return images
    return functional.interpolate(images, (SIDE, SIDE), mode="bilinear", align_corners=False)


class Data:
    """A set of images as it is, for one release, and as the paper has it, on the device."""

    def __init__(self, folder: Path, name: str, size: Size, device: str) -> None:
        if name == "cifar10":
            parts = cifar(folder)
        else:
            parts = {part: read(folder, name, file) for part, file in (("train", "train"), ("test", "t10k"))}
        self.name, self.device = name, device
        self.images, self.labels = (some[: size.records] for some in parts["train"])
        test, wanted = (some[: size.tested] for some in parts["test"])
        self.test = resized(torch.as_tensor(test, dtype=torch.float32, device=device))
        self.wanted = torch.as_tensor(wanted, device=device)
        self.shape: tuple[int, int, int] = self.images.shape[1:]
        self.real = wavelet_features(self.test.cpu().numpy())

    def rows(self) -> tuple[Any, Any]:
        """Records from -1 to 1, one a row, and their classes."""
        images = resized(torch.as_tensor(self.images, dtype=torch.float32, device=self.device))
        return 2 * images.flatten(1) - 1, torch.as_tensor(self.labels, device=self.device)


class Results:
    """What was measured, by method, set and claimed ε; written whenever something is added."""

    def __init__(self, folder: Path, size: Size, device: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.pictures, self.size = (
            folder / "functional_renyi.json",
            folder / "functional_renyi.npz",
            size,
        )
        self.results: list[dict[str, Any]] = []
        self.samples: dict[str, np.ndarray] = {}
        if self.path.is_file():
            self.results = json.loads(self.path.read_text(encoding="utf-8"))["results"]
            self.samples = dict(np.load(self.pictures))
        name = torch.cuda.get_device_name() if device == "cuda" else "a CPU"
        self.made_on = f"{name}, PyTorch {torch.__version__}"

    def add(self, data: Data, method: str, epsilon: float, drawn: Made, **more: Any) -> None:
        """Judge 60,000 images and their labels, from 0 to 1, of any size."""
        made, kinds = (torch.as_tensor(one, device=data.device) for one in drawn)
        made, colour = resized(made.float()).contiguous(), data.name == "cifar10"
        how = {"epochs": 20 if colour else 5, "batch": 200}
        runs = min(self.size.runs, 3) if colour else self.size.runs
        scores = [
            100 * accuracy(made, kinds, data.test, data.wanted, seed=seed, **how) for seed in range(runs)
        ]
        some = made[:: max(1, len(made) // 5000)].cpu().numpy()
        distance = frechet_distance(some, data.real, lambda x: x if x is data.real else wavelet_features(x))
        found = {
            "method": method,
            "set": data.name,
            "epsilon": epsilon,
            "accuracy": [round(score, 2) for score in scores],
            "distance": round(distance, 4),
            "on": self.made_on,
            "day": f"{datetime.now(UTC):%Y-%m-%d}",
            **more,
        }
        key = ("method", "set", "epsilon")
        self.results = [old for old in self.results if any(old[k] != found[k] for k in key)] + [found]
        rows = [made[kinds == kind][:2] for kind in range(CLASSES)]
        sheet = torch.stack([row for row in rows if len(row) == 2]).cpu().numpy()
        self.samples["|".join(str(found[k]) for k in key)] = np.uint8(np.rint(sheet.clip(0, 1) * 15) * 17)
        self.path.write_text(
            json.dumps({"results": self.results}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        np.savez_compressed(self.pictures, **self.samples)
        words = " ".join(f"{score:.1f}" for score in scores)
        print(f"{data.name} {method} ε={epsilon:g}: {words} %, distance {distance:.3f}, {more}", flush=True)


def loops(results: Results, sets: list[Data], part: str, limit: float) -> None:
    """The loops of Table 2 on sets of one shape, all ε of all sets at once."""
    size, device = results.size, sets[0].device
    variant = "parallel" if part == "parallel" else "conditional"
    table = [row for row in TABLE_2 if row.variant == variant]
    rows = [data.rows() for data in sets]
    starts = np.cumsum([0, *(len(labels) for _, labels in rows)])
    labels = torch.cat([labels for _, labels in rows])
    where = []
    for start, end in pairwise(starts):
        places = torch.arange(start, end, device=device)
        kinds = range(CLASSES) if variant == "parallel" else [None]
        where.append([places if kind is None else places[labels[places] == kind] for kind in kinds])
    jobs = [(place, row) for place in range(len(sets)) for row in table]
    multipliers = [row.noise for place, row in jobs for _ in where[place]]
    rate = table[0].rate
    loop = Loop(
        torch.cat([images for images, _ in rows]),
        labels * 0 if variant == "parallel" else labels,
        [members for place, _ in jobs for members in where[place]],
        torch.tensor(multipliers, device=device),
        rate,
        0 if variant == "parallel" else CLASSES,
        sets[0].shape[0],
        seed=0,
    )
    loss = Published() if part != "step" else None
    if loss is None:
        numbers = rows[0][0].shape[1]
        loss = ReleasedEachStep(numbers, CLASSES, rate * len(rows[0][1]), device)
    least = 40 if device == "cuda" else 1  # a GPU records a step after twenty
    loop.train(loss, max(least, round(size.share * table[0].steps)), limit)
    method = {"step": "a release in each step"}.get(part, f"published loop, {variant}")
    kinds = torch.arange(CLASSES, device=device).repeat(-(-size.records // CLASSES))[: size.records]
    for number, (place, row) in enumerate(jobs):
        if variant == "parallel":
            made = torch.zeros(len(kinds), sets[place].shape[0], SIDE, SIDE, device=device)
            for kind in range(CLASSES):
                zeros = torch.zeros(int((kinds == kind).sum()), dtype=torch.long, device=device)
                made[kinds == kind] = loop.stack.sample(number * CLASSES + kind, zeros, seed=kind)
        else:
            made = loop.stack.sample(number, kinds, seed=0)
        more = {"steps": loop.taken, "seconds": round(loop.seconds / len(jobs), 1)}
        results.add(sets[place], method, row.target, (made, kinds), **more)


def ours(results: Results, data: Data, epsilons: tuple[float, ...]) -> None:
    small = results.size is SMALL
    colour = data.shape[0] == 3
    design = ImageSynthesizer(data.shape, range(CLASSES), pairs=results.size.pairs)
    steps = {"steps": 2000} if colour else {}  # in colour as in synthesis_protocol.py
    training = SMALL_TRAINING if small else ImageTraining(**steps)
    table = CachedTable(design.table(data.images, data.labels))
    for epsilon in epsilons:
        started = time.perf_counter()
        noisy = design.mechanism(Budget(epsilon=epsilon, delta=DELTA))
        release = noisy.release(table, source=NotPrivateSource(0))  # to be repeated: not a user's
        result = SyntheticImages(design, release).trained(training, seed=0, device=data.device)
        drawn = result.sample(len(data.images), seed=0, device=data.device)
        more = {"steps": training.steps, "seconds": round(time.perf_counter() - started, 1)}
        results.add(data, "one release (ours)", epsilon, drawn, **more)


class MerfGenerator(nn.Module):
    """That of DP-MERF's code: two layers, then two convolutions of enlarged maps."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.side = shape[1] // 4
        self.flat = nn.Sequential(
            nn.Linear(5 + CLASSES, 200), nn.BatchNorm1d(200), nn.ReLU(), nn.Linear(200, 16 * self.side**2)
        )
        twice: dict[str, Any] = {"scale_factor": 2, "mode": "bilinear"}
        self.maps = nn.Sequential(
            *(nn.Upsample(**twice), nn.Conv2d(16, 8, 5, padding=2), nn.ReLU()),
            *(nn.Upsample(**twice), nn.Conv2d(8, shape[0], 5, padding=2), nn.Sigmoid()),
        )

    def forward(self, labels: Any) -> Any:
        told = functional.one_hot(labels, CLASSES).float()
        told = torch.cat([torch.randn(len(labels), 5, device=labels.device), told], 1)
        return self.maps(self.flat(told).view(-1, 16, self.side, self.side))


def merf(results: Results, data: Data, epsilons: tuple[float, ...]) -> None:
    part = MapPart(Pixels(), MERF_LENGTHS[data.name], results.size.merf_pairs, 0.98)
    map, device = ImageMap(data.shape, (part,), 0.02), data.device
    design = ImageSynthesizer(data.shape, range(CLASSES), map=map)
    table = CachedTable(design.table(data.images, data.labels))
    features = map.on(device)
    batch, epochs = min(500, len(data.images)), 5
    for epsilon in epsilons:
        started = time.perf_counter()
        noisy = design.mechanism(Budget(epsilon=epsilon, delta=DELTA))
        release = noisy.release(table, source=NotPrivateSource(0))
        sums = np.asarray(release.values).reshape(CLASSES, -1)
        target = torch.as_tensor(sums / (sums[:, -1:].sum() / map.unit), dtype=torch.float32, device=device)
        torch.manual_seed(0)
        generator = MerfGenerator(data.shape).to(device)
        optimiser = torch.optim.Adam(generator.parameters(), 0.01)
        decay = torch.optim.lr_scheduler.StepLR(optimiser, 1, 0.9)
        for _ in range(epochs):
            for _ in range(len(data.images) // batch):
                kinds = torch.randint(CLASSES, (batch,), device=device)
                told = functional.one_hot(kinds, CLASSES).float()
                mean = told.T @ features(generator(kinds)) / batch
                optimiser.zero_grad()
                ((mean - target) ** 2).sum().backward()
                optimiser.step()
            decay.step()
        generator.eval()
        kinds = torch.arange(CLASSES, device=device).repeat(-(-len(data.images) // CLASSES))
        kinds = kinds[: len(data.images)]
        with torch.no_grad():
            made = torch.cat([generator(some) for some in kinds.split(5000)])
        more = {"steps": epochs * (len(data.images) // batch)}
        more["seconds"] = round(time.perf_counter() - started, 1)
        results.add(data, "DP-MERF", epsilon, (made, kinds), **more)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    out = Path(os.environ.get("OUT", "build/functional_renyi"))
    parser.add_argument("--out", type=Path, default=out, help="a folder, whose results are added to")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--sets", nargs="*", default=[*GREY, "cifar10"], choices=[*GREY, "cifar10"])
    parser.add_argument("--epsilon", type=float, nargs="*", help="of one release: 1 0.2 10, for colour 1 0.2")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds of one loop's training")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    device = device_for(options)
    if device is None:
        return 0
    size = SMALL if options.small else FULL
    results = Results(options.out, size, device)
    started = time.perf_counter()
    every = [Data(options.data, name, size, device) for name in options.sets]
    grey, colour = ([one for one in every if (one.name in GREY) is wanted] for wanted in (True, False))
    for part in options.parts:
        # in colour the published loop's better half, one generator a class, alone
        for sets in (grey, colour if part != "conditional" and part != "step" else []):
            if part in ("merf", "ours"):
                for data in sets:
                    chosen = tuple(options.epsilon or ()) or (EPSILONS if data in grey else EPSILONS[:2])
                    (merf if part == "merf" else ours)(results, data, chosen)
            elif sets:
                loops(results, sets, part, options.limit)
            print(f"{part}: {time.perf_counter() - started:.0f} s so far", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
