# cachesim: `make run` replays a compressed trace and draws a figure, `make test` runs the tests.
GO      ?= go
BIN     := bin/cachesim
PREFIX  ?= /usr/local
# The tag that names a release, such as v0.2.0, or the commit.
COMMIT  := $(shell git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null)
LDFLAGS := $(if $(COMMIT),-X github.com/cachesim/cachesim/internal/commands/version.commit=$(COMMIT))
TOOL    := $(GO) tool -modfile=tools/go.mod
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
DIST    ?= dist
FUZZTIME ?= 20s
FUZZMEMORY ?= 4194304
BENCHTIME ?= 1x
BENCHCOUNT ?= 6
# What `make mutants` changes, how much of each package, and which tests it runs besides those of the package.
PACKAGES ?= ./internal/policies/... ./internal/oracle ./internal/experiment/claims \
  ./internal/records ./internal/sim
SAMPLE  ?= 0
TESTS   ?=
# The experiments that `make verdicts` runs in full.
EXPERIMENTS ?= all
# The drivers of other programs that `make conformance` runs; all of them without.
PROGRAMS ?=
# The faults that `make mutants-claims` puts in; all of them without.
FAULTS  ?=
OF      ?=

# The seed of `make properties`: that of a run to repeat.
SEED    ?= $(shell date +%s)
# How many cases each of these tests draws.
CHECKS  ?= 30

.PHONY: build train run test quick race servers servers-brief bench bench-gpu bench-record speeds references lint \
  cross portable kernels wasm wheel python engines release fuzz fuzz-targets properties docs install mutants \
  mutants-claims verdicts pins conformance conformance-brief site clean

build:
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/cachesim

# Table on the terminal, records and figures in out/.
run: build
	$(BIN) run testdata/demo.oracleGeneral.zst -o out

# Trains the policy and the trees of the program again, in three minutes, and fails if a byte of them differs.
# UPDATE=1 make train replaces them.
train:
	TRAIN=1 $(GO) test -count 1 -v -timeout 60m -run 'TestShippedFiles|TestTrainingIsReproduced' \
	  ./internal/serving/hlem/trainer

# All tests but those that take long, which CACHESIM_LONG=1 adds. The cases of property tests are always the same. It is
# `make lint` that vets.
test:
	$(GO) test -vet=off -timeout 40m ./...
	$(GO) -C tools test -vet=off ./...

# Property tests with fresh cases. A failure names its seed and, above that, the test and what repeats it alone.
properties:
	@echo "seed $(SEED)"
	@$(GO) test -vet=off -timeout 40m $$($(GO) -C tools run ./properties) -rapid.seed=$(SEED) -rapid.checks=$(CHECKS) || \
	  { echo "make properties SEED=$(SEED) CHECKS=$(CHECKS) repeats this"; exit 1; }

# What most changes can break, in less than a minute: the architecture, policies, oracles, experiments, records, and the
# program on the demo trace. Go keeps the results of packages that a change does not reach.
quick:
	$(GO) vet ./...
	$(GO) test -short ./internal ./configs ./internal/cache/prefix ./internal/experiment/baseline \
	  ./internal/experiment/claims ./internal/experiment/report ./internal/oracle ./internal/policies/all \
	  ./internal/records
	$(GO) test -short -run 'Golden|Help|DocCommandsExist|Scripts/^(run|run_errors|parts|policies|formats|stat|sweep)$$' \
	  ./internal/commands ./internal/commands/scripts

# run, curve and sweep of every kind of cache on several goroutines; and packages whose tests have goroutines share data
# in other ways: searches for neighbours, training, progress bars, budgets of memory.
race:
	$(GO) test -vet=off -timeout 30m -race -run SeveralGoroutines ./internal/commands
	$(GO) test -vet=off -race -short ./internal/base/parallel ./internal/base/memory ./internal/base/neural/... \
	  ./internal/similarity ./internal/commands/progress

# Starts those of nginx, Apache, Varnish, Squid, HAProxy, Traffic Server, Redis and memcached that are installed: what
# readers find in their logs is what clients sent, audit names the faults of theirs, and real traces hit in them what
# their models say. CACHESIM_LONG=1 sends 20,000 requests instead of 500 for the logs. CACHESIM_REDIS names another
# program for Redis.
servers:
	CACHESIM_SERVERS=1 $(GO) test -vet=off -count 1 -timeout 30m -v -run 'LogsOf|MonitorOf|WatchOf|KeyspaceOf' \
	  ./internal/traces/read
	CACHESIM_SERVERS=1 $(GO) test -vet=off -count 1 -timeout 30m -v -run FaultsOf ./internal/experiment/audit
	CACHESIM_SERVERS=1 $(GO) test -vet=off -count 1 -v -run ShardOf ./internal/serving/route
	CACHESIM_SERVERS=1 $(GO) test -vet=off -count 1 -timeout 30m -v -parallel 6 \
	  -run 'SharedTraces|BytesOfItems|Extstore|Collections$$' ./internal/cache/servers

