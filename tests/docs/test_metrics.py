"""docs/metrics.md says of every figure what the analyses and the dashboard say."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from tfvis_nb import analysis
from tfvis_nb.analysis.metrics import MODULES, definitions
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))
NAMES = [
    module.name.removeprefix(f"{analysis.__name__}.")
    for module in pkgutil.walk_packages(analysis.__path__, f"{analysis.__name__}.")
]
WITH_LIMITS = [
    *(name for name in NAMES if name.startswith("findings.") and name != "findings.looked_for"),
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
    limits["core.thresholds.SLOW_STEP_RATIO"] = SLOW_STEP_RATIO
    section = PAGE.partition("## The limits of findings")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)` \| ([\d.]+) \| .+ \|$", section, re.MULTILINE)
    assert {name: float(value) for name, value in rows} == limits
    assert len(rows) == len(limits)
