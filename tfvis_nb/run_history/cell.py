"""Identify the running cell and its notebook, as far as front ends allow."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfvis_nb.core.running_cell import cell_id
from tfvis_nb.run_history.dependencies import Value, dependencies, digest

LONGEST_TEXT = 4096
"""Maximum characters of each text."""


@dataclass(frozen=True)
class Cell:
    """A running cell: ``notebook`` and ``cell`` identify it, regardless of its code.

    ``code`` is a digest of its code and of what that depends on, ``options`` those of the recording that
    differ from the defaults.
    """

    notebook: str
    cell: str
    code: str
    options: str


def notebook_of(shell: Any) -> str:
    """Return the path of this kernel's notebook, or the current folder if unknown.

    VS Code puts the path into a user variable, Jupyter Server into the environment.
    """
    path = shell.user_ns.get("__vsc_ipynb_file__")
    name = path if isinstance(path, str) else os.environ.get("JPY_SESSION_NAME") or str(Path.cwd())
    return name[-LONGEST_TEXT:]


def dependencies_of(shell: Any, code: str) -> dict[str, Value]:
    """Return what a cell's code depends on now."""
    return dependencies(shell.transform_cell(code), shell.user_ns)


def running_cell(shell: Any, code: str, options: str, before: dict[str, Value]) -> Cell:
    """Identify the running cell by its id, or by its text if it has none.

    `before` are its dependencies before it ran; they and its text are its code.
    """
    of_text = hashlib.sha256(code.encode("utf-8", "backslashreplace")).hexdigest()[:16]
    both = f"{of_text} {digest(before, dependencies_of(shell, code))}"
    of_code = hashlib.sha256(both.encode("ascii")).hexdigest()[:16]
    return Cell(notebook_of(shell), (cell_id(shell) or f"code {of_text}")[:LONGEST_TEXT], of_code, options)
