"""Find the calls of a module that create, replace or delete files."""

import ast
from collections.abc import Iterator

_ANY = {
    *("write_text", "write_bytes", "unlink", "rmdir", "mkdir", "touch", "chmod", "fchmod", "symlink_to"),
    *("hardlink_to", "rmtree", "makedirs", "removedirs", "symlink", "mkfifo", "mkstemp", "mkdtemp"),
    *("copyfile", "copy2", "copytree", "copymode", "move", "pwrite", "truncate", "write_table", "savefig"),
    *("ParquetWriter", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "tofile"),
}
_OF_MODULE = {"os": {"remove", "link", "rename", "replace"}, "shutil": {"copy"}}
_SAFE = {"whole", "TemporaryDirectory"}
_MODE = frozenset("rwaxbt+")


def changing_calls(tree: ast.AST, *, safe: bool = False) -> Iterator[str]:
    """Yield the calls that are not within ``with whole(...)`` or ``with TemporaryDirectory(...)``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.With) and any(_name(item.context_expr) in _SAFE for item in node.items):
            # The first of several contexts is not within the others, but neither changes a user's file.
            yield from changing_calls(ast.Module(node.body, []), safe=True)
            continue
        if isinstance(node, ast.Call) and not safe and _changes(node):
            yield f"{node.lineno}: {ast.unparse(node)}"
        inside = safe and not isinstance(node, (ast.FunctionDef, ast.ClassDef))
        yield from changing_calls(node, safe=inside)


def _name(call: ast.AST) -> str:
    function = call.func if isinstance(call, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def _changes(call: ast.Call) -> bool:
    name = _name(call)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    module = owner.id if isinstance(owner, ast.Name) else ""
    if name in _ANY or name in _OF_MODULE.get(module, ()):
        return True
    if name == "open" and module == "os":
        return "O_CREAT" in ast.unparse(call)
    if name in ("open", "fdopen"):
        given = [*call.args[:2], *(word.value for word in call.keywords if word.arg == "mode")]
        modes = [each.value for each in given if isinstance(each, ast.Constant)]
        return any(isinstance(m, str) and {*m} <= _MODE and {*m} & {*"wax+"} for m in modes)
    if name in ("rename", "replace") and owner is not None:
        # Of a path: those of pandas take keywords or texts, that of a text takes two.
        return len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Constant)
    return name == "connect" and module == "sqlite3" and ":memory:" not in ast.unparse(call)
