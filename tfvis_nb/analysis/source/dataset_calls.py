"""Calls of methods of datasets in the recorded source: tf.data records no stack of a dataset."""

import ast
import re
from typing import NamedTuple

from tfvis_nb.core.trace import Trace

_MAGIC = re.compile(r"(?m)^([ \t]*)[%!].*")
"""Lines of cells that are not Python."""
_OF_DATASETS = frozenset({"batch", "padded_batch", "prefetch", "interleave", "flat_map", "unbatch"})
"""Methods that few objects except datasets have."""
_DATASET = re.compile(r"(?:.*\.)?(?:data|\w*Dataset)$")


class DatasetCall(NamedTuple):
    """A call of a method whose value is used."""

    line: str
    node: ast.Call
    of_dataset: bool
    """Whether the method certainly belongs to a dataset."""


def method_calls(trace: Trace, method: str) -> list[DatasetCall]:
    """Return the calls of methods of a name in the user's files, apart from functions of modules.

    Calls whose value nobody uses are left out: a method of a dataset returns another one.
    """
    if trace.stacks is None:
        return []
    return [
        call
        for file in trace.stacks.files.to_pylist()
        if file["own"] and file["text"] and not file["edited"]
        for call in _calls(file["name"], file["text"], method)
    ]


def only_call(trace: Trace, method: str) -> str:
    """Return the line of the only call of a dataset's method; "" if others may be meant."""
    calls = method_calls(trace, method)
    return calls[0].line if len(calls) == 1 and calls[0].of_dataset else ""


def _calls(name: str, source: str, method: str) -> list[DatasetCall]:
    try:
        tree = ast.parse(_MAGIC.sub(r"\1pass", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    unused, modules, datasets = set(), set(), set()
    found: list[ast.Call] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            unused.add(node.value)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules |= {(name.asname or name.name).partition(".")[0] for name in node.names}
        elif isinstance(node, ast.Assign) and _DATASET.match(_receiver(node.value)):
            datasets |= {ast.unparse(target) for target in node.targets}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _OF_DATASETS:
                datasets.add(_receiver(node))
            if node.func.attr == method:
                found.append(node)
    return [
        DatasetCall(
            f"{name}:{node.func.end_lineno or node.lineno}",
            node,
            (receiver := _receiver(node)) in datasets or _DATASET.match(receiver) is not None,
        )
        for node in found
        if node not in unused and _root(node.func) not in modules
    ]


def _receiver(node: ast.expr) -> str:
    """Return the object that a chain of calls starts from, as ``data`` in ``data.map(f).batch(2)``."""
    while isinstance(node, ast.Call):
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return ast.unparse(node)


def _root(node: ast.expr) -> str:
    """Return the first name of a dotted one; "" for other expressions."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
