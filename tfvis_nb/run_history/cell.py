"""Identify the running cell and its notebook, as far as front ends allow."""

import hashlib
import os
from pathlib import Path
from typing import Any

from tfvis_nb.core.running_cell import cell_id
from tfvis_nb.run_history.summary import LONGEST_TEXT, Cell


def notebook_of(shell: Any) -> str:
    """Return the path of this kernel's notebook, or the current folder if unknown.

    VS Code puts the path into a user variable, Jupyter Server into the environment.
    """
    path = shell.user_ns.get("__vsc_ipynb_file__")
    found = path if isinstance(path, str) else os.environ.get("JPY_SESSION_NAME") or str(Path.cwd())
    return found[-LONGEST_TEXT:]


def running_cell(shell: Any, code: str, options: str) -> Cell:
    """Identify the running cell by its id, or by its code if it has none."""
    digest = hashlib.sha256(code.encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return Cell(notebook_of(shell), (cell_id(shell) or f"code {digest}")[:LONGEST_TEXT], digest, options)
