"""Data: the one place where records are read, by one bounded sum on every engine."""

from indistinct.data.batch import Kind
from indistinct.data.bounded_sum import BoundedSum, Totals
from indistinct.data.domain import Bins, Categories, Missing, Numbers, Outside
from indistinct.data.duck import read_csv, read_parquet, read_sql
from indistinct.data.encoding import Boxed, Cells, Clipped
from indistinct.data.frames import ORDERED_CATEGORY, frame_from_file, pandas_frame, pandas_holds
from indistinct.data.heavy_hitters import HeavyHitters
from indistinct.data.mapped import FeatureMap, FeatureSum, Mapped
from indistinct.data.products import Products, ProductSum
from indistinct.data.quantiles import Quantile, Quantiles
from indistinct.data.query import NoisyQuery, Query, WithLaplace
from indistinct.data.reach import Norm
from indistinct.data.remembered import Remembered
from indistinct.data.saved import from_json
from indistinct.data.source import table
from indistinct.data.statistics import Count, Histogram, Mean, PublicMean, Sum, VectorSum
from indistinct.data.table import Table
from indistinct.data.tabulated import Celled, Intervals, OrMissing, Tables, Tabulated
from indistinct.data.unit import RECORDS, Records, Unit, UserRecords, UserTotals
from indistinct.data.written import write_parquet

__all__ = [
    "ORDERED_CATEGORY",
    "RECORDS",
    "Bins",
    "BoundedSum",
    "Boxed",
    "Categories",
    "Celled",
    "Cells",
    "Clipped",
    "Count",
    "FeatureMap",
    "FeatureSum",
    "HeavyHitters",
    "Histogram",
    "Intervals",
    "Kind",
    "Mapped",
    "Mean",
    "Missing",
    "NoisyQuery",
    "Norm",
    "Numbers",
    "OrMissing",
    "Outside",
    "ProductSum",
    "Products",
    "PublicMean",
    "Quantile",
    "Quantiles",
    "Query",
    "Records",
    "Remembered",
    "Sum",
    "Table",
    "Tables",
    "Tabulated",
    "Totals",
    "Unit",
    "UserRecords",
    "UserTotals",
    "VectorSum",
    "WithLaplace",
    "frame_from_file",
    "from_json",
    "pandas_frame",
    "pandas_holds",
    "read_csv",
    "read_parquet",
    "read_sql",
    "table",
    "write_parquet",
]
