# Everything that a developer or CI runs. Go and a POSIX shell are all that is
# needed; a tool is fetched by `go run` at the version that is pinned here, and
# is no dependency of the module.

GOLANGCI_LINT_VERSION := v2.15.0

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# How long each fuzz target runs.
FUZZTIME ?= 30s
# Which benchmarks run, and how often each (for benchstat).
BENCH    ?= .
COUNT    ?= 1
# What is passed on to go test, for instance TESTFLAGS='-run Contract -v'.
TESTFLAGS ?=

.PHONY: build demo test race lint fuzz bench

build: ## bin/pleat, with its version in it
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/pleat ./cmd/pleat

demo: ## a long conversation before a scripted upstream, with no network
	go run ./cmd/pleat demo

test: ## all tests
	go test $(TESTFLAGS) ./...

race: ## all tests, with the race detector
	go test -race $(TESTFLAGS) ./...

lint: ## golangci-lint, as .golangci.yml says
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION) run

fuzz: ## every fuzz target for FUZZTIME, one after the other
	@set -e; for package in $$(go list ./...); do \
		tests=$$(go test -list '^Fuzz' $$package); \
		for target in $$(echo "$$tests" | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

bench: ## all benchmarks
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...
