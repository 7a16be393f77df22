"""A synthetic table: who sees a doctor, in rows that are about nobody.

The table comes inside a package (statsmodels): the RAND Health Insurance Experiment, with up to five years of
each of 5,912 people. Half of the people are set aside; of the others, noisy counts are released and rows are
drawn from a model of them, as `indistinct run` does. The people set aside judge the rows: what a model that
has only seen synthetic rows knows about real ones, beside one that was trained on the records themselves.
"""

import importlib.util
import shutil
import sys
from pathlib import Path

import duckdb

from indistinct.cli import main

HERE, OUT = Path(__file__).parent, Path("out")
PLAN, USED, ASIDE = OUT / "synthetic_table.toml", OUT / "randhie_used.parquet", OUT / "randhie_aside.parquet"

found = importlib.util.find_spec("statsmodels")
if found is None or found.origin is None:
    sys.exit('the table comes with statsmodels: pip install "indistinct[test]"')
OUT.mkdir(exist_ok=True)
if not USED.exists():  # an interrupted run is finished only with the very file that it began with
    source = Path(found.origin).parent / "datasets" / "randhie" / "src" / "randhie.csv"
    table = duckdb.read_csv(str(source)).project(
        "zper AS person, CAST(floor(xage) AS BIGINT) AS age, disea AS diseases,"
        " CASE female WHEN 1 THEN 'female' ELSE 'male' END AS sex, coins AS paid_share,"
        " CASE WHEN mdvis > 0 THEN 'yes' ELSE 'no' END AS visited"
    )
    table.filter("person % 2 = 0").write_parquet(str(ASIDE))
    table.filter("person % 2 = 1").write_parquet(str(USED))
shutil.copyfile(HERE / PLAN.name, PLAN)

if status := main(["run", str(PLAN), "--out", str(OUT / "synthetic_table")]):
    sys.exit(status)
made = OUT / "synthetic_table" / "patients.parquet"
print(duckdb.read_parquet(str(made)).limit(5))
sys.exit(main(["synth", "evaluate", str(made), str(ASIDE), "--plan", str(PLAN), "--used", str(USED)]))
