# Every command sets up what it needs; a second call finds it in place.

# The first Python that is new enough; asked only when an environment is made.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

.DEFAULT_GOAL := help
.PHONY: help demo test pytest quick fuzz lint coverage bench interop attack docs pins clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: .venv/.demo ## private answers from a real table, and a report on them (out/doctor_visits/)
	.venv/bin/python examples/doctor_visits.py

# What is compiled is kept, whatever the environment says: tests start many processes, and each would compile all anew.
unexport PYTHONDONTWRITEBYTECODE

# One thread each: two workers share two cores. Tests that share a costly fixture are a group. Sets have one order.
HASHES = 0
fuzz: HASHES = $$seed
PYTEST = PYTHONHASHSEED=$(HASHES) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/pytest -n 2 --dist loadgroup

test: .venv/.installed ## check the code and run the tests and doctests, side by side; the same everywhere
	@$(MAKE) --no-print-directory --jobs 2 lint pytest

pytest: .venv/.installed
	$(PYTEST)

quick: .venv/.installed ## the inner loop: the laws and references of guarantees, without what is slow
	$(PYTEST) -q -m "not slow" $(QUICK)

QUICK = $(addprefix tests/,guarantees/test_reference.py guarantees/test_laws.py guarantees/test_conversion.py \
	mechanisms/test_calibration.py test_errors.py guarantees/test_known_mistakes.py guarantees/test_published.py)

fuzz: .venv/.installed ## try new random examples of the laws: make fuzz MINUTES=5
	@end=$$(( $$(date +%s) + 60 * $(MINUTES) )); rounds=0; \
	while [ $$(date +%s) -lt $$end ]; do \
		seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
		$(PYTEST) -q -m hypothesis --hypothesis-profile=fuzz --hypothesis-seed=$$seed $(LAWS) \
		|| { echo "failed: make fuzz SEED=$$seed tries the same again"; exit 1; }; \
		rounds=$$(( rounds + 1 )); done; echo "$$rounds rounds, no law failed"

MINUTES ?= 5
LAWS = $(addprefix tests/,guarantees/test_laws_composition.py guarantees/test_properties.py \
	guarantees/test_conversion.py guarantees/test_meaning.py adversaries/test_adversaries_laws.py \
	data/test_declared.py data/test_adversary.py files/test_files.py files/test_mutations.py)

lint: .venv/.installed ## ruff (rules and form), and mypy: src, tests, examples and those of README and docs/
	.venv/bin/ruff check .
	.venv/bin/ruff format --check --quiet .
	.venv/bin/python docs/examples.py build/examples
	.venv/bin/mypy src tests examples build/examples

coverage: .venv/.installed ## the lines of src/ that no test runs: make coverage TESTS=tests/noise
	.venv/bin/coverage erase
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv/bin/coverage run -m pytest -q -n 2 --dist loadgroup $(TESTS)
	.venv/bin/coverage combine --quiet
	.venv/bin/coverage report

bench: .venv-bench/.installed ## compare with other libraries (large downloads the first time)
	@failed=""; for script in benchmarks/*.py; do echo "== $$script"; \
	.venv-bench/bin/python $$script || failed="$$failed $$script"; done; \
	test -z "$$failed" || { echo "a bar was missed, or an error met, in:$$failed"; exit 1; }

interop: .venv-interop/.installed ## all tests of adapters, with Flower and JAX Privacy too (large downloads the first time)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-interop/bin/pytest tests/interop src/indistinct/interop docs/interop.md

attack: .venv/.installed ## try to refute what synthetic images and tables promise (a few minutes)
	@set -e; for script in attacks/*.py; do echo "== $$script"; .venv/bin/python $$script; done

docs: .venv/.installed ## redraw the pictures of docs/ and run its examples
	.venv/bin/python docs/make_pictures.py
	.venv/bin/pytest docs README.md

# One line for each package: its version and the hashes of all its published files, whichever index serves them.
# PyTorch's build for CPUs is not among those: it is written down apart, where pip finds one.
COMPILE = .venv-pins/bin/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header \
	--fork-strategy fewest --prerelease disallow --python-version 3.11 pyproject.toml

pins: .venv-pins/.installed ## choose the newest versions anew for requirements/, with their hashes
	$(COMPILE) --upgrade --group build --extra dev --extra spark -o requirements/all.txt
	$(COMPILE) --constraint requirements/all.txt --no-deps --extra demo -o requirements/demo.txt
	$(COMPILE) --constraint requirements/all.txt --extra dev -o requirements/test.txt
	$(COMPILE) --constraint requirements/all.txt --extra spark -o requirements/spark.txt
	$(COMPILE:%pyproject.toml=%) --constraint requirements/all.txt --group build -o requirements/build.txt
	rm requirements/all.txt
	@set -e; cpu=$$(mktemp -d); .venv-pins/bin/pip download --quiet --no-deps --dest $$cpu \
		"$$(sed -n 's/^\(torch==[^ ]*\).*/\1/p' requirements/test.txt)"; cd $$cpu; \
	for file in torch-*+cpu-*.whl; do test ! -f $$file || printf 'torch==%s \\\n    --hash=sha256:%s\n' \
		$$(echo $$file | cut -d - -f 2) $$(sha256sum $$file | cut -d ' ' -f 1) > $(CURDIR)/requirements/torch_cpu.txt; \
	done; rm -r $$cpu

clean: ## remove environments, caches and output
	rm -rf .venv .venv-bench .venv-interop .venv-pins out build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

NEWER = @test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python"; exit 1; }
PIP = $(@D)/bin/pip install --quiet --disable-pip-version-check
# The tests of Spark start one where Java 17 is installed; elsewhere its 500 MB would be for nothing.
JAVA_17 = $(shell java -version 2>&1 | grep -q 'version "17' && echo spark)

# Pinned versions, with their hashes; what builds the package is among them. The demo needs nothing else. The tests take
# PyTorch's build for CPUs if pip finds it; if not, pip adds what the other build needs, at the versions that it names.
.venv/.demo: PINS = build demo
.venv/.demo: PACKAGE = --no-deps --editable .
.venv/.installed: PINS = build test $(JAVA_17)
.venv/.installed: CPU = $(PIP) --require-hashes --no-deps --requirement requirements/torch_cpu.txt 2>/dev/null || true
.venv/.installed: PACKAGE = --editable '.[dev$(JAVA_17:%=,%)]'
.venv/.demo .venv/.installed: pyproject.toml $(wildcard requirements/*.txt)
	$(NEWER)
	test -d $(@D) || $(PYTHON) -m venv $(@D)
	$(CPU)
	$(PIP) --no-compile --require-hashes --no-deps $(PINS:%=--requirement requirements/%.txt)
	$(PIP) --no-build-isolation $(PACKAGE)
	@touch .venv/.demo $@

.venv-bench/.installed: EXTRAS = bench
.venv-interop/.installed: EXTRAS = test,flower,jax-privacy
.venv-bench/.installed .venv-interop/.installed: pyproject.toml
	$(NEWER)
	$(PYTHON) -m venv $(@D)
	$(PIP) --editable '.[$(EXTRAS)]'
	@touch $@

.venv-pins/.installed:
	$(NEWER)
	$(PYTHON) -m venv $(@D)
	$(PIP) uv
	@touch $@
