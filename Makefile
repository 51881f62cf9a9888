# Everything a contributor needs. Each target sets itself up in .venv, the demo in the smaller .venv-demo; only Python
# 3.11 or newer, pip and make are needed.
PYTHON ?= python3
RUN := .venv/bin/python
BY_FILE := --dist loadfile --no-loadscope-reorder
# What ran against the clock on a machine that was busy for a moment gets a second attempt, alone.
AGAIN := $(RUN) -m pytest --last-failed --last-failed-no-failures none
# The tests start hundreds of processes: each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: fuzz help demo test realtime quick check style docs man site stories platforms wheel probe-film real-lab kernel-lab bench pythons clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: .venv-demo/ready ## A simulated load test over a 4 Gb switch: recorded, judged, reported (about a minute)
	.venv-demo/bin/sanpath demo

test: style ## Every check, and every test that needs no real time nor minutes; prints what was skipped and why
	@# mypy has one thread: it runs beside the tests.
	@$(RUN) -m mypy & types=$$!; \
	$(RUN) -m pytest -m "computing and not slow" -n logical $(BY_FILE); tests=$$?; \
	wait $$types && exit $$tests

# Slow computations take what those that wait leave of the processors; without a cache, which is the others' now. What
# fails because others take the processors gets its second attempt when nothing else runs.
realtime: .venv/ready ## Tests of real processes, clocks and I/O, and slow ones: with `make test` all there are
	@failed=0; again=0; mkdir -p build; \
	nice -n 19 $(RUN) -m pytest -p no:cacheprovider -m "computing and slow" -n logical $(BY_FILE) >build/slow.txt & slow=$$!; \
	$(RUN) -m pytest -m waiting -n 6 $(BY_FILE) || again=1; \
	wait $$slow || failed=1; cat build/slow.txt; \
	$(RUN) -m pytest -m measuring -n 2 $(BY_FILE) || again=1; \
	$(RUN) -m pytest -m alone || again=1; \
	[ $$again = 0 ] || $(AGAIN) -m "waiting or measuring or alone" || failed=1; \
	exit $$failed

quick: .venv/ready ## In a minute: style, types, and the unit tests of the packages that the branch touches
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(RUN) -m pytest -q -m "computing and not slow" -n logical $(BY_FILE) $$($(RUN) -m tests.touched)

check: style ## Style, types, and stale generated documents
	$(RUN) -m mypy

style: .venv/ready
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	.venv/bin/lint-imports --no-cache
	$(RUN) -m sanpath.docgen --check

docs: .venv/ready ## Write the generated documents: README tables, docs/, rule pages
	$(RUN) -m sanpath.docgen

site: .venv/ready ## The documents as pages with search in build/site, which need no network: open index.html
	$(RUN) packaging/site/build.py build/site

platforms: .venv/ready ## docs/platforms.md: the labelled cases of each platform
	PYTHONPATH=examples/kernel-lab:examples/real-lab $(RUN) -m tests.support.platforms

stories: .venv/ready ## Five published load tests, diagnosed again: their reports anew, and what came of each (a minute)
	$(RUN) examples/stories.py

man: .venv/ready ## Write the manual pages into build/man
	rm -rf build/man
	$(RUN) -m sanpath.docgen.man_pages build/man

wheel: man ## Build the wheel into dist/, with the manual pages
	rm -rf dist
	$(RUN) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

probe-film: .venv/ready ## A recording of the terminal over one probe of the real lab (as real-lab): make probe-film INTO=FOLDER
	$(RUN) examples/probe/film.py "$(or $(INTO),$$(mktemp -d)/probe)"

real-lab: .venv/ready ## Real I/O through a rate-limited switch port (root, fio, nbdkit, snmpd)
	$(RUN) examples/real-lab/lab.py run --case slow-port --folder "$$(mktemp -d)/lab"

kernel-lab: .venv/ready ## Every case of a SAN of real Linux kernels (root, QEMU and more, see its README; 95 minutes)
	$(RUN) examples/kernel-lab/lab.py all --folder "$$(mktemp -d)"

bench: .venv/ready ## What sanpath costs against its peers, into docs/performance.md (20 minutes, best on an idle machine)
	$(RUN) -m tests.benchmarks --write docs/performance.md

fuzz: .venv/ready ## Changed input for every parser, answer and document: make fuzz SECONDS=3600 INPUTS=1000000 (of each)
	$(RUN) -m tests.fuzz --seconds $(or $(SECONDS),60) $(if $(INPUTS),--inputs $(INPUTS))

pythons: ## Unit tests on Python 3.13 and 3.14, in Debian systems made for it (root, mmdebstrap, minutes)
	.ci/pythons trixie:3.13 forky:3.14

clean: ## Remove what the targets made
	rm -rf .venv .venv-demo build dist .pytest_cache .mypy_cache .ruff_cache

# Debian's python3 has no ensurepip: then the pip outside installs into the environment.
define ENVIRONMENT
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "sanpath needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(@D) 2>/dev/null || $(PYTHON) -m venv --without-pip $(@D)
endef

.venv/ready: requirements.lock pyproject.toml
	$(ENVIRONMENT)
	$(PYTHON) -m pip --quiet --python $(RUN) install --no-compile --require-hashes --requirement requirements.lock
	$(PYTHON) -m pip --quiet --python $(RUN) install --no-deps --no-build-isolation --editable .
	@touch $@

# What a user installs, with the live view: the versions of the lock without the developers' tools.
.venv-demo/ready: requirements.lock pyproject.toml
	$(ENVIRONMENT)
	packaging/versions requirements.lock >$(@D)/versions.txt
	$(PYTHON) -m pip --quiet --python $(@D)/bin/python install --constraint $(@D)/versions.txt --editable '.[live]'
	@touch $@
