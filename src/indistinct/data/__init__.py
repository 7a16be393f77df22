"""Data: the one place where records are read, by one bounded sum on every engine."""

from indistinct.data.bounded_sum import BoundedSum, Totals
from indistinct.data.domain import Bins, Categories, Missing, Numbers, Outside
from indistinct.data.duck import read_csv, read_parquet, read_sql
from indistinct.data.encoding import Boxed, Cells, Clipped
from indistinct.data.reach import Norm
from indistinct.data.source import table
from indistinct.data.table import Table
from indistinct.data.unit import Records, UserRecords, UserTotals

__all__ = [
    "Bins",
    "BoundedSum",
    "Boxed",
    "Categories",
    "Cells",
    "Clipped",
    "Missing",
    "Norm",
    "Numbers",
    "Outside",
    "Records",
    "Table",
    "Totals",
    "UserRecords",
    "UserTotals",
    "read_csv",
    "read_parquet",
    "read_sql",
    "table",
]
