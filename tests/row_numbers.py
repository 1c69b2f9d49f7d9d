"""Find code that numbers rows by several columns without `tfvis_nb.core.row_numbers.number_rows`.

``python -m tests.row_numbers`` lists the places and fails if there are any: `factorize` of a MultiIndex,
which pandas 2.2 cannot do without rows, and groups that only number their rows.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def main() -> int:
    """Print the places."""
    found = 0
    for path in sorted((_ROOT / "tfvis_nb").rglob("*.py")):
        for line in places(path.read_text("utf-8")):
            print(f"{path.relative_to(_ROOT)}:{line}: number these rows with number_rows")
            found += 1
    print(f"{found} places number rows by several columns on their own")
    return min(found, 1)


def places(source: str) -> list[int]:
    """Return the lines of a module that number rows by several columns."""
    tree = ast.parse(source)
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Module)]
    return sorted({line for scope in scopes for line in _in_scope(scope)})


def _in_scope(scope: ast.AST) -> Iterator[int]:
    values: dict[str, ast.AST] = {}
    uses: dict[str, int] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = node.value
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses[node.id] = uses.get(node.id, 0) + 1
    for node in ast.walk(scope):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("pd"), attr="factorize"), args=[numbered, *_]):
                if _makes(_value(numbered, values), "MultiIndex"):
                    yield node.lineno
            case ast.Call(func=ast.Attribute(value=numbered, attr="factorize")):
                if _makes(_value(numbered, values), "MultiIndex"):
                    yield node.lineno
            case ast.Call(func=ast.Attribute(value=groups, attr="ngroup")):
                only = not isinstance(groups, ast.Name) or uses[groups.id] == 1
                if only and _makes(_value(groups, values), "groupby"):
                    yield node.lineno


def _value(node: ast.AST, values: dict[str, ast.AST]) -> ast.AST:
    return values.get(node.id, node) if isinstance(node, ast.Name) else node


def _makes(node: ast.AST, attribute: str) -> bool:
    """Return whether an expression is a call of, or on, an attribute with this name."""
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute) and node.attr == attribute:
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False


if __name__ == "__main__":
    sys.exit(main())
