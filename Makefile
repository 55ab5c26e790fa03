# make demo, make test: each does all the set-up that it needs. The others are listed by `make help`.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
PEERS ?= .venv-peers

.PHONY: help demo test lint format bench speed guard docs types dist
help:  ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[sb3,commands,render,ratings,web,dev]'
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
	$(BIN)/python -m eval.speed.bench

$(PEERS)/installed: eval/speed/requirements-peers.txt constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[sb3,commands,dev]' --requirement eval/speed/requirements-peers.txt
	@touch $@

speed: $(INSTALLED) $(PEERS)/installed  ## measure everything, peers beside us, and write docs/speed.md
	mkdir -p runs/speed
	$(BIN)/python -m eval.speed.bench --json > runs/speed/workloads.json
	$(BIN)/python -m eval.speed.bench --first-use --json > runs/speed/first_use.json
	$(BIN)/python -m eval.speed.bench --growth --json > runs/speed/growth.json
	$(PEERS)/bin/python -m eval.speed.bench --peers --json > runs/speed/peers.json
	$(BIN)/python -m docs.speed runs/speed/*.json

guard: $(INSTALLED)  ## count the instructions of the kernels and loops (needs valgrind); fail if they grew
	$(BIN)/python -m eval.speed.guard

docs: $(INSTALLED)  ## build the site of docs/, strictly, into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open build/site/index.html"

types: $(INSTALLED)  ## check that every public name has a known type (needs node)
	$(BIN)/python -m tests.verify_types

dist: $(INSTALLED)  ## build wheel and sdist twice, compare them byte by byte, check them, and put them into dist
	$(BIN)/python -m tests.release dist
