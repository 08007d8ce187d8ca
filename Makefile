# `make dev` and `make test` need Python >= 3.11 and make; everything else is installed from the lock.
.DELETE_ON_ERROR:
.PHONY: install dev test faults check fmt clean
# set, every process would compile every module again: a second more for each start, and the tests start hundreds
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
STAMP := .venv/.installed

install: $(STAMP)
	@:

$(STAMP): pyproject.toml uv.lock deploy/local/install.sh
	@sh deploy/local/install.sh
	@touch $@

dev: $(STAMP)
	$(BIN)/chancela dev $(ARGS)

# much of a test is waiting: four workers keep two cores busy
WORKERS ?= 4
test: $(STAMP)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

# kill -9 of everything for so many minutes; 0 only when nothing was lost, doubled, out of order, unapproved or altered
MINUTES ?= 10
faults: $(STAMP)
	$(BIN)/python -m tests.faults --minutes $(MINUTES) $(ARGS)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python -m contracts --check
	$(BIN)/python -m deploy.metrics --check
	$(BIN)/python -m services.guardrails.chain_lock --check
	$(BIN)/lint-imports

fmt: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# the data of `make dev` stays: `chancela dev --fresh` resets it
clean:
	rm -rf .venv .tools .pytest_cache .ruff_cache .hypothesis .import_linter_cache
