# `make serve` starts the demo server, `make test` runs every test.

MOJO := .venv/bin/mojo
PYTHON := .venv/bin/python3
SETUP := .venv/setup.stamp
PEERS := .venv/peers.stamp
SOURCES := $(shell find flare examples -name '*.mojo' 2>/dev/null)

# Options of what a target runs: make serve ARGS="--port 9000 --workers 2",
# make serve-shop ARGS="--database postgres://user:password@host/name".
# Those of `make quick`, and of `make ship` after a --, are of the compiler.
ARGS ?=
# The program of `make ship` and `make quick`.
PROGRAM ?= examples/demo.mojo
# Runs per harness of `make fuzz`, seeds of `make simulate`.
RUNS ?= 1000000
SEEDS ?= 100000
# How long `make siege` attacks.
MINUTES ?= 60

# Nothing here sends reports or needs a crash handler.
export MODULAR_CRASH_REPORTING_ENABLED := false
export MODULAR_TELEMETRY_ENABLED := false

.PHONY: help setup setup-peers serve serve-shop docs test check format examples fuzz \
	fuzz-planted rules-planted test-asan simulate siege autobahn interop bench bench-full wheel \
	ship quick clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1: /p' Makefile

setup: ## installs the pinned compiler into .venv
	@sh tools/setup.sh

$(SETUP): tools/requirements.txt tools/setup.sh
	@sh tools/setup.sh

setup-peers: ## brings what tests let flare talk to: a browser, a scanner
	@sh tools/setup.sh peers

$(PEERS): tools/requirements.txt tools/scanner.txt tools/site.txt tools/sockets.txt tools/http2.txt tools/openapi.txt tools/ffmpeg.txt \
		tools/libpq.txt tools/telemetry.txt \
		tools/autobahn.txt tools/setup.sh tools/setup_autobahn.sh \
		tools/setup_go.sh tests/interop/h2spec/go.mod tests/interop/h2spec/go.sum \
		tests/interop/grpc/go.mod tests/interop/grpc/go.sum tests/interop/grpc/main.go \
		tests/interop/node/package-lock.json tools/setup_node.sh
	@sh tools/setup.sh peers

serve: build/demo ## builds and starts examples/demo.mojo
	@exec build/demo $(ARGS)

serve-shop: build/shop ## builds and starts the shop of examples/shop
	@$(if $(findstring ://,$(ARGS)),sh tools/setup.sh postgres)
	@exec build/shop $(ARGS)

docs: ## builds the site: guide, search and the API of every public name
	@sh tools/setup.sh site
	@$(PYTHON) tools/site.py

build/demo: $(SOURCES) $(SETUP)
	@mkdir -p build
	$(MOJO) build -I . -o $@ examples/demo.mojo

build/shop: $(SOURCES) $(SETUP)
	@mkdir -p build
	$(MOJO) build -I . -o $@ examples/shop/main.mojo

test: $(PEERS) ## runs all tests, the examples and short fuzz runs
	@$(PYTHON) tools/run_tests.py $(ARGS)

check: $(SETUP) ## checks format, docstrings, warnings and house rules
	@sh tools/check.sh

format: $(SETUP) ## formats every Mojo file
	@$(MOJO) format -q -l 80 $(wildcard flare tests fuzz examples benchmark)

examples: $(SETUP) ## builds and runs every example
	@$(PYTHON) tools/run_tests.py --only examples/

fuzz: $(SETUP) ## runs each fuzz harness RUNS times
	@$(PYTHON) tools/run_tests.py --only fuzz/ --fuzz-runs $(RUNS) --verbose

rules-planted: $(PEERS) ## checks that rules of files and WebSockets have a test that fails without it
	@$(PYTHON) tools/planted_rules.py $(ARGS)

fuzz-planted: $(SETUP) ## checks that each harness finds its planted faults
	@$(PYTHON) tools/planted.py $(ARGS)

test-asan: $(PEERS) ## runs the Mojo tests, and PostgreSQL, under AddressSanitizer
	@$(PYTHON) tools/run_tests.py --asan $(ARGS)
	@cd tests/python && PYTHONPATH=../../tools \
		../../$(PYTHON) -m unittest -v postgres.sanitized

simulate: $(SETUP) ## simulates SEEDS servers, or repeats the one of RUN
	@mkdir -p build/fuzz
	@$(MOJO) build -D ASSERT=all -I . -o build/fuzz/fuzz_server fuzz/fuzz_server.mojo
	@build/fuzz/fuzz_server $(if $(RUN),--only-run $(RUN),--runs $(SEEDS))

siege: $(SETUP) ## lets hostile clients and origins attack for MINUTES
	@cd tests/python && ../../$(PYTHON) -m siege.run --minutes $(MINUTES) $(ARGS)

autobahn: $(PEERS) ## runs all cases of the Autobahn test suite of WebSockets
	@cd tests/python && ../../$(PYTHON) -m autobahn.run $(ARGS)

interop: $(PEERS) ## lets flare talk with WebSocket peers in Node, Go and Rust
	@cd tests/python && ../../$(PYTHON) -m interop.run $(ARGS)

bench: $(SETUP) ## micro benchmarks, and flare beside its peers in minutes
	@$(PYTHON) benchmark/micro/run
	@$(PYTHON) benchmark/bench $(ARGS)

bench-full: $(SETUP) ## the same with every workload and every figure: hours
	@$(PYTHON) benchmark/micro/run
	@$(PYTHON) benchmark/bench --full $(ARGS)
	@for run in $(wildcard benchmark/workloads/*/run); do $$run || exit 1; done

wheel: $(SETUP) ## builds the wheel into dist/
	@$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist .

ship: $(SETUP) ## makes the folder of PROGRAM with what it needs, in build/ship
	@$(PYTHON) tools/ship.py $(PROGRAM) --into build/ship $(ARGS) \
		$(if $(filter --,$(ARGS)),,--) -I .

quick: $(SETUP) ## builds PROGRAM into build/ over a driver compiled once
	@$(PYTHON) tools/quick.py $(PROGRAM) \
		-o build/$(notdir $(basename $(PROGRAM))) -- $(ARGS)

clean: ## removes what was built, not .venv
	rm -rf build dist
