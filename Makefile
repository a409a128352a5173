# The commands for developers. Each target installs what it needs; `make help` lists all targets.

PORT ?= 8787
STATE ?=
VARS ?=

# VARS is passed on unchanged: make must not expand a $ in it, nor export it a second time.
export ONCEKEY_VARS := $(value VARS)
export PORT STATE KILLS SEED ONLY
unexport VARS
MAKEFLAGS += --no-print-directory

.PHONY: help setup start serve build test lint test-core test-crate test-wasm test-worker test-www test-browser test-engines test-chaos chaos deny bench proof soak fuzz mutants clean
.DEFAULT_GOAL := help

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: ## install what building and testing need
	@scripts/setup --tests

start: ## run the Worker on http://127.0.0.1:8787: make start [PORT=8787] [STATE=DIR] [VARS="NAME=value …"]
	@scripts/start

serve: ## run the Worker without the sandbox on plain workerd, in front of your API: make serve VARS="UPSTREAM=URL …" [PORT=8787] [STATE=DIR]
	@scripts/serve

build: ## build the Worker (worker/build; without the sandbox: worker/build-production) and the npm packages (www/dist, worker/npm/dist)
	@scripts/setup
	@scripts/worker-build
	@scripts/worker-build --no-sandbox
	@scripts/worker-pack

test: ## run every check and test
	@scripts/test all

lint: ## check formatting, clippy (native and wasm32) and documentation
	@scripts/test lint

test-core: ## run the tests of the core, native
	@scripts/test core

test-crate: ## pack the crate, and test its feature serde and the example with axum and SQLite
	@scripts/test crate

test-wasm: ## run the tests of the core as wasm, in Node and in headless Chromium
	@scripts/test wasm

test-worker: ## build the Worker, check its wasm, try a deployment (dry run), and run its tests on workerd
	@scripts/test worker

test-www: ## build the npm package, and test its types in every host and bundler
	@scripts/test www

test-browser: ## test the npm package in real pages, with the Worker and with servers that fail
	@scripts/test browser

test-engines: ## test the npm package in pages of Chromium, Firefox and WebKit
	@scripts/test engines

test-chaos: ## kill the Worker 20 times under load, and check every key
	@scripts/test chaos

chaos: ## kill the Worker many times under load, and check every key: make chaos [KILLS=220] [SEED=n] [ONLY=SETUP/SERVER] [VARS="NAME=value …"]
	@scripts/chaos

deny: ## check the licences and sources of all dependencies
	@scripts/test deny

bench: ## measure speed, size and price, compared with other libraries: make bench [ONLY=gateway,counts,sizes,page] [ROUNDS=5] [REQUESTS=1500]
	@scripts/bench $(if $(ONLY),--only $(ONLY)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(REQUESTS),--requests $(REQUESTS))

proof: ## search every state of small worlds, and check that the search finds deliberate faults: make proof [LARGE=1]
	@scripts/proof $(if $(LARGE),--large)

soak: ## run random schedules with faults: make soak [SCHEDULES=n | MINUTES=n] [SEED=n]
	@scripts/soak $(if $(SCHEDULES),--schedules $(SCHEDULES)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

mutants: ## put small faults into the core, and report those that no test notices: make mutants [FILES="src/key.rs …"]
	@scripts/mutants $(FILES)

fuzz: ## look for inputs that break a property: make fuzz [TARGET=name] [RUNS=1000000]
	@scripts/fuzz "$(TARGET)" $(RUNS)

clean: ## remove builds and installed tools
	rm -rf target node_modules worker/build worker/build-production worker/build-test worker/npm/dist worker/.wrangler www/build www/dist www/demo/dist
