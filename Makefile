# Every target installs what it needs by itself; `make help` lists them.
.DEFAULT_GOAL := help
# What is compiled once serves every process after it, and `test` and `demo` start many; some images forbid to keep it.
unexport PYTHONDONTWRITEBYTECODE
SHELL := /bin/sh
BIN := .venv/bin
MEMBERS := $(wildcard shared/*/src services/*/src cli/src tests/fakes/src tests/faults/src benchmarks/src examples/*/src)
PACKAGES := $(shell sed -n 's/^ *"\(brand-engine-[a-z-]*\)",$$/\1/p' pyproject.toml)

.PHONY: help
help: ## Say what there is
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-12s %s\n", $$1, $$2 }'

.PHONY: setup
setup: ## Install what is missing: Debian packages (asks for root), Python packages in .venv
	@deploy/local/setup.sh servers

.PHONY: wheel
wheel: ## Build the client of the APIs as a wheel for other programs: dist/brand_engine_client-*.whl
	@deploy/local/setup.sh python
	@$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w dist shared/client && ls dist/brand_engine_client-*.whl

.PHONY: types
types: ## Write TypeScript types of the APIs: dist/typescript/*.d.ts (needs npm)
	@deploy/local/setup.sh python
	@$(BIN)/python -m client.typescript dist/typescript && ls dist/typescript

.PHONY: demo
demo: ## Turn keywords into articles on this machine, and forget everything at the end (`make run` keeps it); BRAND, KEYWORDS, CORPUS choose, MODEL=local adds a toy model, DEMO_EXIT=1 ends by itself
	@started=$$(date +%s.%N) && deploy/local/setup.sh servers $(if $(filter local,$(MODEL)),&& deploy/local/setup-model.sh )\
		&& DEMO_STARTED=$$started exec setpriv --pdeathsig TERM -- $(BIN)/brandctl demo

.PHONY: run
run: ## Run everything on this machine without containers, go on with the data of the last run; ENV_FILE=.env has the settings
	@deploy/local/setup.sh servers
	@exec setpriv --pdeathsig TERM -- $(BIN)/brandctl run

.PHONY: stop
stop: ## End what `make run` started, and keep its data
	@deploy/local/setup.sh python
	@exec $(BIN)/brandctl stop

.PHONY: backup
backup: ## Copy what `make run` keeps, or else what `make up` keeps, into a new folder: BACKUP=folder
	@: $(or $(BACKUP),$(error Say where it is to go: make backup BACKUP=folder))
	@if [ -e .local/data/begun ]; then deploy/local/setup.sh servers && exec $(BIN)/brandctl backup '$(BACKUP)'; \
		else exec deploy/compose/backup.sh '$(BACKUP)'; fi

.PHONY: restore
restore: ## Bring back a backup, of either kind, where there are no data: BACKUP=folder
	@: $(or $(BACKUP),$(error Say from where: make restore BACKUP=folder))
	@if [ -e '$(BACKUP)/ports.json' ]; then deploy/local/setup.sh servers && exec $(BIN)/brandctl restore '$(BACKUP)'; \
		else exec deploy/compose/restore.sh '$(BACKUP)'; fi

.PHONY: example
example: ## Run two services of somebody else's system on the backbone, kill one of them, and end by itself
	@deploy/local/setup.sh servers
	@exec $(BIN)/python -m shop_demo

# Half as many again as there are processors, and one: tests of servers wait for half of their time.
PYTEST := $(BIN)/python -m pytest -n $$(($$(nproc) * 3 / 2 + 1)) --dist worksteal --durations 20 --durations-min 1

.PHONY: test
test: ## Run the tests, on a private RabbitMQ and a private PostgreSQL, in some minutes; ARGS go to pytest (-n 0: one process)
	@deploy/local/setup.sh servers browser tools
	@$(PYTEST) $(ARGS)

.PHONY: test-all
test-all: ## Run these and the tests marked `extended`, which take long and rarely find what the others do not
	@deploy/local/setup.sh servers browser tools
	@$(PYTEST) -m 'not compose and not real and not slow' $(ARGS)

.PHONY: pictures
pictures: ## Renew the pictures of docs/console.md, of an installation that is started for them (for maintainers)
	@deploy/local/setup.sh servers browser
	@PICTURES=docs/images/console $(BIN)/python -m pytest -n 0 -m slow services/console/tests/whole/test_console_pictures.py $(ARGS)

.PHONY: docs
docs: ## Make a site of the documents, with search, in build/docs/site; every link is followed
	@deploy/local/environment.sh documents && .venv-documents/bin/python deploy/local/documents/build.py

.PHONY: lint
lint: ## Check style, types, import rules and the lock
	@deploy/local/setup.sh python
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict $(MEMBERS) deploy/kubernetes/manifests deploy/reference/reference_pages
	$(BIN)/lint-imports
	@for script in deploy/*/*.sh deploy/*/*/*.sh deploy/kubernetes/validate .ci/run brandctl; do \
		case $$(head -n 1 "$$script") in *bash) bash -n "$$script" ;; *) sh -n "$$script" ;; esac || exit 1; done
	@if grep -nE 'https?://|--(extra-)?index-url|--find-links' requirements.lock deploy/kubernetes/requirements.lock deploy/local/*/requirements.lock; then \
		echo 'requirements.lock must not name addresses: make lock' >&2; exit 1; fi

.PHONY: audit
audit: ## Look the locked packages up in the record of advisories, where there is a network; list what each image has
	@deploy/local/setup.sh python
	@$(BIN)/python deploy/images/audit.py

.PHONY: faults
faults: ## Break brokers, databases and services while work is running; SEED, MINUTES, ONLY choose
	@deploy/local/setup.sh servers
	@$(BIN)/python -m faults $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(ONLY),--only '$(ONLY)') $(ARGS)

.PHONY: bench
bench: ## Measure speed and cost beside other libraries: an hour, or 8 minutes with BENCH=quick; ONLY, SYSTEMS choose, DOCS=1 renews the docs
	@deploy/local/setup.sh servers
	@benchmarks/setup-peers.sh || echo 'The libraries to compare with could not be installed; only ours is measured.' >&2
	@exec $(BIN)/python -m benchmarks $(if $(filter quick,$(BENCH)),,--full) \
		$(if $(ONLY),--only $(ONLY)) $(if $(SYSTEMS),--system $(SYSTEMS)) $(if $(DOCS),--docs) $(ARGS)

.PHONY: soak
soak: ## Work for HOURS (2) as people and operators do, and say whether memory and tables stay flat
	@deploy/local/setup.sh servers
	@exec $(BIN)/python -m benchmarks.soak $(if $(HOURS),--hours $(HOURS)) $(ARGS)

.PHONY: cells
cells: ## Calculate what a million brands need in 1 to 1,000 installations, and what the loss of one moves; DOCS=1 renews docs/scaling.md
	@deploy/local/setup.sh python
	@exec $(BIN)/python -m benchmarks.cells $(if $(DOCS),--docs) $(ARGS)

.PHONY: validate
validate: ## Render the manifests of Kubernetes and check them, offline
	@deploy/kubernetes/validate

.PHONY: up
up: ## Run everything in containers, with traces and dashboards, and wait for it; MINIMAL=1 leaves those two out
	@exec deploy/compose/up.sh

.PHONY: down
down: ## Stop what `make up` started and keep its data; VOLUMES=1 removes them too
	@exec deploy/compose/down.sh

.PHONY: schemas
schemas: ## Renew what is made from code: schemas, AsyncAPI, topology page, reference, manifests, dashboards (for maintainers)
	@deploy/local/setup.sh python
	@$(BIN)/python -m envelope.schemas envelope.brand shared/envelope/schemas
	@$(BIN)/python -m messaging contracts envelope.brand docs --examples envelope.brand.examples
	@$(BIN)/python -m brandctl.reference docs/reference/brandctl.md
	@PYTHONPATH=deploy/reference $(BIN)/python -m reference_pages docs/reference
	@KUBECTL=$$(deploy/kubernetes/install-kubectl.sh) PYTHONPATH=deploy/kubernetes $(BIN)/python -m manifests generate
	@$(BIN)/python deploy/observability/grafana/generate.py

.PHONY: new-service
new-service: ## Make a service with its queue, database, API and tests, deployed everywhere: NAME=billing
	@deploy/local/setup.sh python
	@$(BIN)/python deploy/new_service/new_service.py '$(NAME)'
	@$(MAKE) --no-print-directory schemas

.PHONY: lock
lock: ## Renew requirements.lock (for maintainers; LOCK_ARGS=--upgrade for newer versions)
	@deploy/local/setup.sh python
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --quiet $(LOCK_ARGS) --output-file requirements.lock \
		$(foreach name,$(PACKAGES),--no-emit-package $(name))
