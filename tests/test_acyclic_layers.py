"""The contract checked by `make lint` finds import cycles."""

from itertools import pairwise

import grimp

from tests.support.acyclic_layers import children_imports, circle_of


def test_a_circle_is_found_in_the_direction_of_its_imports() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"b"}}
    circle = circle_of(imports)
    assert set(circle) == {"b", "c", "d"}
    assert circle[0] == circle[-1]
    assert all(imported in imports[name] for name, imported in pairwise(circle))


def test_two_ways_to_a_module_are_no_circle() -> None:
    assert circle_of({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_packages_that_import_each_other_are_a_circle() -> None:
    graph = grimp.ImportGraph()
    for module in ("p", "p.a", "p.b", "p.a.one", "p.a.two", "p.b.one", "p.b.two"):
        graph.add_module(module)
    graph.add_import(importer="p.a.one", imported="p.b.one")
    assert circle_of(children_imports(graph, "p")) == []
    graph.add_import(importer="p.b.two", imported="p.a.two")
    assert set(circle_of(children_imports(graph, "p"))) == {"p.a", "p.b"}
