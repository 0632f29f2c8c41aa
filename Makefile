# Needs python3 (3.11 or newer) with venv, and make. Everything else comes from pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Many tests wait for processes that they have started: with more workers than cores, others run meanwhile.
WORKERS ?= 4
PRODUCTION_ENV := PRODUCTION=1 DEBUG=0 PUBLIC_URL=https://lapidary.example DATABASE_URL=postgresql://l:l@localhost/l \
	REDIS_URL=redis://localhost/0 SECRET_KEY=checks-only-checks-only-checks-only-checks-only-0123456789

# Where it is set, every process that a test starts would compile the whole project again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test soak check bench screenshots messages constraints clean coverage

help:  ## these lines
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 14

demo: $(VENV)/run.stamp  ## install, migrate, seed, run everything until Ctrl-C (LAPIDARY_PORT=8200 for another port)
	@$(BIN)/python -m config.demo

test: $(VENV)/dev.stamp  ## all tests; ARGS="tests/jobs -k cancel" for some
	$(BIN)/python -m tests.chromium
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

soak: $(VENV)/dev.stamp  ## the tests that have a full size, at that size: before a release
	$(BIN)/python -m tests.chromium
	TEST_SIZE=full $(BIN)/python -m pytest -m "soak and alone" $(ARGS) || [ $$? -eq 5 ]  # 5: ARGS leave none of these
	TEST_SIZE=full $(BIN)/python -m pytest -n $(WORKERS) -m "soak and not alone" $(ARGS) || [ $$? -eq 5 ]

check: $(VENV)/dev.stamp  ## formatting, lint, types, layers, templates, scripts, migrations, deploy settings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/djlint --quiet --lint frontend/templates
	$(BIN)/mypy .
	$(BIN)/mypy --config-file client/pyproject.toml client/lapidary
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(PRODUCTION_ENV) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python -m config.messages --check
	@if ! command -v npm >/dev/null; then echo "npm is not here: the JavaScript modules were not checked"; \
	elif ! npm install --no-audit --no-fund --no-package-lock --silent; then \
		echo "npm could not install TypeScript and Biome: the JavaScript modules were not checked"; \
	else npm run --silent check; fi

bench: $(VENV)/dev.stamp  ## what the README says about speed, measured here
	$(BIN)/python -m benchmarks $(ARGS)

screenshots: $(VENV)/dev.stamp  ## every page, light and dark, in both languages
	$(BIN)/python -m tests.chromium
	$(BIN)/python -m tests.browser.screenshots $(ARGS)

messages: $(VENV)/dev.stamp  ## compile the translations, and say which are missing
	$(BIN)/python -m config.messages

coverage: $(VENV)/dev.stamp  ## which lines no test runs
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report term $(ARGS)

constraints: $(VENV)/dev.stamp  ## write down the versions that are installed now
	(sed -n '1p' constraints.txt; $(BIN)/pip freeze --disable-pip-version-check | sed 's/+cpu$$//'; \
		echo 'async-timeout==5.0.1 ; python_full_version < "3.11.3"') > constraints.new && mv constraints.new constraints.txt

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make demo PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements.txt requirements-web.txt constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	@touch $@

$(VENV)/dev.stamp: requirements-dev.txt $(VENV)/run.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $@

clean:  ## remove what was made here: caches, and the demo's data after asking
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage htmlcov test-results
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
	@if [ -d var ]; then printf 'Delete the embedded database and files in var/ too? [y/N] '; read answer; \
		if [ "$$answer" = y ]; then $(BIN)/python manage.py embedded stop; rm -rf var; fi; fi
