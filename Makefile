# `make train` and `make test` do their whole set-up in .venv; both may be stopped with Ctrl-C and run again.
.DEFAULT_GOAL := help
PY := .venv/bin/python
ENV ?= agentenv/Terminal-v0
RUN ?= runs/$(if $(filter agentenv/Terminal-v0,$(ENV)),main,$(notdir $(ENV)))
SEEDS ?= 5
export TOKENIZERS_PARALLELISM := false

.PHONY: help setup-train setup-test train ablation warm-start test lint typecheck imports unit bench clean

help:  ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | sort

setup-train:
	@.ci/setup train

setup-test:
	@.ci/setup dev

train: setup-train  ## The main job: warm start, GRPO, evaluation, report (ENV=agentenv/Search-v0 for another environment)
	$(PY) -m agentenv.baselines.main_job --env $(ENV) --out $(RUN)

ablation: setup-train  ## The main job over 5 seeds, resumable; writes benchmarks/results/ (hours)
	$(PY) -m agentenv.baselines.ablation --seeds $(SEEDS)

warm-start: setup-train  ## Make the shipped warm start of ENV again, from oracle demonstrations
	$(PY) -m agentenv.baselines.bc --env $(ENV)

test: setup-test lint typecheck imports unit  ## Linters, types, import contract, every test

lint:
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

typecheck:
	.venv/bin/mypy

imports:
	.venv/bin/lint-imports

unit:
	.venv/bin/pytest -n 2 --dist worksteal

bench: setup-test  ## Print the benchmark tables
	$(PY) -m benchmarks

clean:  ## Remove builds and caches (keeps .venv and runs)
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
