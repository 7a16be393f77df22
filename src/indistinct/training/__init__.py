"""Training with noisy gradients: the mechanism of a run from how its batches are made, and loaders that make
them so."""

from indistinct.training.batches import AllocatedBatches as AllocatedBatches
from indistinct.training.batches import PoissonBatches as PoissonBatches
from indistinct.training.dp_sgd import Neighbours as Neighbours
from indistinct.training.dp_sgd import Sampling as Sampling
from indistinct.training.dp_sgd import Training as Training
from indistinct.training.dp_sgd import dp_sgd as dp_sgd
