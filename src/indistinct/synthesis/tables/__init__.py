"""Private synthetic tables: noisy counts, then a generator that costs no privacy."""

from indistinct.synthesis.tables.conditions import Forbidden
from indistinct.synthesis.tables.decode import Determined
from indistinct.synthesis.tables.fitted import SyntheticTable
from indistinct.synthesis.tables.generator import Mixture
from indistinct.synthesis.tables.linked import LinkedSynthesizer, LinkedTables
from indistinct.synthesis.tables.synthesizer import TableSynthesizer
from indistinct.synthesis.tables.training import TableTraining

__all__ = [
    "Determined",
    "Forbidden",
    "LinkedSynthesizer",
    "LinkedTables",
    "Mixture",
    "SyntheticTable",
    "TableSynthesizer",
    "TableTraining",
]
