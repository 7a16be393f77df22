# Every command sets up what it needs; a second call finds it in place.

# The first Python that is new enough; asked only when an environment is made.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

.DEFAULT_GOAL := help
.PHONY: help demo test quick fuzz lint bench docs clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: .venv/.installed ## private answers from a real table, and a report on them (out/doctor_visits/)
	.venv/bin/python examples/doctor_visits.py

# One thread each: two workers share two cores. Tests that share a costly fixture are a group.
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/pytest -n 2 --dist loadgroup

test: lint ## check the code, then run the tests and doctests; the same everywhere
	$(PYTEST)

quick: .venv/.installed ## the inner loop: the laws and references of guarantees, without what is slow
	$(PYTEST) -q -m "not slow" $(QUICK)

QUICK = $(addprefix tests/test_,reference.py laws.py conversion.py \
	calibration.py errors.py known_mistakes.py published.py)

fuzz: .venv/.installed ## try new random examples of the laws: make fuzz MINUTES=5
	@end=$$(( $$(date +%s) + 60 * $(MINUTES) )); rounds=0; \
	while [ $$(date +%s) -lt $$end ]; do \
		seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
		$(PYTEST) -q -m hypothesis --hypothesis-profile=fuzz --hypothesis-seed=$$seed $(LAWS) \
		|| { echo "failed: make fuzz SEED=$$seed tries the same again"; exit 1; }; \
		rounds=$$(( rounds + 1 )); done; echo "$$rounds rounds, no law failed"

MINUTES ?= 5
LAWS = $(addprefix tests/test_,laws_composition.py properties.py conversion.py meaning.py adversaries_laws.py \
	declared.py adversary.py files.py mutations.py)

lint: .venv/.installed ## ruff (rules and form) and mypy
	.venv/bin/ruff check .
	.venv/bin/ruff format --check --quiet .
	.venv/bin/mypy

bench: .venv-bench/.installed ## compare with other libraries (large downloads the first time)
	@failed=""; for script in benchmarks/*.py; do echo "== $$script"; \
	.venv-bench/bin/python $$script || failed="$$failed $$script"; done; \
	test -z "$$failed" || { echo "a bar was missed, or an error met, in:$$failed"; exit 1; }

docs: .venv/.installed ## redraw the pictures of docs/ and run its examples
	.venv/bin/python docs/make_pictures.py
	.venv/bin/pytest docs README.md

clean: ## remove environments, caches and output
	rm -rf .venv .venv-bench out build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The tests of Spark start one where Java 17 is installed; elsewhere its 500 MB would be for nothing.
JAVA_17 = $(shell java -version 2>&1 | grep -q 'version "17' && echo ,spark)
.venv/.installed: EXTRA = dev$(JAVA_17)
.venv-bench/.installed: EXTRA = bench
.venv/.installed .venv-bench/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --editable '.[$(EXTRA)]'
	@touch $@
