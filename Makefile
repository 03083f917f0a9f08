# The targets that people and continuous integration use. `make` alone lists them.

CARGO ?= cargo

.DEFAULT_GOAL := help
.PHONY: help demo test lint fmt bench fixtures docs tools

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: ## serve the built-in clusters on http://localhost:9836/
	$(CARGO) run --release --locked -- demo

test: tools ## what CI runs: formatting, clippy, then every test; installs what tests need from Debian
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) test --locked

lint: ## clippy, and cargo-deny where it is installed
	$(CARGO) clippy --locked --all-targets -- -D warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check bans licenses sources; \
	else echo "lint: cargo-deny is not installed; licences and duplicates were not checked"; fi

fmt: ## format the sources
	$(CARGO) fmt

bench: ## the benchmarks, each against something else in the same run
	$(CARGO) bench --locked

fixtures: ## write the recordings under fixtures/ anew
	$(CARGO) run --quiet --locked --example fixtures

docs: ## write RULES.md and docs/METRICS.md anew from the code
	$(CARGO) run --quiet --locked -- rules --format=markdown > RULES.md.new
	mv RULES.md.new RULES.md
	$(CARGO) run --quiet --locked -- metrics --format=markdown > docs/METRICS.md.new
	mv docs/METRICS.md.new docs/METRICS.md

tools:
	@scripts/test-tools
