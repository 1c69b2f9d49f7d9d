"""Which cell of which notebook runs, as far as front ends tell."""

import hashlib
import os
from pathlib import Path
from typing import Any

from tfvis_nb.run_history.summary import LONGEST_TEXT, Cell


def notebook_of(shell: Any) -> str:
    """Return the path of the notebook whose kernel this is, or the current folder where it is not known.

    VS Code puts the path into a variable of the user's, Jupyter Server into the environment.
    """
    path = shell.user_ns.get("__vsc_ipynb_file__")
    found = path if isinstance(path, str) else os.environ.get("JPY_SESSION_NAME") or str(Path.cwd())
    return found[-LONGEST_TEXT:]


def cell_id(shell: Any) -> str | None:
    """Return the notebook's id of the cell that runs, or None where a front end sends none."""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    found = (parent.get("metadata") or {}).get("cellId")
    return found if isinstance(found, str) else None


def running_cell(shell: Any, code: str, options: str) -> Cell:
    """Identify the cell that runs: by its id, or by its code where it has none."""
    digest = hashlib.sha256(code.encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return Cell(notebook_of(shell), (cell_id(shell) or f"code {digest}")[:LONGEST_TEXT], digest, options)
