GO          ?= go
FUZZTIME    ?= 30s
KILLS       ?= 25
SEEDS       ?= 36000
SEEDS_FROM  ?= 1
MUTANTSEEDS ?= 60000
MINUTES     ?= 10
VERSION     ?= 0.0.0-dev
PLATFORMS   ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
CONFORMING   = github.com/modelcontextprotocol/go-sdk/conformance/everything-server@v1.8.0
STATICCHECK  = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK  = golang.org/x/vuln/cmd/govulncheck@v1.8.0
ROOMS        = bridge cmd examples policy stdio

# The race detector needs a C compiler on Linux.
RACE := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

# vet is for make check, and the tables for a debugger for nobody. Built with -trimpath, a
# package is the same in each clone; with that and without C, the tests of programs as we
# ship them find most of those built.
TESTFLAGS = -trimpath -vet=off -ldflags=-s -shuffle=on -count=1 -timeout 30m

CHROMIUM = command -v chromium chromium-browser google-chrome chrome >/dev/null

# They wait more than they work, so four packages at a time do more; those that wait longest begin first.
LONG = ./cmd/mcpx-bridge ./bridge/gateway ./examples/bench ./stdio
AT_ONCE = -p 4 -parallel 8

.PHONY: help build mcpb demo test race test-page load-page check platforms vuln bench bench-md soak test-real kills fuzz sim sim-long mutants clean
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

build: ## the program, as bin/mcpx-bridge
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags=-s -o bin/ ./cmd/mcpx-bridge

mcpb: ## bundles that desktop clients install by a double click, one per platform, in bin (VERSION=1.2.3)
	@set -e; for p in $(PLATFORMS); do \
		os=$${p%/*}; arch=$${p#*/}; program=bin/mcpb/$$os-$$arch/mcpx-bridge; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -trimpath -ldflags=-s -o $$program ./cmd/mcpx-bridge; \
		$(GO) run ./cmd/mcpb -binary $$program -os $$os -version $(VERSION) -o bin/mcpx-bridge-$$os-$$arch.mcpb; \
		echo bin/mcpx-bridge-$$os-$$arch.mcpb; \
	done

demo: ## host a topic, bridge an example server, see what crosses and what does not
	@echo "building (the first time takes a minute or two) ..."
	@$(GO) run ./examples/demo

test: ## all tests; needs nothing but Go
	CGO_ENABLED=0 $(GO) test $(TESTFLAGS) $(AT_ONCE) $(LONG) ./...

race: ## all tests under the race detector, which takes twice as long; needs a C compiler
	$(if $(RACE),GORACE=atexit_sleep_ms=0 $(GO) test $(RACE) $(TESTFLAGS) $(AT_ONCE) $(LONG) ./...,@echo "race: NOT CHECKED: the race detector needs a C compiler, and there is none here" >&2)

