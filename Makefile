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

.PHONY: schemathesis demo live test test-integrations test-lowest test-newest check lint types docs pictures dist dist-everywhere bench bench-peers clean

demo: .venv/ready
	$(BIN)/driftwise demo

# A real server whose load changes, tuned through flags and Prometheus, in less than three minutes: make live ARGS='--help'
live: .venv/ready
	@command -v prometheus >/dev/null || apt-get install -y --no-install-recommends prometheus >/dev/null 2>&1 \
		|| { apt-get update && apt-get install -y --no-install-recommends prometheus; } >/dev/null 2>&1 \
		|| { echo "make live needs prometheus; on Debian or Ubuntu: sudo apt-get install prometheus"; exit 1; }
	$(BIN)/python examples/live/run.py $(ARGS)

# Processes that test at a time. Many tests wait for processes, servers and disks, so that CI has one more than cores.
WORKERS ?= auto

test: .venv/ready
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --durations=15

# The oldest version of everything that pyproject.toml allows, on the oldest Python. An old version may use what is deprecated
# by now; that is not ours to mend, so a deprecation is no error here. These are the tests of what
# other packages do for us: linear algebra, databases, commands, HTTP. What is marked slow (kills, interrupts, damage, the
# fuzz, browsers, long runs) says nothing about versions that its shorter neighbours do not say, nor does arithmetic of ours
# on top of what is tested here; both run with `make test`.
VERSIONS = -m "not slow" tests/gp tests/store tests/cli tests/service tests/study/test_study.py tests/study/test_resume.py \
	tests/test_plots.py tests/test_codec.py tests/test_threads.py

test-lowest: .venv-lowest/ready
	.venv-lowest/bin/pytest -n $(WORKERS) --dist worksteal $(VERSIONS) -W default::DeprecationWarning

# The newest version of everything, whatever constraints.txt says, on the newest Python. Remove .venv-newest for newer ones.
test-newest: .venv-newest/ready
	.venv-newest/bin/pytest -n $(WORKERS) --dist worksteal $(VERSIONS)

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
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fast]'
	$(BIN)/python -m benchmarks

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
	rm -rf .venv .venv-docs .venv-integrations .venv-lowest .venv-newest .venv-bench .venv-peers .venv-schema .pytest_cache .mypy_cache .ruff_cache build dist report

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

.venv-lowest/ready: pyproject.toml .ci/lowest.py
	python=$$(.ci/python 3.11) && $$python -m venv .venv-lowest
	.venv-lowest/bin/python .ci/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check -c .venv-lowest/lowest.txt -e '.[test,ray]'
	@touch $@

.venv-newest/ready: pyproject.toml
	python=$$(.ci/python 3.13) && $$python -m venv .venv-newest
	.venv-newest/bin/pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager -e '.[test,ray]'
	@touch $@

.venv-integrations/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-integrations
	.venv-integrations/bin/pip install --quiet --disable-pip-version-check -c constraints.txt torch
	.venv-integrations/bin/pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e '.[test,optuna,river,xopt,ax]' xopt gymnasium grpcio 'ray[tune]' optuna-integration mlflow-skinny wandb
	@touch $@

.venv-docs/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

# The peers that benchmarks compare with, in an environment of their own. torch first, and by itself: its CPU build will do.
.venv-bench/ready:
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-bench/bin/pip install --quiet --disable-pip-version-check botorch==0.18.1
	@touch $@

.venv-schema/ready:
	$(PYTHON) -m venv .venv-schema
	.venv-schema/bin/pip install --quiet --disable-pip-version-check schemathesis==4.32.5
	@touch $@

# One environment for all the peers of benchmarks/peers: their requirements agree. torch first here, too.
$(PEERS)/ready: benchmarks/peers/constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check -c $< torch
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check -c $< \
		botorch gpytorch optuna wdbo-algo bayesian-optimization xopt -e .
	@touch $@
