# Needs python3 (3.11 or later) with pip, and make; everything else comes into .venv from the lock.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test check bench test-matrix lock

PY := .venv/bin/python
STAMP := .venv/.from-lock
# Extra arguments: make test ARGS="-k proposal", make demo ARGS="--port 8001"
ARGS ?=
# The first supported interpreter that really runs; a version manager's shim may exist and fail.
FIND_PYTHON = for python in $${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do \
	if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo "$$python"; exit; fi; done; \
	echo 'No Python 3.11 or later (with venv and pip) found; name one with PYTHON=/path/to/python3' >&2; exit 1

help: ## Show these lines
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(STAMP) ## Serve the demo on SQLite, in one process, without any key
	@exec $(PY) manage.py demo $(ARGS)

test: $(STAMP) ## Run the suite on SQLite, then on PostgreSQL with Redis (ARGS="-k name")
	@exec $(PY) -m tests.run $(ARGS)

check: $(STAMP) ## Format, lint, types, layers, Django's checks, missing migrations
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) manage.py check --fail-level WARNING
	$(PY) manage.py makemigrations --check --dry-run

bench: $(STAMP) ## Measure against raw SQL in the same run, as JSON lines
	@exec $(PY) -m benchmarks $(ARGS)

test-matrix: $(STAMP) ## Run the suite on every supported Python found (MATRIX="3.11 3.13")
	@$(PY) -m tests.matrix $(if $(MATRIX),--only "$(MATRIX)") -- $(ARGS)

lock: $(STAMP) ## Choose the newest versions that pyproject.toml admits
	@rm -f requirements.lock  # an existing file would keep its versions
	.venv/bin/uv pip compile --universal --no-header --no-annotate --no-emit-index-url \
		--no-emit-find-links --python-version 3.11 --all-extras --quiet \
		-o requirements.lock pyproject.toml
	@echo 'requirements.lock written; the next target installs it'

$(STAMP): requirements.lock
	@python=$$($(FIND_PYTHON)); echo "Building .venv with $$("$$python" -V); the first time this takes a minute or two"; \
		[ -x $(PY) ] || "$$python" -m venv --clear .venv
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps -r requirements.lock
	@$(PY) -m pip check --disable-pip-version-check >/dev/null
	@touch $@
