# make demo   sets everything up and runs the main job on the rows in examples/
# make test   sets everything up, lints, and runs the tests
# make test-oldest   the tests again, with the oldest versions the package admits

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check --no-compile

.PHONY: setup demo lint test test-oldest clean

setup: $(VENV)/installed

# torch first and by itself: asked for with the rest, pip may choose another build of it.
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(PIP_FLAGS) --constraint constraints.txt torch
	$(BIN)/pip install $(PIP_FLAGS) --constraint constraints.txt --editable '.[offline,dev]'
	$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null || true  # pip would use one core
	touch $@

demo: setup
	$(BIN)/salience train examples/banking_train.csv --test examples/banking_test.csv \
	    --method ssmix --steps 120 --evaluations 10 --output runs/demo --overwrite

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

test: lint
	$(BIN)/python -m pytest --numprocesses logical

# Its own environment, beside the other one.
test-oldest: .venv-oldest/installed
	.venv-oldest/bin/python -m pytest --numprocesses logical

.venv-oldest/installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install $(PIP_FLAGS) --constraint constraints-oldest.txt torch
	.venv-oldest/bin/pip install $(PIP_FLAGS) --constraint constraints-oldest.txt --editable '.[offline,dev]'
	.venv-oldest/bin/python -m compileall -q -j 0 .venv-oldest/lib >/dev/null || true
	touch $@

clean:
	rm -rf $(VENV) .venv-oldest runs .pytest_cache .ruff_cache .hypothesis
