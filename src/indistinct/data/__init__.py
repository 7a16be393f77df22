"""Data: the one place where records are read, by one bounded sum on every engine."""

from indistinct.data.engines.cached import CachedTable
from indistinct.data.engines.csv_lines import Dialect, read_csv
from indistinct.data.engines.duckdb_engine import read_sql
from indistinct.data.engines.linked import in_memory, linked
from indistinct.data.engines.parquet import read_parquet
from indistinct.data.engines.postgres import read_postgres
from indistinct.data.engines.select import check_by_record, check_table
from indistinct.data.engines.source import table
from indistinct.data.engines.table import Table
from indistinct.data.frames import ORDERED_CATEGORY, frame_from_file, pandas_frame, pandas_holds
from indistinct.data.queries.bounds import BetweenRungs, Ladder, SuggestedBounds
from indistinct.data.queries.count_tables import (
    Celled,
    Intervals,
    OrMissing,
    Tables,
    Tabulated,
    inner,
    kind_of,
)
from indistinct.data.queries.count_tree import best_factor
from indistinct.data.queries.feature_sums import FeatureMap, FeatureSum, Mapped
from indistinct.data.queries.grouped import GroupBy
from indistinct.data.queries.heavy_hitters import HeavyHitters
from indistinct.data.queries.hierarchy import Hierarchy, Level, Within, flat
from indistinct.data.queries.intervals import Estimates, half_width, whole_counts
from indistinct.data.queries.outside import OutsideDomain, Parts, UsersOver, shares
from indistinct.data.queries.products import Products, ProductSum
from indistinct.data.queries.quantiles import Quantile, Quantiles
from indistinct.data.queries.query import NoisyQuery, Query, WithLaplace
from indistinct.data.queries.regression import (
    Association,
    Coefficient,
    CovarianceTable,
    CrossProductQuery,
    LinearRegression,
    LogisticRegression,
)
from indistinct.data.queries.statistics import Count, Histogram, Mean, Sum, Variance, VectorSum
from indistinct.data.records.bounded_sum import BoundedSum, Totals
from indistinct.data.records.domain import Bins, Categories, Missing, Numbers, Outside
from indistinct.data.records.encoding import Boxed, Cells, Clipped
from indistinct.data.records.grouped import ByGroup
from indistinct.data.records.reach import Norm
from indistinct.data.records.types import Kind, Times
from indistinct.data.records.unit import RECORDS, Records, Unit, UserRecords, UserTotals
from indistinct.data.result_formats import write_parquet

__all__ = [
    "ORDERED_CATEGORY",
    "RECORDS",
    "Association",
    "BetweenRungs",
    "Bins",
    "BoundedSum",
    "Boxed",
    "ByGroup",
    "CachedTable",
    "Categories",
    "Celled",
    "Cells",
    "Clipped",
    "Coefficient",
    "Count",
    "CovarianceTable",
    "CrossProductQuery",
    "Dialect",
    "Estimates",
    "FeatureMap",
    "FeatureSum",
    "GroupBy",
    "HeavyHitters",
    "Hierarchy",
    "Histogram",
    "Intervals",
    "Kind",
    "Ladder",
    "Level",
    "LinearRegression",
    "LogisticRegression",
    "Mapped",
    "Mean",
    "Missing",
    "NoisyQuery",
    "Norm",
    "Numbers",
    "OrMissing",
    "Outside",
    "OutsideDomain",
    "Parts",
    "ProductSum",
    "Products",
    "Quantile",
    "Quantiles",
    "Query",
    "Records",
    "SuggestedBounds",
    "Sum",
    "Table",
    "Tables",
    "Tabulated",
    "Times",
    "Totals",
    "Unit",
    "UserRecords",
    "UserTotals",
    "UsersOver",
    "Variance",
    "VectorSum",
    "WithLaplace",
    "Within",
    "best_factor",
    "check_by_record",
    "check_table",
    "flat",
    "frame_from_file",
    "half_width",
    "in_memory",
    "inner",
    "kind_of",
    "linked",
    "pandas_frame",
    "pandas_holds",
    "read_csv",
    "read_parquet",
    "read_postgres",
    "read_sql",
    "shares",
    "table",
    "whole_counts",
    "write_parquet",
]
