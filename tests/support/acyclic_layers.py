"""A contract of import-linter, for `make lint`: layers, and no circle of modules inside a layer either."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from grimp import ImportGraph
from importlinter import ContractCheck, output
from importlinter.contracts.layers import LayersContract


class AcyclicLayersContract(LayersContract):
    """Layers whose modules do not import themselves by way of others, be it where they are used."""

    type_name = "acyclic_layers"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check the layers, then the modules; both without the ignored imports."""
        check = super().check(graph, verbose)  # which takes these out of the graph
        check.metadata["circle"] = module_circle(graph)
        check.kept = check.kept and not check.metadata["circle"]
        return check

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports that go upwards, and the first circle."""
        super().render_broken_contract(check)
        if circle := check.metadata["circle"]:
            output.print_error(f"Modules import each other: {' -> '.join(circle)}")


def module_circle(graph: ImportGraph) -> list[str]:
    """Return modules that each import the next, the first again at the end; empty without a circle."""
    imported = {module: graph.find_modules_directly_imported_by(module) for module in sorted(graph.modules)}
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle[::-1]
    return []