check: ## formatting, vet, staticcheck, tidiness, six platforms; changes nothing
	@echo "gofmt -l $(ROOMS)"; unformatted=$$(gofmt -l $(ROOMS)); test -z "$$unformatted" || { echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags real ./examples/real
	$(GO) vet -tags chrome ./bridge/inbox/web ./bridge/desktop
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

vuln: .cache/bin/$(GOVULNCHECK) ## vulnerabilities that are known in what is called here; says so where nobody can be asked (VULNDB=file:///…)
	@$</govulncheck $(if $(VULNDB),-db $(VULNDB)) ./... 2>.cache/vuln && cat .cache/vuln >&2 || { \
		status=$$?; cat .cache/vuln >&2; \
		grep -Eq '^govulncheck: fetching vulnerabilities: (Get "|HTTP GET .*: (403|5[0-9][0-9]) )' .cache/vuln || exit $$status; \
		echo "vuln: NOT CHECKED: the database of vulnerabilities cannot be reached from here" >&2; \
	}

.cache/bin/$(GOVULNCHECK):
	GOBIN=$(CURDIR)/$@ $(GO) install $(GOVULNCHECK)

bench: ## our path against a bare relay, a bare wrapper and direct stdio (BENCH=-quick: three minutes), or against an earlier build alone (AGAINST=path)
	@$(GO) run ./examples/bench $(BENCH) $(if $(AGAINST),-against $(AGAINST))

bench-md: ## the same, and what it prints goes into BENCH.md and docs/speed.md, with a plot (docs/speed.svg)
	@$(GO) run ./examples/bench $(BENCH) -into examples/bench/BENCH.md -into docs/speed.md -plot docs/speed.svg

soak: ## MINUTES (10) of load on real processes, with a fault every 5 s; calls and faults chosen as before: SOAK="-seed 7" (Linux)
	@$(GO) run ./examples/soak -minutes $(MINUTES) $(SOAK)

test-page: ## the page, and the card in clients, in Chromium, which apt-get installs if it is not here; says so where there is none
	@$(CHROMIUM) || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 || true
	@if $(CHROMIUM); then \
		$(GO) test -tags chrome -count=1 -run 'TestInABrowser|TestPictures' ./bridge/inbox/web ./bridge/desktop; \
	else \
		echo "test-page: NOT CHECKED: there is no Chromium here, and none could be installed" >&2; \
	fi

load-page: ## MINUTES (10) of a page in Chromium while a question comes each second: memory stays level on both sides (Linux)
	PAGE_MINUTES=$(MINUTES) $(GO) test -tags chrome -count=1 -timeout 0 -v -run 'TestPageUnderLoad' ./bridge/inbox/web

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

kills: ## the bridge killed KILLS (25) times under load: nothing runs unrecorded, or twice
	MCPX_KILLS=$(KILLS) $(GO) test $(RACE) -count=1 -timeout 30m -v -run 'TestNothingRunsUnrecordedOrTwice' ./cmd/mcpx-bridge

fuzz: ## every fuzz target for FUZZTIME (30s), two at a time, until one fails
	@$(MAKE) --no-print-directory -j 2 $(FUZZTARGETS)

# fuzz/ROOM/TARGET, one for each.
FUZZTARGETS = $(shell grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' $(ROOMS) | sed -E 's|^(.*)/[^/]*:func |fuzz/\1/|' | sort)

# Go below 1.27 now and then takes the end of -fuzztime itself for a failure, with no input to it (go.dev/issue/75804).
fuzz/%:
	@mkdir -p .cache/fuzz; log=.cache/fuzz/$(subst /,-,$*); \
	$(GO) test -run='^$$' -fuzz='^$(notdir $*)$$' -fuzztime=$(FUZZTIME) -fuzzminimizetime=10s -parallel=1 ./$(dir $*) >$$log 2>&1 || \
	{ grep -qx '    context deadline exceeded' $$log && ! grep -Eq 'Failing input|panic' $$log; } || \
	{ cat $$log; input=$$(sed -n 's|.*Failing input written to |$(dir $*)|p' $$log); echo "fuzz: $* fails$${input:+ on $$input}" >&2; exit 1; }; \
	echo "fuzz $*: $$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' $$log | tail -1) executions"

# So many that each event is met in each situation: since the seat is taken while the server starts, few
# meet a bridge without one. The four minutes that they may take on two cores are without the mutants.
sim: ## SEEDS (36000) simulated worlds full of faults, what struck in them, and then the mutants; one world again: SIM="-seed 7 -trace"
	@$(GO) run ./bridge/sim/simulate $(or $(SIM),-seeds $(SEEDS) -same 1000 -strict)
	@$(if $(SIM),,$(GO) run ./bridge/sim/mutants -seeds $(MUTANTSEEDS))

sim-long: ## two million worlds, which take hours; in parts: SEEDS_FROM=500001 SEEDS=500000
	@$(GO) run ./bridge/sim/simulate -from $(SEEDS_FROM) -seeds $(if $(filter file,$(origin SEEDS)),2000000,$(SEEDS)) -strict

mutants: ## bridges with one mistake each, which the simulation must notice within MUTANTSEEDS (60000) worlds
	@$(GO) run ./bridge/sim/mutants -v -seeds $(MUTANTSEEDS)

clean: ## what was built and fetched
	rm -rf bin .cache
