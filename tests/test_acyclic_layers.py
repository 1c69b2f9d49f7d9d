"""The contract that `make lint` holds the modules to finds circles."""

from __future__ import annotations

from itertools import pairwise

import grimp

from tests.support.acyclic_layers import module_circle


def graph_of(imports: list[tuple[str, str]]) -> grimp.ImportGraph:
    graph = grimp.ImportGraph()
    for importer, imported in imports:
        graph.add_import(importer=importer, imported=imported)
    return graph


def test_a_circle_is_found_in_the_direction_of_its_imports() -> None:
    imports = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]
    circle = module_circle(graph_of(imports))
    assert set(circle) == {"b", "c", "d"}
    assert circle[0] == circle[-1]
    assert set(pairwise(circle)) <= set(imports)


def test_two_ways_to_a_module_are_no_circle() -> None:
    assert module_circle(graph_of([("a", "b"), ("b", "c"), ("a", "c")])) == []
