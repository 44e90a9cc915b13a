PY ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: setup demo test check check-clients bench docs

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@test -x $(BIN)/python || $(PY) -m venv $(VENV)
	@echo "setting up: installing braincore and its dependencies into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/python -m braincore.demo

test: setup
	@$(BIN)/python -m pytest -n 2 --dist worksteal

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/architecture

check-clients: setup
	@$(BIN)/python tests/clients/check.py

bench: setup
	@for b in hook write index; do $(BIN)/python -m bench.$$b || exit 1; done

docs: setup
	@$(BIN)/python -m pytest tests/architecture/test_docs.py
