GO          ?= go
FUZZTIME    ?= 30s
SEEDS       ?= 20000
MUTANTSEEDS ?= 4000
VERSION     ?= 0.0.0-dev
PLATFORMS   ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
CONFORMING   = github.com/modelcontextprotocol/go-sdk/conformance/everything-server@v1.8.0
STATICCHECK  = honnef.co/go/tools/cmd/staticcheck@v0.8.2
ROOMS        = bridge cmd examples policy stdio

# The race detector needs a C compiler on Linux; without one the tests run
# without it, and say so.
RACE := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

.PHONY: help build mcpb demo test check platforms bench test-real fuzz sim sim-long mutants clean
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

build: ## the program, as bin/mcpx-bridge
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/mcpx-bridge

mcpb: ## bundles that desktop clients install by a double click, one per platform, in bin (VERSION=1.2.3)
	@set -e; for p in $(PLATFORMS); do \
		os=$${p%/*}; arch=$${p#*/}; program=bin/mcpb/$$os-$$arch/mcpx-bridge; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -trimpath -ldflags=-s -o $$program ./cmd/mcpx-bridge; \
		$(GO) run ./cmd/mcpb -binary $$program -os $$os -version $(VERSION) -o bin/mcpx-bridge-$$os-$$arch.mcpb; \
		echo bin/mcpx-bridge-$$os-$$arch.mcpb; \
	done

demo: ## host a topic, bridge an example server, see what crosses and what does not
	@$(GO) run ./examples/demo

test: ## all tests; needs nothing but Go
	$(if $(RACE),,@echo "no C compiler found: testing without the race detector")
	GORACE=atexit_sleep_ms=0 $(GO) test $(RACE) -shuffle=on -count=1 -timeout 30m ./...

check: ## formatting, vet, staticcheck, tidiness, six platforms; changes nothing
	@echo "gofmt -l $(ROOMS)"; unformatted=$$(gofmt -l $(ROOMS)); test -z "$$unformatted" || { echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags real ./examples/real
	$(GO) fix -diff ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) mod tidy -diff
	$(GO) mod verify
	@$(MAKE) --no-print-directory platforms

platforms:
	@set -e; for p in $(PLATFORMS); do \
		echo "build and vet $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build ./...; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) vet ./...; \
	done

bench: ## our path against a bare relay, a bare wrapper and direct stdio (BENCH=-quick: 40 s)
	@$(GO) run ./examples/bench $(BENCH)

# The npm servers are pinned by examples/real/package-lock.json and land in .cache.
test-real: .cache/real/node_modules/.done .cache/real/bin/everything-server ## npm servers behind the bridge, byte for byte, and npm clients, the Inspector and the conformance suites before serve and run --stdio; needs node and npm
	$(GO) test -tags real -count=1 -v -run 'TestReal' ./examples/real

.cache/real/node_modules/.done: examples/real/package.json examples/real/package-lock.json
	mkdir -p .cache/real
	cp $^ .cache/real/
	cd .cache/real && npm ci --no-audit --no-fund
	touch $@

.cache/real/bin/everything-server: Makefile
	GOBIN=$(CURDIR)/.cache/real/bin $(GO) install $(CONFORMING)
	touch $@

fuzz: ## every fuzz target for FUZZTIME (30s)
	@set -e; for file in $$(grep -rl --include='*_test.go' '^func Fuzz' $(ROOMS)); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$file); do \
			echo "fuzz $$(dirname $$file) $$target"; \
			$(GO) test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) ./$$(dirname $$file); \
		done; \
	done

sim: ## SEEDS (20000) simulated worlds full of faults, and what struck in them; one again: SIM="-seed 7 -trace"
	@$(GO) run ./bridge/sim/simulate $(if $(SIM),$(SIM),-seeds $(SEEDS) $(if $(filter 20000,$(SEEDS)),-strict))

sim-long: ## two million worlds; takes hours
	@$(GO) run ./bridge/sim/simulate -seeds 2000000 -strict

mutants: ## bridges with one mistake each, which the simulation must notice within MUTANTSEEDS (4000) worlds
	$(GO) test -count=1 -timeout 60m -v -run TestMutantsDie ./bridge/sim -mutants $(MUTANTSEEDS)

clean: ## what was built and fetched
	rm -rf bin .cache
