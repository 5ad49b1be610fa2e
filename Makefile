# make demo   sets everything up, makes a clip, anonymizes it, prints the report and where to look
# make test   sets everything up and runs every check that fits into fifteen minutes
# make help   lists the rest
.DEFAULT_GOAL := help
.PHONY: help demo test check lint format types imports unit unit-waiting unit-drawing unit-judging test-slow bench lock clean

PYTHON ?= $(firstword $(shell command -v python3.11 python3))
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
QUICK := "not slow and not gpu and not torch"
WAITING := tests/stream/live tests/stream/service
JUDGING := tests/evaluation tests/gallery tests/tracker tests/config tests/training tests/fuzz
RERUN := --reruns=1
INSTALL := $(PIP) install --no-deps --require-hashes

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/default.stamp: requirements/default.lock pyproject.toml | .venv/bin/python
	$(INSTALL) -r requirements/default.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: requirements/dev.lock pyproject.toml | .venv/bin/python
	$(INSTALL) -r requirements/dev.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@ .venv/default.stamp

demo: .venv/default.stamp ## make a clip, anonymize it, show the report
	$(BIN)/kveil demo

test: .venv/dev.stamp ## lint, types, import rules, tests
	scripts/install-system-packages
	$(MAKE) --no-print-directory check unit

check: lint types imports ## all static checks

lint: .venv/dev.stamp ## ruff, formatting included
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/dev.stamp ## rewrite to the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/dev.stamp ## strict mypy on code and tests
	$(BIN)/mypy

imports: .venv/dev.stamp ## the rooms import downwards only
	$(BIN)/lint-imports

# A test that fails is run once more, for streams and services race with whatever else the machine
# does; the summary names every one that needed it, and each is a defect to look for.
unit: .venv/dev.stamp ## tests and doctests, without the slow ones
	$(MAKE) --no-print-directory --jobs=2 --output-sync=line unit-waiting unit-drawing unit-judging

# Tests of streams and services wait most of their time, and what they wait for has its times: they
# go first wherever both want a processor.
unit-waiting:
	$(BIN)/pytest $(RERUN) -m $(QUICK) $(WAITING)

unit-drawing:
	nice $(BIN)/pytest $(RERUN) -m $(QUICK) $(WAITING:%=--ignore=%) $(JUDGING:%=--ignore=%)

unit-judging:
	nice $(BIN)/pytest $(RERUN) -m $(QUICK) $(JUDGING)

test-slow: .venv/dev.stamp ## the long checks: gates on real clips, races, soaks
	$(BIN)/pytest -m slow --timeout=3600

bench: .venv/default.stamp ## measured table: kveil and deface on the same clips
	$(BIN)/kveil bench

lock: ## pin every dependency again, with hashes (needs uv)
	requirements/compile

clean: ## remove what was built here
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
