# `make demo` and `make test` do all of their own set-up; `make help` lists the rest.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup isolation browser demo test bench lint format docs wheel clean
help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(READY) isolation  ## make .venv, and install bubblewrap and socat where that is allowed

isolation:
	@./scripts/install-isolation || true

browser:
	@./scripts/install-browser || true

demo: setup  ## a whole supervised migration with the real Claude Code CLI; the model's words are played
	@./scripts/demo $(BIN)

test: setup browser  ## all tests; the first time two environments with PyTorch are built (about 14 GB in ~/.cache/agentmig)
	$(BIN)/pytest --numprocesses 2 --dist loadfile

bench: setup  ## put every known fault through the verifier (hours; goes on where it stopped); writes docs/fault-bench.*
	$(BIN)/agentmig bench faults

lint: $(READY)  ## style, types, import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## put the code into the house's form
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

docs: $(READY)  ## write the generated pages anew, and build the site in site/
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict

wheel: $(READY)  ## build the wheel in dist/
	$(BIN)/python -m hatchling build --target wheel

clean:  ## remove .venv, what was built, and the runs of this folder; the cache outside stays
	rm -rf $(VENV) .agentmig dist site
