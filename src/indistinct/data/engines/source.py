"""`table`: any data in memory or in Spark as a table."""

from typing import Any

from indistinct.data.engines.memory import in_memory
from indistinct.data.engines.spark import SparkTable
from indistinct.data.engines.table import Table


def table(data: Any) -> Table:
    """A table of arrays by name, of a pandas, Polars or Arrow table, or of a Spark DataFrame.

    >>> import numpy as np
    >>> table({"age": np.array([31, 45]), "town": np.array(["a", "b"])}).kinds()
    {'age': <Kind.INTEGER: 'integers'>, 'town': <Kind.TEXT: 'text'>}
    """
    if isinstance(data, Table):
        return data
    # Known by where it was defined, so that nothing of Spark is imported for other data.
    if type(data).__module__.startswith("pyspark.sql"):
        return SparkTable(data)
    return in_memory(data)
