"""The notebooks of the project run from beginning to end."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    assert any(cell.cell_type == "code" for cell in notebook.cells)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": path.parent}}).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
