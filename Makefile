# Every target sets up what it needs by itself: an environment in .venv, by uv where it is installed, else by venv and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types docs mutants check bench clean

$(VENV)/.ready: pyproject.toml
	@echo "setting up $(VENV) (once; about a minute)"
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --clear --seed $(VENV) && uv pip install --quiet --python $(BIN)/python -e '.[dev]'; \
	else \
	  $(PYTHON) -m venv --clear $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	fi
	@touch $@

demo: $(VENV)/.ready  ## schedule, compile and run a real model, and ask why
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps basic-pitch==0.4.0
	@$(BIN)/python examples/piano_keys.py

test: $(VENV)/.ready  ## the whole test suite
	@$(BIN)/python -m pytest -q -n auto

lint: $(VENV)/.ready
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.ready
	@$(BIN)/mypy && $(BIN)/mypy tests && $(BIN)/pyright -p pyproject.toml

docs: $(VENV)/.ready  ## fails where a page made from the code is out of date
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps basic-pitch==0.4.0
	@$(BIN)/python docs/make.py --check

mutants: $(VENV)/.ready  ## fails where no test notices that a clause or a condition of a shipped rule is gone
	@$(BIN)/schedulog coverage --mutants core classic

check: test lint types docs mutants

bench: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@$(BIN)/python bench/scheduling.py && $(BIN)/python bench/rule_engine.py

clean:
	rm -rf $(VENV) build *.egg-info
