"""The registry of functions of higher packages, by their import paths."""

import ast
from pathlib import Path

from tfvis_nb.core import registry


def test_type_checkers_see_the_same_paths() -> None:
    tree = ast.parse(Path(registry.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    typed = {name.name: str(node.module) for node in imports for name in node.names}
    assert typed == {name: f"tfvis_nb.{module}" for name, module in registry.MODULES.items()}


def test_paths_lead_to_functions_and_classes() -> None:
    for name, module in registry.MODULES.items():
        function = getattr(registry, name)
        assert function.__module__ == f"tfvis_nb.{module}"
        assert function.__name__ == name
