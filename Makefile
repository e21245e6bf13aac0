# Needs Python 3.11 or 3.12, git and make; everything else goes into .venv.

PYTHON ?= $(shell for p in python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(not ((3, 11) <= sys.version_info[:2] < (3, 13)))' 2>/dev/null \
	&& echo $$p && break; done)
BIN := .venv/bin
ARGS ?=
# PyTorch for verl's tests, such as VERL_TORCH='torch==2.13.0+cpu' where a wheel for CPUs is at hand.
VERL_TORCH ?= torch
# Tests start hundreds of processes: each of them would compile the product again where bytecode is not kept.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -P -m pytest -n auto --dist worksteal
QUICK := not (system or foreign or volume or train)
# Importing PyTorch and Transformers in each worker takes long, and so does importing all tests for a few.
WITH_TRAIN = $(shell grep -rlE --include='test_*.py' 'mark\.train\b' tests examples)
TRAIN_ALONE = $(shell grep -rlE --include='test_*.py' '^pytestmark = .*mark\.train\b' tests examples)
NO_TRAIN = $(if $(filter -m%,$(ARGS)),,$(addprefix --ignore=,$(TRAIN_ALONE)))
# Of gigabytes of modules a part is imported, which Python compiles then.
INSTALL_TOOLS := $(BIN)/python -P -m pip install --quiet --no-compile --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help serve test test-sft test-rl test-all test-gate lint conformance bench faults fuzz soak wheel clean

help:  ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-11s %s\n", $$1, $$2}'

serve: .venv/serve.stamp  ## Serve the bundled environments; prints the URL and how to connect
	@$(BIN)/astra-mcp serve $(ARGS)

test: .venv/dev.stamp  ## Run the quick tests, on all cores
	@$(PYTEST) -m "$(QUICK)" $(NO_TRAIN) $(ARGS)

test-sft: .venv/train.stamp  ## Run the tests of training: a small model learns on the CPU
	@OMP_NUM_THREADS=1 $(PYTEST) -n 2 -m "train and not volume" $(ARGS) $(if $(filter tests% examples%,$(ARGS)),,$(WITH_TRAIN))

test-rl: .venv/train.stamp .venv-verl/stamp  ## Train by verl on the CPU, and go on from its checkpoint (long)
	@$(PYTEST) -n 1 -m foreign tests/rl_verl $(ARGS)

test-all: .venv/train.stamp .venv-verl/stamp  ## Run every test: foreign programs, kills and large volumes too (long)
	@$(PYTEST) --hypothesis-profile=thorough $(ARGS)

test-gate: .venv/dev.stamp
	@$(PYTEST) -m "smoke or $(QUICK)" $(NO_TRAIN) $(ARGS)

lint: .venv/train.stamp  ## Check style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

conformance: .venv/dev.stamp  ## Hold the gateway against a bare server by MCP's conformance suites
	@PYTHONPATH=tests/support:tests/conformance $(BIN)/python -P tests/conformance/conformance_run.py $(ARGS)

bench: .venv/serve.stamp  ## Measure what the gateway costs, as ratios to the SDK's bare server
	@$(BIN)/python -P benchmarks/gateway.py $(ARGS)

faults: .venv/serve.stamp  ## Break servers, clients and the gateway, and compare all accounts (long)
	@$(BIN)/python -P benchmarks/faults.py $(ARGS)

fuzz: .venv/dev.stamp  ## Send malformed requests to both planes (long)
	@$(BIN)/python -P benchmarks/fuzz.py $(ARGS)

soak: .venv/serve.stamp  ## Make a million calls, and watch the memory (long)
	@$(BIN)/python -P benchmarks/soak.py $(ARGS)

wheel: .venv/dev.stamp  ## Build the wheel into dist/
	$(BIN)/python -P -m hatchling build -t wheel

clean:  ## Remove what the targets made
	rm -rf .venv .venv-verl dist .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

.venv/python.stamp:
	@test -n "$(PYTHON)" || { echo "astra-mcp needs Python 3.11 or 3.12: install one, or name it with make PYTHON=/path/to/python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/serve.stamp: .venv/python.stamp pyproject.toml
	@echo "Installing astra-mcp into .venv: some 250 MB of packages, a few minutes the first time ..."
	@$(BIN)/python -P -m pip install --disable-pip-version-check --progress-bar off --editable .
	@touch $@

.venv/dev.stamp: .venv/serve.stamp
	@echo "Installing the development tools into .venv ..."
	@$(INSTALL_TOOLS) --editable '.[dev]'
	@touch $@

.venv/train.stamp: .venv/dev.stamp
	@echo "Installing what training needs into .venv: PyTorch with its libraries, some gigabytes ..."
	@$(INSTALL_TOOLS) --editable '.[train,dev-train]'
	@touch $@

# verl wants an older Transformers than the rest, and is resolved in minutes by pip, in seconds by uv.
.venv-verl/stamp: .venv/python.stamp pyproject.toml
	@echo "Installing verl into .venv-verl: PyTorch with its libraries, some gigabytes ..."
	$(PYTHON) -m venv .venv-verl
	@.venv-verl/bin/python -P -m pip install --quiet --disable-pip-version-check uv
	@UV_FIND_LINKS="$(PIP_FIND_LINKS)" .venv-verl/bin/uv pip install --quiet --python .venv-verl/bin/python \
		$(VERL_TORCH) --editable '.[verl]'
	@touch $@
