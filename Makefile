# Every target sets up its own .venv from a bare clone.
PYTHON ?= python3
BIN    := .venv/bin
# One BLAS thread: results are the same bit for bit, and small matrices are faster.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.PHONY: demo test check lint types bench clean

demo: .venv/ready
	$(BIN)/driftwise demo

test: .venv/ready
	$(BIN)/pytest -n auto --dist worksteal

check: lint types test

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy

bench: .venv/ready .venv-bench/ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .venv-bench .pytest_cache .mypy_cache .ruff_cache build dist report

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# The peers that benchmarks compare with, in an environment of their own. torch first, and by itself: its CPU build will do.
.venv-bench/ready:
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-bench/bin/pip install --quiet --disable-pip-version-check botorch==0.18.1
	@touch $@
