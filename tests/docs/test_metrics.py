"""Every metric has a definition, which tooltips and the pages that docs/metrics.md lists show."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from tfvis_nb import analysis
from tfvis_nb.analysis.metrics import MODULES, definitions
from tfvis_nb.fleet import analysis as fleet_analysis

DOCS = Path(__file__).parents[2] / "docs"


def test_every_module_with_definitions_is_one_of_the_analyses() -> None:
    names = [
        module.name.removeprefix(f"{analysis.__name__}.")
        for module in pkgutil.walk_packages(analysis.__path__, f"{analysis.__name__}.")
    ]
    modules = {name: importlib.import_module(f"{analysis.__name__}.{name}") for name in names}
    assert {name for name, module in modules.items() if hasattr(module, "FIGURES")} == set(MODULES.values())


FIGURES = {name: definitions(name) for name in MODULES} | {
    name: importlib.import_module(f"{fleet_analysis.__name__}.{module}").FIGURES
    for name, module in fleet_analysis.MODULES.items()
}


@pytest.mark.parametrize("module", FIGURES)
def test_a_definition_is_a_sentence_with_its_unit(module: str) -> None:
    for name, text in FIGURES[module].items():
        assert text.endswith("."), name
        assert "\n" not in text, name
        if name.endswith("_ns"):
            assert re.search(r"\bns\b|nanoseconds|_ns\b", text), name


@pytest.mark.parametrize("name", FIGURES)
def test_the_index_links_a_metric_to_its_page(name: str) -> None:
    index = (DOCS / "metrics.md").read_text(encoding="utf-8")
    (page,) = re.findall(rf"\]\((metrics/[\w-]+\.md)#{name}\)", index)
    assert f"\n## `{name}`\n" in (DOCS / page).read_text(encoding="utf-8")
