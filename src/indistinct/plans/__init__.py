"""Plans: private answers from a table with one file and one command."""

from indistinct.plans.check import Checked, check_plan
from indistinct.plans.plan import Plan, parse_plan, read_plan
from indistinct.plans.run import run_plan

__all__ = ["Checked", "Plan", "check_plan", "parse_plan", "read_plan", "run_plan"]
