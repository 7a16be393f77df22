# Every command sets up what it needs; a second call finds it in place.

# The first Python that is new enough; asked only when an environment is made.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench docs clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: .venv/.installed ## private answers from a real table, and a report on them (out/doctor_visits/)
	.venv/bin/python examples/doctor_visits.py

test: lint ## check the code, then run the tests and doctests
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/pytest -n 2

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
