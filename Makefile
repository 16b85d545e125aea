# Every target sets up what it needs: a fresh machine with Python 3.11 and make is enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test test-slow fuzz lint format bench tables docs clean

help:  ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

setup: $(READY)  ## make .venv with the pinned versions

demo: $(READY)  ## the tool on a made-up set, then the joint structure-frequency task
	$(BIN)/mshgnn demo

test: $(READY)  ## the test suite
	$(BIN)/pytest -n 2

test-slow: $(READY)  ## the tests that take minutes
	$(BIN)/pytest -m slow

fuzz: $(READY)  ## generated cases by the thousand, recorded in results/fuzz.json (CASES, SECONDS, SEED)
	MSHGNN_FUZZ_CASES=$(CASES) MSHGNN_FUZZ_SECONDS=$(SECONDS) MSHGNN_FUZZ_SEED=$(SEED) $(BIN)/pytest -m fuzz -s tests/fuzz

lint: $(READY)  ## format check, linter, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)  ## rewrite the files in the one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## speed and memory against PyG's layers
	$(BIN)/mshgnn bench

tables: $(READY)  ## regenerate the tables of README and docs from results/
	$(BIN)/mshgnn tables

docs: $(READY)  ## the docs site, site/index.html; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

clean:  ## remove .venv, the site and caches
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
