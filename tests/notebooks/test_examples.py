"""The notebooks of the project run from beginning to end."""

from pathlib import Path

import pytest

from tests.support.examples import sample

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = {path.stem for path in FOLDER.glob("*.ipynb")}
TAKE_LONG = {"distributed", "monitor", "tuning"}

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize("name", sample(sorted(NOTEBOOKS), NOTEBOOKS - TAKE_LONG))
def test_every_cell_runs(name: str) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert any(cell.cell_type == "code" for cell in notebook.cells)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": FOLDER}}).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