# What of it is fast, and does not depend on how busy the machine is: one log of each, and where Varnish and Redis put
# what they are given.
servers-brief:
	CACHESIM_SERVERS=1 $(GO) test -vet=off -count 1 -parallel 8 -run 'LogsOf.*/(combined|default|httplog|squid)$$' \
	  ./internal/traces/read
	CACHESIM_SERVERS=1 $(GO) test -vet=off -count 1 -run 'MonitorOf|WatchOf' ./internal/traces/read
	CACHESIM_SERVERS=1 $(GO) test -vet=off -count 1 -run ShardOf ./internal/serving/route
	CACHESIM_SERVERS=1 $(GO) test -vet=off -count 1 -run BytesOfItems ./internal/cache/servers

# 20 M requests, Zipf(1.0) over 1 M objects, capacity 100 000: Mreq/s and ns per request of every policy; then the join
# of 10 000 vectors of 384 dimensions, on one core and on all, the nearest of each, replays of queries whose neighbours
# are known, and of recommender requests; then lookups of sets of keys and values, the exact set of a group of query
# heads, and a replay of attention. Beside the last record.
bench:
	@mkdir -p out
	CACHESIM_BENCH=full $(GO) test -run '^$$' -bench Replay -benchtime $(BENCHTIME) -count $(BENCHCOUNT) -timeout 60m \
	  ./internal/policies/all > out/bench.txt
	$(GO) test -run '^$$' -bench LRB -benchtime $(BENCHTIME) -count $(BENCHCOUNT) ./internal/policies/boosted \
	  >> out/bench.txt
	$(GO) test -run '^$$' -bench '(Join|Nearest)10k' -benchtime $(BENCHTIME) -count $(BENCHCOUNT) ./internal/similarity \
	  >> out/bench.txt
	$(GO) test -run '^$$' -bench 'Semantic|Recommender' -benchmem -benchtime $(BENCHTIME) -count $(BENCHCOUNT) \
	  ./internal/cache/semantic ./internal/serving/hlem/nodemodels >> out/bench.txt
	$(GO) test -run '^$$' -bench 'Lookup|GroupTop128K/exact$$|Replay' -benchtime 200ms -count $(BENCHCOUNT) \
	  ./internal/cache/kv/reuse ./internal/similarity/softmax ./internal/cache/kv >> out/bench.txt
	$(GO) test -run '^$$' -bench 'Pools|Prefetching' -benchtime 100ms -count 3 ./internal/cache >> out/bench.txt
	$(GO) test -run '^$$' -bench . -benchtime 100ms -count 3 $(BENCHED) >> out/bench.txt
	$(TOOL) benchstat $(wildcard docs/bench.txt) out/bench.txt
	$(GO) run -C tools -modfile=go.mod ./speeds -slower $(abspath $(wildcard docs/bench.txt) out/bench.txt)

# Caches and readers of every kind, whose benchmarks `make bench` runs besides.
BENCHED = ./internal/cache/igtcache ./internal/cache/prefetch ./internal/cache/prefix \
  ./internal/cache/servers ./internal/cache/sets ./internal/cache/streams ./internal/cache/tiers \
  ./internal/serving/... ./internal/traces/...

# What a GPU computes, beside the same on the CPU: seconds, how many times as fast the GPU is, and millions of requests,
# or of pairs of vectors, per second. CACHESIM_DEVICE chooses the GPU. Without one it says so and measures nothing.
bench-gpu: build
	@mkdir -p out
	@if ! $(BIN) devices | grep cuda:; then echo "nothing is measured"; exit 0; fi; \
	$(GO) test -run '^$$' -bench '^BenchmarkGPU' -benchtime $(BENCHTIME) -timeout 60m ./internal/cuda/... ./internal/sim \
	  > out/bench-gpu.txt || { cat out/bench-gpu.txt; exit 1; }; \
	awk 'BEGIN { printf "%-44s %10s %10s %8s %10s\n", "", "GPU, s", "CPU, s", "times", "M/s" } \
	  /^BenchmarkGPU/ { split("", v); for (i = 3; i < NF; i += 2) v[$$(i + 1)] = $$i; sub(/^BenchmarkGPU/, "", $$1); \
	    printf "%-44s %10s %10s %8s %10s\n", $$1, v["gpu-s"], v["cpu-s"], v["times"], v["M/s"] }' out/bench-gpu.txt

