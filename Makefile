# Everything a newcomer types. Each target sets up what it needs; nothing is installed outside .venv
# but the Debian packages of `make servers`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml 2>/dev/null) Cargo.toml Cargo.lock
ENGINES := python/benchlab/bin/agent python/benchlab/bin/nullserver
SERVERS := $(if $(CI),--required,)

.PHONY: build demo test check bench soak truth instructions fuzz wheel servers format clean

build: $(VENV)/built

prerequisites:
	@tests/prerequisites $(PYTHON)
.PHONY: prerequisites

$(VENV)/installed: requirements/dev.txt | prerequisites
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@

# The binding is built in the same go, so that what both lean on is compiled once.
$(ENGINES) &: $(RUST) | prerequisites
	cargo build --locked --release -p engine -p pyext
	mkdir -p python/benchlab/bin
	install target/release/agent target/release/nullserver python/benchlab/bin/

$(VENV)/built: $(VENV)/installed $(ENGINES) pyproject.toml
	MATURIN_PEP517_ARGS=--locked PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip install --quiet \
		--disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: build
	$(BIN)/benchlab run quickstart

servers:
	tests/servers $(SERVERS)

test: build servers
	cargo test --locked --profile tests --workspace
	$(BIN)/python -m pytest $(if $(CI),--servers=required,)
	$(MAKE) instructions

check: build
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check python tests benches studies
	$(BIN)/ruff check python tests benches studies
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/house

format: build
	cargo fmt --all
	$(BIN)/ruff format python tests benches studies
	$(BIN)/ruff check --fix python tests benches studies

bench: build servers
	for each in http redis postgresql mysql memcached file open known counters; do \
		$(BIN)/python benches/$$each.py || exit 1; done

soak: build servers
	$(BIN)/python benches/soak.py

# Four hours at most; what was measured is not measured again, so that it may be done in parts:
# UNTIL=45m.
truth: build servers
	$(BIN)/python -m benches.truth --until $(or $(UNTIL),4h)

# The engine is built already; with it in one go nothing that both need is compiled anew.
instructions: build
	cargo build --locked --release -p engine -p pyext -p codecs
	$(BIN)/python benches/instructions.py $(if $(SETTLE),--settle,)

fuzz:
	tests/fuzz

wheel: $(VENV)/installed $(ENGINES)
	trap 'rm -rf python/benchlab/studies' EXIT && \
		rm -rf python/benchlab/studies && cp -r studies python/benchlab/studies && \
		$(BIN)/maturin build --locked --release --out dist

clean:
	rm -rf $(VENV) target dist python/benchlab/bin python/benchlab/*.so
