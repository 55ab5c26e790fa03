# make demo, make test: each does all the set-up that it needs. The others are listed by `make help`.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

.PHONY: help demo test lint format bench
help:  ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[sb3,render,ratings,dev]'
	@touch $@

demo: $(INSTALLED)  ## train an agent by self-play for about two minutes, judge it against bots, draw the results
	$(BIN)/python -m eval.demo

test: $(INSTALLED) lint  ## lint, types and all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

lint: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(INSTALLED)  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(INSTALLED)  ## print the speed of everything
	$(BIN)/python -m eval.bench
