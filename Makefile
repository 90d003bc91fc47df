# Needs make and a Python >= 3.11 with pip; everything else is installed into .venv.

VENV := .venv
PYTHON ?= $(shell for each in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$each && break; done)
# The pip of $(PYTHON) installs into the environment, so that a Python without
# ensurepip, as Debian packages it, is enough.
PIP = $(PYTHON) -m pip --python $(VENV)/bin/python --disable-pip-version-check --no-input
INSTALLED := $(VENV)/.installed
WORKERS ?= 2
STORE := demo-store
# Run without coverage, which makes a test half as slow again: these repeat a great many
# times what the others run once, so that a line only they reach ought to have a test.
UNCOUNTED := property crash concurrency real test_benchmarks.py \
	access/test_facade_matrix.py access/test_hostile_ids.py api/cli/test_matrix.py \
	api/test_cases_concurrency.py archive/test_altered.py archive/test_faults.py \
	conversation/test_replay.py forgetting/test_holds.py \
	forgetting/test_holds_everywhere.py forgetting/test_killed.py \
	http/test_http_matrix.py http/test_openapi.py proofs/test_malicious_stores.py \
	proofs/test_merkle.py

# Tests make thousands of small stores and databases, for which a disk takes half as long
# again. They use some 400 MB at a time; where memory has not much more room than that, the
# disk will do.
MEMORY := /dev/shm
ROOM_BYTES := 2_000_000_000

# Images of Python often forbid it to keep what it compiled. Then every process that a test
# starts compiles all of Muniment again.
unexport PYTHONDONTWRITEBYTECODE

test: export HYPOTHESIS_PROFILE ?= ci
test: export TMPDIR ?= $(shell $(PYTHON) -c 'import os; at = os.statvfs("$(MEMORY)"); \
	roomy = at.f_bavail * at.f_frsize > $(ROOM_BYTES); \
	print("$(MEMORY)" * (roomy and not at.f_flag & os.ST_NOEXEC))' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help venv demo test tests check bench fix lock clean

help: ## show this
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 8

venv: $(INSTALLED) ## install everything into .venv, from the lock

demo: venv ## tell the story of a memory, from an empty store in demo-store/
	rm -rf $(STORE)
	$(VENV)/bin/muniment demo --store $(STORE)

test: venv ## the whole gate: check and every test, the counted ones with coverage
	+$(MAKE) --no-print-directory --jobs=2 check tests

tests: venv
	$(VENV)/bin/coverage erase
	$(VENV)/bin/coverage run -m pytest -n $(WORKERS) \
		$(addprefix --ignore=tests/,$(UNCOUNTED))
	$(VENV)/bin/coverage combine --quiet
	$(VENV)/bin/coverage report
	$(VENV)/bin/pytest -n $(WORKERS) $(addprefix tests/,$(UNCOUNTED))

check: venv ## the quick, static part of the gate
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/ruff check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo

bench: venv ## measure; see benchmarks/
	$(VENV)/bin/python benchmarks/run.py

fix: venv ## format, and repair what ruff can
	$(VENV)/bin/ruff check --fix-only --quiet
	$(VENV)/bin/ruff format

lock: venv ## pin the newest versions that pyproject.toml allows
	$(PIP) install --quiet uv
	$(VENV)/bin/uv pip compile pyproject.toml --group dev --universal --upgrade \
		--generate-hashes --no-header --no-annotate --quiet \
		--output-file requirements.lock

clean: ## remove what the other targets made
	rm -rf $(VENV) $(STORE) .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache dist
	find muniment tests benchmarks -name __pycache__ -exec rm -rf {} +

$(INSTALLED): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "no Python >= 3.11 found; name one: make PYTHON=..." >&2; exit 1; }
	test -x $(VENV)/bin/python || $(PYTHON) -m venv --without-pip $(VENV)
	$(PIP) install --quiet --require-hashes --requirement requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
