# One command each: `make demo` shows the idea, `make test` runs every check.
# Both make .venv when it is missing or older than pyproject.toml.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed

# Said before anything else is installed, so that nothing asks for another build.
TORCH := torch==2.13.0

PYTEST := $(BIN)/python -m pytest -q -rs
# A test mostly waits for a process that imports torch: each core does that for a test.
PARALLEL := -n auto --maxprocesses 4 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test quick lint format clean

help:
	@echo 'make demo    from a model file to a breakpoint in its generated code'
	@echo 'make test    every check: format, lint, types, import contract, all tests, VS Code'
	@echo 'make quick   lint and the fast tests'
	@echo 'make format  rewrites the files the way the checks want them'
	@echo 'make clean   removes .venv and the caches'

demo: $(STAMP)
	@$(BIN)/python -m tools.demo

test: lint types
	$(PYTEST) $(PARALLEL)
	@vscode-extension/check.sh

quick: lint
	$(PYTEST) $(PARALLEL) -m 'not slow'

lint: $(STAMP)
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet

.PHONY: types
types: $(STAMP)
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

format: $(STAMP)
	$(BIN)/ruff check --quiet --fix
	$(BIN)/ruff format --quiet

clean:
	rm -rf .venv .cache .fxls .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	rm -rf build dist fxls.egg-info

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo 'fxls needs Python 3.11 or newer: make PYTHON=python3.11 ...' >&2; exit 1; }
	@echo 'setting up .venv (a minute or two, once)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check '$(TORCH)'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@touch $@
