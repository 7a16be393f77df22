"""Private answers about a table, asked as one would ask pandas.

>>> import numpy as np
>>> from indistinct import Budget
>>> from indistinct.data import Categories
>>> from indistinct.noise import NotPrivateSource
>>> records = {"educ": np.arange(3000) % 3, "income": 10_000.0 * (np.arange(3000) % 7)}
>>> people = PrivateTable(records, {"educ": Categories([0, 1, 2])})
>>> incomes = people.by("educ").mean("income", low=0, high=100_000)
>>> print(incomes.release(Budget(epsilon=1), source=NotPrivateSource(1)).values)
educ      mean  standard_error       low      high
   0  30,113.9           152.3  29,790.5  30,435.9
   1  30,124.8           152.3  29,801.5  30,446.6
   2  30,254.2             152  29,931.5  30,575.5
"""

from indistinct.tables.found import Found as Found
from indistinct.tables.private_table import PrivateTable as PrivateTable
from indistinct.tables.question import Answers as Answers
from indistinct.tables.question import Question as Question
from indistinct.tables.question import release_together as release_together