# The tables of docs/references, ours beside outside numbers; needs the traces and numbers in CACHESIM_TRACES.
references:
	@mkdir -p docs/references
	CACHESIM_REPORT=$(CURDIR)/docs/references $(GO) test -count 1 -run 'LibCacheSim|Published' ./internal/sim

# Keeps the figures of this machine as the record that `make bench` compares with, and measures files of 20 M requests
# from file to table, here and in libCacheSim as PyPI has it, which takes 20 minutes more: docs/speeds.tsv, and the
# table of docs/performance.md. ONLY="lru" measures the rows that begin so.
bench-record: bench speeds
	cp out/bench.txt docs/bench.txt

ONLY    ?=
speeds: build
	@mkdir -p out
	$(GO) build -C tools -modfile=go.mod -o $(CURDIR)/out/speeds-tool ./speeds
	out/speeds-tool -only '$(ONLY)'

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt would change the files above"; exit 1; }
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

# The program and its tests are right for every system, as their types say. For arm64, whose assembly is its own, all is
# compiled; for amd64 other targets do that.
cross:
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build -trimpath -pgo=off ./...
	$(GO) -C tools run ./typecheck $(PLATFORMS)

# Packages whose results must be the same on every machine are compiled for arm64, where Go could fuse a product and a
# sum.
portable:
	CACHESIM_PORTABLE=1 $(GO) test -vet=off -run Portable ./internal

# The PTX of kernels that were changed, with clang-16. Those that run on GPUs, and those that test the interpreter.
kernels:
	COMPILE=1 $(GO) test -count 1 -run Compiled ./internal/cuda/kernels/compile
	COMPILE=1 $(GO) test -count 1 -run InterpreterKnowsAll ./internal/cuda/kernels

# The Python package: a wheel with the program, without a C compiler, for the platform that GOOS and GOARCH name.
wheel:
	python3 -m venv out/wheel-tools
	out/wheel-tools/bin/pip install --quiet build==1.3.0
	out/wheel-tools/bin/python -m build --outdir out/wheels python

