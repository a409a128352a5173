# Everything a developer calls. Each target sets up what it needs by itself; `make help` lists them.

PORT ?= 8787
STATE ?=
VARS ?=

# VARS goes on unchanged: make must not look for its own $ in it, nor export it a second time.
export ONCEKEY_VARS := $(value VARS)
export PORT STATE KILLS SEED ONLY
unexport VARS
MAKEFLAGS += --no-print-directory

.PHONY: help setup start build test lint test-core test-wasm test-worker test-www test-browser test-chaos chaos deny bench proof soak fuzz mutants clean
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: ## install what building and testing need
	@scripts/setup --tests

start: ## the Worker on http://127.0.0.1:8787: make start [PORT=8787] [STATE=DIR] [VARS="NAME=value …"]
	@scripts/start

build: ## the Worker into worker/build, without the sandbox into worker/build-production, and the npm package into www/dist
	@scripts/setup
	@scripts/worker-build
	@scripts/worker-build --no-sandbox
	@scripts/www-build

test: ## every check and test there is
	@scripts/test all

lint: ## format, clippy (native and wasm32), documentation
	@scripts/test lint

test-core: ## the core's tests, native
	@scripts/test core

test-wasm: ## the core's tests as wasm, under Node and in headless Chromium; storage and forms there
	@scripts/test wasm

test-worker: ## the Worker: build, checks of the wasm, dry run of a deploy, tests on workerd
	@scripts/test worker

test-www: ## the npm package: build, types, every host and bundler
	@scripts/test www

test-browser: ## the npm package in real pages, against the Worker and servers that fail
	@scripts/test browser

test-chaos: ## the Worker, killed 20 times under load
	@scripts/test chaos

chaos: ## the Worker, killed many times: make chaos [KILLS=220] [SEED=n] [ONLY=SETUP/SERVER] [VARS="NAME=value …"]
	@scripts/chaos

deny: ## licences and sources of all dependencies
	@scripts/test deny

bench: ## how fast, large and dear it is, against floors and others: make bench [ONLY=gateway,counts,sizes,page] [ROUNDS=5] [REQUESTS=1500]
	@scripts/bench $(if $(ONLY),--only $(ONLY)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(REQUESTS),--requests $(REQUESTS))

proof: ## every state of bounded worlds, and faults that must be found there: make proof [LARGE=1]
	@scripts/proof $(if $(LARGE),--large)

soak: ## schedules with faults by the million, from a seed: make soak [SCHEDULES=n | MINUTES=n] [SEED=n]
	@scripts/soak $(if $(SCHEDULES),--schedules $(SCHEDULES)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

mutants: ## small faults in the core that no test notices: make mutants [FILES="src/key.rs …"]
	@scripts/mutants $(FILES)

fuzz: ## inputs that break a property: make fuzz [TARGET=name] [RUNS=1000000]
	@scripts/fuzz "$(TARGET)" $(RUNS)

clean: ## forget builds and installed tools
	rm -rf target node_modules worker/build worker/build-production worker/build-test worker/.wrangler www/build www/dist www/demo/dist
