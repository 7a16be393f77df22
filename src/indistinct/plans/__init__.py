"""Plans: private answers from a table with one file and one command."""

from indistinct.plans.check import Checked as Checked
from indistinct.plans.check import check_plan as check_plan
from indistinct.plans.plan import Plan as Plan
from indistinct.plans.plan import parse_plan as parse_plan
from indistinct.plans.plan import read_plan as read_plan
from indistinct.plans.run import run_plan as run_plan
