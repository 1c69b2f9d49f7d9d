"""A contract of import-linter for `make lint`: layers without circles of modules or of sub-packages."""

from graphlib import CycleError, TopologicalSorter
from typing import Any

from grimp import ImportGraph
from importlinter import ContractCheck, fields, output
from importlinter.contracts.layers import LayersContract


class AcyclicLayersContract(LayersContract):
    """Layers without circles of modules; those of `acyclic` have none of sub-packages either."""

    type_name = "acyclic_layers"
    acyclic: Any = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check layers, modules and sub-packages, without the ignored imports."""
        check = super().check(graph, verbose)  # which takes these out of the graph
        modules = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
        packages = [children_imports(graph, package) for package in self.acyclic]
        check.metadata["circle"] = next(filter(None, map(circle_of, [modules, *packages])), [])
        check.kept = check.kept and not check.metadata["circle"]
        return check

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports that go upwards, and the first circle."""
        super().render_broken_contract(check)
        if circle := check.metadata["circle"]:
            output.print_error(f"These import each other: {' -> '.join(circle)}")


def children_imports(graph: ImportGraph, package: str) -> dict[str, set[str]]:
    """Return which other children of a package each child imports, with all that lies within them."""

    def child(module: str) -> str:
        return ".".join(module.split(".")[: package.count(".") + 2])

    imported: dict[str, set[str]] = {name: set() for name in graph.find_children(package)}
    for module in graph.find_descendants(package):
        targets = map(child, graph.find_modules_directly_imported_by(module))
        imported[child(module)] |= {name for name in targets if name in imported and name != child(module)}
    return imported


def circle_of(imports: dict[str, set[str]]) -> list[str]:
    """Return names that each import the next, the first again at the end; empty without a circle."""
    try:
        TopologicalSorter({name: sorted(imports[name]) for name in sorted(imports)}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle[::-1]
    return []