# Tests the wheel as it is installed, with mypy, the notebook of the docs and both kinds of frames. It is built from the
# source distribution, as `make wheel` builds it, so that this must have all files, too.
python: build
	rm -rf out/python out/wheels
	python3 -m venv out/python
	out/python/bin/pip install --quiet build==1.3.0 pytest==8.4.2 mypy==1.18.2 pandas polars pandas-stubs
	CACHESIM_PROGRAM=$(CURDIR)/$(BIN) out/python/bin/python -m build --outdir out/wheels python
	out/python/bin/pip install --quiet out/wheels/*.whl
	out/python/bin/python -m pytest --quiet python/tests
	out/python/bin/mypy --config-file python/pyproject.toml python/src/cachesim

# The own code of engines, brought by pip without what they need to run, finds the same tokens of 1,000 workloads.
engines:
	mkdir -p out/engines
	python3 -m pip download --quiet --no-deps --dest out/engines vllm==0.33.0 sglang==0.5.23 lmcache==0.5.6
	for wheel in out/engines/*.whl; do python3 -m zipfile -e $$wheel out/engines; done
	CACHESIM_ENGINES=$(CURDIR)/out/engines CACHESIM_LONG=1 $(GO) test -count 1 -timeout 3h -v \
	  -run 'TestVLLM$$|TestSGLang$$|TestSGLangStates$$|TestLMCache$$|TestEnginesOnMooncake' ./internal/cache/prefix

# Code that no replay runs is not inlined in releases, which makes them smaller by 1 MB.
OUTLINED = github.com/cachesim/cachesim/internal/commands github.com/cachesim/cachesim/internal/experiment \
  github.com/cachesim/cachesim/internal/results/plots github.com/cachesim/cachesim/internal/results/cost \
  github.com/cachesim/cachesim/internal/results/page github.com/cachesim/cachesim/internal/sim/challenge \
  github.com/cachesim/cachesim/internal/sim/adversary github.com/cachesim/cachesim/internal/sim/explain \
  github.com/cachesim/cachesim/internal/results/runs github.com/cachesim/cachesim/internal/results/peers \
  github.com/cachesim/cachesim/internal/base/params github.com/cachesim/cachesim/internal/base/tabular \
  github.com/cachesim/cachesim/internal/cache/servers/configuration \
  github.com/cachesim/cachesim/internal/traces/chattemplate \
  github.com/goccy gonum.org/v1/plot git.sr.ht codeberg.org \
  crypto image encoding/xml encoding/gob mime github.com/spf13 google.golang.org net text \
  github.com/tetratelabs/wazero github.com/expr-lang github.com/cachesim/cachesim/internal/policies/suite \
  github.com/andybalholm golang.org/x/text golang.org/x/image math/big debug html encoding/asn1 \
  github.com/cachesim/cachesim/internal/serving/hlem/trainer github.com/cachesim/cachesim/internal/traces/workload \
  github.com/cachesim/cachesim/internal/base/llm encoding/json

# The examples of policies in WebAssembly, and the driver of these policies. It needs clang, lld, and Rust's target
# wasm32-unknown-unknown; nothing else does.
WASM = clang --target=wasm32 -Wall -O3 -nostdlib -Wl,--no-entry -Wl,--strip-all
wasm:
	for name in lru s3fifo; do $(WASM) -o examples/wasm/$$name.wasm examples/wasm/$$name.c || exit 1; done
	cd examples/wasm && rustc --edition 2021 --target wasm32-unknown-unknown --crate-type cdylib -O -C panic=abort -C lto \
	  -C strip=symbols -o sieve.wasm sieve.rs
	cd internal/policies/custom/modules/driver && $(WASM) -mmutable-globals -Wl,--allow-undefined \
	  -Wl,-z,stack-size=1024 -o driver.wasm driver.c
	chmod 644 examples/wasm/*.wasm internal/policies/custom/modules/driver/driver.wasm

# An archive for every system, with SHA256SUMS, in DIST. The same commit and the same Go give the same bytes.
release:
	@rm -rf out/release $(DIST)
	@mkdir -p $(DIST)
	@set -e; for platform in $(PLATFORMS); do \
	  export CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
	  $(GO) build -trimpath -buildvcs=false -ldflags '-s -w $(LDFLAGS)' $(OUTLINED:%=-gcflags=%/...=-l) \
	    -o out/release/$${GOOS}_$$GOARCH/cachesim$$($(GO) env GOEXE) ./cmd/cachesim; \
	done
	@version=$$($(GO) run -buildvcs=false -ldflags '$(LDFLAGS)' ./cmd/cachesim version | cut -d ' ' -f 3); \
	$(GO) run -C tools -modfile=go.mod ./release -version "$$version" -programs $(CURDIR)/out/release \
	  -o $(abspath $(DIST)) -time "$$(git log -1 --format=%ct)" $(CURDIR)/README.md $(CURDIR)/LICENSE

fuzz: properties fuzz-targets

# Every fuzz target for FUZZTIME, each package built once. An input that reaches new code is kept as it is: to make each
# smaller takes a minute, in which nothing else is tried, and FuzzParquet came to 5 inputs in half a minute. What takes
# more memory than FUZZMEMORY, in KiB of addresses, fails. What long runs found is in testdata/fuzz: every test tries
# it.
# An interrupt ends each target, not -test.fuzztime: when that time is over, Go now and then takes its own deadline for
# a failure ("context deadline exceeded", golang.org/issue/75804), however fast the target is.
fuzz-targets:
	@mkdir -p out
	@set -e; cache=$$($(GO) env GOCACHE)/fuzz/cachesim; \
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' cmd internal | xargs -n 1 dirname | sort -u); do \
	  $(GO) test -c -fuzz=. -o out/fuzz.test ./$$dir; \
	  for target in $$(out/fuzz.test -test.list '^Fuzz'); do \
	    echo "$$dir $$target"; \
	    (cd $$dir; ulimit -v $(FUZZMEMORY); export GOMEMLIMIT=1GiB; \
	      timeout --foreground --preserve-status --signal=INT --kill-after=60s $(FUZZTIME) $(CURDIR)/out/fuzz.test \
	        -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzzminimizetime 1x -test.fuzzcachedir $$cache/$$dir); \
	  done; \
	done

# Changes one operator, loop statement or call at a time, and prints those changes that no test notices. All packages
# take days: name one with PACKAGES=./internal/oracle, and draw some of its changes with SAMPLE=100.
mutants:
	@mkdir -p out
	$(GO) build -C tools -modfile=go.mod -o $(CURDIR)/out/mutants ./mutants
	out/mutants -sample $(SAMPLE) -tests '$(TESTS)' $(PACKAGES)

# Which experiments notice a program with a fault, by their quick versions: an hour for all faults, FAULTS=a,b for some.
# docs/mutants.tsv has the rows of those. OF=hlem-fig1,rac runs those experiments alone whose names begin so, for no
# row.
mutants-claims:
	@mkdir -p out
	$(GO) build -C tools -modfile=go.mod -o $(CURDIR)/out/claimmutants ./claimmutants
	out/claimmutants -only '$(FAULTS)' $(if $(OF),-experiments '$(OF)',-table docs/mutants.tsv)

# Runs the newest releases of other programs on the requests that ours replay, and writes docs/conformance.md: some of
# them with PROGRAMS="libcachesim caffeine". What cannot be installed is skipped.
conformance: build
	@mkdir -p out
	$(GO) build -C tools -modfile=go.mod -o $(CURDIR)/out/conformance-tool ./conformance
	out/conformance-tool $(PROGRAMS)

# A few points of each on generated traces, in minutes. It writes nothing.
conformance-brief: build
	@mkdir -p out
	$(GO) build -C tools -modfile=go.mod -o $(CURDIR)/out/conformance-tool ./conformance
	out/conformance-tool -brief $(PROGRAMS)

# Runs experiments in full and writes what their claims came to into docs/verdicts.tsv; all of them take hours:
# make verdicts EXPERIMENTS="rac-fig3 laru-fig4". What the claims compared goes into their pins; WHY says why some move.
verdicts: build
	@mkdir -p out
	$(GO) build -C tools -modfile=go.mod -o $(CURDIR)/out/verdicts-tool ./verdicts
	out/verdicts-tool -program $(BIN) $(if $(WHY),-why '$(WHY)') $(EXPERIMENTS)
	UPDATE=1 $(GO) test ./configs -run Packed

# Pins what the claims of the quick versions compare, some minutes for all: make pins EXPERIMENTS=rac-fig3 WHY='...'.
pins: build
	$(BIN) reproduce $(EXPERIMENTS) --quick --quiet -o out/pins --pin configs $(if $(WHY),--why '$(WHY)')
	UPDATE=1 $(GO) test ./configs -run Packed

# Writes pages about the commands. The program that people get does without what it needs.
GENDOCS = $(GO) run -tags gendocs -ldflags '$(LDFLAGS)' ./cmd/cachesim gendocs

# The command reference and the lists of policies and formats, made from the program itself.
docs:
	UPDATE=1 go test ./configs -run Packed
	$(MAKE) build
	UPDATE=1 go test ./internal/traces/read/formats -run Docs
	UPDATE=1 go test ./internal/experiment -run SchemaIs
	$(GENDOCS) docs/commands
	$(BIN) policies --format markdown > docs/commands/list-of-policies.md
	$(BIN) formats --format markdown > docs/commands/list-of-formats.md
	$(BIN) predictors --format markdown > docs/commands/list-of-predictors.md
	$(BIN) rules --format markdown > docs/commands/list-of-rules.md
	$(BIN) retrievers --format markdown > docs/commands/list-of-retrievers.md
	$(BIN) prefetchers --format markdown > docs/commands/list-of-prefetchers.md
	$(BIN) caches --format markdown > docs/commands/list-of-caches.md
	$(BIN) models --format markdown > docs/commands/list-of-models.md
	$(BIN) metrics --format markdown > docs/commands/list-of-metrics.md
	$(BIN) allocators --format markdown > docs/commands/list-of-allocators.md
	$(BIN) routers --format markdown > docs/commands/list-of-routers.md
	$(BIN) admissions --format markdown > docs/commands/list-of-admissions.md
	$(BIN) kv --format markdown > docs/commands/list-of-language-models.md
	$(BIN) reproduce --scorecard all --format markdown > docs/scorecards.md
	$(GO) -C tools run ./api -dir .. . ./policytest > docs/api.txt

# The documentation as a site with search in out/site; python3 -m http.server -d out/site shows it. A dead link fails
# the build, and the same commit gives the same bytes.
site: build
	python3 -m venv out/site-tools
	out/site-tools/bin/pip install --quiet -r packaging/site/requirements.txt
	$(GO) -C tools run ./site -dir $(CURDIR) -program $(CURDIR)/$(BIN) -o $(CURDIR)/out/pages
	rm -rf out/site
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) NO_MKDOCS_2_WARNING=1 out/site-tools/bin/mkdocs --quiet build --strict \
	  -f out/pages/mkdocs.yml -d $(CURDIR)/out/site

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/cachesim
	$(GENDOCS) --man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(BIN) completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/cachesim
	$(BIN) completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_cachesim
	$(BIN) completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/cachesim.fish

clean:
	rm -rf bin out $(DIST)
