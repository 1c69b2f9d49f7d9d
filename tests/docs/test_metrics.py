"""docs/metrics.md says of every figure what the analyses and the dashboard say."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

from tfvis_nb import analysis
from tfvis_nb.analysis.metrics import MODULES, definitions

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))
NAMES = [
    module.name.removeprefix(f"{analysis.__name__}.")
    for module in pkgutil.walk_packages(analysis.__path__, f"{analysis.__name__}.")
]
WITH_LIMITS = [
    *(name for name in NAMES if name.startswith("findings.") and name != "findings.looked_for"),
    "steps.slow_steps",
]
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def test_every_module_with_figures_is_one_of_the_analyses() -> None:
    modules = {name: importlib.import_module(f"{analysis.__name__}.{name}") for name in NAMES}
    assert {name for name, module in modules.items() if hasattr(module, "FIGURES")} == set(MODULES.values())


def test_every_analysis_has_a_section() -> None:
    assert set(SECTIONS) == set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_the_figures_of_a_section(module: str) -> None:
    rows = ROW.findall(SECTIONS[module])
    assert rows == [(name, text.replace("|", r"\|")) for name, text in definitions(module).items()]
    assert re.search(r"It cannot say:\n\n\* ", SECTIONS[module])
    assert f"`{module}." in SECTIONS[module]


_PARAMETER = {"trace.events": "events", "trace.arrivals": "arrived"}
"""What a parameter is called that takes a table of a trace."""


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{analysis.__name__}.{MODULES[name]}")


def _function(called: str) -> inspect.Signature:
    module, _, name = called.partition(".")
    return inspect.signature(getattr(_module(module), name))


@pytest.mark.parametrize("module", MODULES)
def test_the_functions_of_a_section_are_called_so(module: str) -> None:
    introduction = SECTIONS[module].partition("| figure |")[0].replace("\n", " ")
    calls = re.findall(rf"`({module}\.\w+)\(([^)]*)\)", introduction)
    assert calls
    for called, given in calls:
        parameters = list(_function(called).parameters)
        for place, name in enumerate(given.split(", ")):
            assert parameters[place] == _PARAMETER.get(name, name.partition("=")[0]), called


def test_functions_of_other_names_or_of_something_else_than_a_trace_are_listed() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `tfvis_nb.analysis.NAME`"))
    modules = {name: _module(name) for name in MODULES}
    other = {name for name, module in modules.items() if not hasattr(module, name)}
    listed = re.findall(r"`(\w+)\.(\w+)`", row.partition("Other names: ")[2])
    assert {name for name, _ in listed} == other
    for name, function in listed:
        assert next(iter(_function(f"{name}.{function}").parameters)) == "trace"
    first = {name: next(iter(_function(f"{name}.{name}").parameters)) for name in set(MODULES) - other}
    of_events = re.findall(
        r"`(\w+)`", row.partition("takes a trace. ")[2].partition(" take `trace.events`")[0]
    )
    assert set(of_events) == {name for name, parameter in first.items() if parameter == "events"}
    assert {name for name, parameter in first.items() if parameter not in ("trace", "events")} == {"compare"}


@pytest.mark.parametrize("module", MODULES)
def test_a_definition_is_a_sentence_with_its_unit(module: str) -> None:
    for name, text in definitions(module).items():
        assert text.endswith("."), name
        assert "\n" not in text, name
        if name.endswith("_ns"):
            assert re.search(r"\bns\b|nanoseconds|_ns\b", text), name


def test_the_limits_of_findings() -> None:
    limits = {
        f"{name}.{limit}": value
        for name in WITH_LIMITS
        for limit, value in vars(importlib.import_module(f"{analysis.__name__}.{name}")).items()
        if re.fullmatch("[A-Z_]+", limit) and limit[0] != "_" and type(value) in (int, float)
    }
    section = PAGE.partition("## The limits of findings")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)` \| ([\d.]+) \| .+ \|$", section, re.MULTILINE)
    assert {name: float(value) for name, value in rows} == limits
    assert len(rows) == len(limits)
