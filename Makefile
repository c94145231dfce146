# One command each: `make demo` shows the idea, `make test` runs every check.
# Both make .venv when it is missing or older than pyproject.toml.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed

# What runs the tools that make environments.
BASE_PYTHON ?= python3

# Said before anything else is installed, so that nothing asks for another build.
TORCH := torch==2.13.0

PYTEST := $(BIN)/python -m pytest -q -rs
# As many at once as tests/conftest.py says, and at most four, for which memory lasts.
PARALLEL := -n auto --maxprocesses 4 --dist worksteal

.DEFAULT_GOAL := help
# Where it is set, each process of the tests compiles all that it imports of fxls again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test quick dist canaries compat clients formatted lint types vscode tests format clean

help:
	@echo 'make demo    from a model file to a breakpoint in its generated code'
	@echo 'make test    every check, of which each can be made alone: $(PARTS)'
	@echo 'make quick   lint and the fast tests'
	@echo 'make canaries  which private names of torch and debugpy changed, in a minute'
	@echo 'make compat TORCH=2.15.0 PYTHON=3.13  every test with other versions'
	@echo 'make format  rewrites the files the way the checks want them'
	@echo 'make dist    the wheel, the sdist and the extension of a release, in dist/'
	@echo 'make clients runs the tests of programs that use torch.fx on fxls.engine'
	@echo 'make clean   removes .venv and the caches'

demo: $(STAMP)
	@$(BIN)/python -m tools.demo

# Each part runs, whatever became of those before it. The tests are the last, so that
# pytest's count is at the end of what is printed; what failed before it is said again there.
PARTS := formatted lint types vscode tests

test: $(STAMP)
	@mkdir -p .cache; failed=; for part in $(PARTS); do \
	    bash -o pipefail -c "$(MAKE) --no-print-directory $$part 2>&1 | tee .cache/$$part.log" || \
	        failed="$$failed $$part"; \
	done; \
	for part in $$failed; do test $$part = tests || { \
	    echo "$$part, once more:"; grep -v '^ok ' .cache/$$part.log | tail -n 50; }; \
	done; \
	test -z "$$failed" || { echo "make test: failed:$$failed" >&2; exit 1; }

quick: formatted lint
	$(PYTEST) $(PARALLEL) -m 'not slow'

# With any interpreter that has the tests' packages: make canaries BIN=ENVIRONMENT/bin
canaries:
	@test -x $(BIN)/python || $(MAKE) --no-print-directory $(STAMP)
	$(BIN)/python -m pytest -q tests/canaries

# PYTHON is a version here, and TORCH is one as well.
compat:
	@$(BASE_PYTHON) -m tools.compatibility --torch '$(TORCH:torch==%=%)' --python '$(PYTHON)' -- $(PARALLEL)

formatted: $(STAMP)
	$(BIN)/ruff format --check --quiet

lint: $(STAMP)
	$(BIN)/ruff check --quiet

types: $(STAMP)
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/python -m pyright

vscode: $(STAMP)
	@vscode-extension/check.sh

tests: $(STAMP)
	$(PYTEST) $(PARALLEL)

dist: $(STAMP)
	@rm -rf dist
	@vscode-extension/package.sh $(BIN)/python dist
	@$(BIN)/python -m twine check --strict dist/*.whl dist/*.tar.gz
	@$(BIN)/python -m tools.installed dist/*.whl dist/*.tar.gz
	@ls -l dist

format: $(STAMP)
	$(BIN)/ruff check --quiet --fix
	$(BIN)/ruff format --quiet

# In an environment of their own, which sees the packages of .venv and adds to them.
CLIENTS := .cache/clients
clients: $(STAMP)
	@test -x $(CLIENTS)/venv/bin/python || { \
	    $(BIN)/python -m venv --without-pip $(CLIENTS)/venv && \
	    $(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	        > $$(echo $(CLIENTS)/venv/lib/python3*/site-packages)/base.pth; }
	@$(BIN)/python -m tools.clients $(CLIENTS)/venv --sources $(CLIENTS) --write
	@$(CLIENTS)/venv/bin/python -m tools.models --write

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
