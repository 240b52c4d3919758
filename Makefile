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

bench: .venv/ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache build dist report

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
