"""The notebook cell that runs, as far as front ends identify it."""

from typing import Any


def cell_id(shell: Any) -> str | None:
    """Return the id of the running cell, or None if the front end sends none."""
    cell = (_request(shell).get("metadata") or {}).get("cellId")
    return cell if isinstance(cell, str) else None


def run_id(shell: Any) -> str | None:
    """Return the id of this run of the cell: that of the message that requested it."""
    message = (_request(shell).get("header") or {}).get("msg_id")
    return message if isinstance(message, str) else None


def _request(shell: Any) -> dict[str, Any]:
    return (shell.get_parent() if hasattr(shell, "get_parent") else None) or {}
