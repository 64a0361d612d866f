# make demo   sets everything up and does the main job on the rows in examples/: the head alone, in half a minute
# make test   sets everything up, lints, checks the types, and runs the fast tests
# make test-all   runs all tests: also those marked `whole`, the faults, and the wheel
# make test-faults   kills, a full disk, refused permissions at every file operation of the commands; many commands at
#                    once; many more tables and settings (some hours)
# make test-wheel   installs the wheel into an empty environment of each of PYTHONS, and does the main job there
# make settings   writes docs/reference/settings.md and commands.md, which are made from the declarations
# make families   writes docs/reference/families.md: what works with a tiny model of each type (20 minutes)
# make docs   builds the site of the documents in site/, in an environment of its own
# make test-oldest   the tests again, with the oldest versions the package admits

PYTHON ?= python3
PYTHONS ?= $(PYTHON)
VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled then, and kept; pip would compile everything, on one core.
PIP_FLAGS := --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo lint test test-all test-wheel docs settings families test-faults test-oldest clean

setup: $(VENV)/installed

# torch first and by itself: its build says what else it needs. All the rest is in constraints.txt.
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(PIP_FLAGS) --constraint constraints.txt torch
	$(BIN)/pip install $(PIP_FLAGS) --no-deps --requirement constraints.txt --editable .
	touch $@

demo: setup
	$(BIN)/salience train examples/banking_train.csv --test examples/banking_test.csv --trained-layers 0 \
		--output runs/demo --overwrite

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest --numprocesses logical -m "not whole"

test-all: lint
	$(BIN)/python -m pytest --numprocesses logical
	$(MAKE) test-wheel test-faults

test-wheel: setup
	SALIENCE_PYTHONS="$(PYTHONS)" $(BIN)/python -m pytest tests/test_wheel.py

settings: setup
	$(BIN)/python tests/settings_page.py
	$(BIN)/python tests/commands_page.py

families: setup
	$(BIN)/python tests/families_page.py

docs: .venv-docs/installed
	.venv-docs/bin/mkdocs build --strict

# The reference is read from the source: the package and torch are not needed.
.venv-docs/installed: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install $(PIP_FLAGS) 'mkdocs-material>=9.6,<10' 'mkdocstrings[python]>=0.30' mkdocs-jupyter ruff
	touch $@

test-faults: setup
	SALIENCE_FAULTS=1 SALIENCE_REPEATS=5 SALIENCE_EXAMPLES=200 $(BIN)/python -m pytest --numprocesses logical \
	    tests/faults tests/cli/test_two_at_once.py tests/cli/test_properties.py

# Its own environment, beside the other one.
test-oldest: .venv-oldest/installed
	.venv-oldest/bin/python -m pytest --numprocesses logical

.venv-oldest/installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install $(PIP_FLAGS) --constraint constraints-oldest.txt torch
	.venv-oldest/bin/pip install $(PIP_FLAGS) --constraint constraints-oldest.txt --editable '.[offline,dev]'
	touch $@

clean:
	rm -rf $(VENV) .venv-oldest .venv-docs site runs .pytest_cache .ruff_cache .mypy_cache .hypothesis
