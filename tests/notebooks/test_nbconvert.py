"""The commands of docs/sharing.md for nbconvert, by nbconvert itself."""

import re
import shlex
from contextlib import chdir
from pathlib import Path

import pytest

SHARING = (Path(__file__).parents[2] / "docs" / "sharing.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^jupyter (nbconvert .*?)(?:\s+#.*)?$", SHARING, re.MULTILINE)
PICTURE = '<img alt="Activity of each lane'
VIEW = "application/vnd.jupyter.widget-view+json"
STORED = "nbconvert --to notebook --execute --inplace step.ipynb"
PLAIN = "nbconvert --to html step.ipynb"


def convert(command: str, folder: Path) -> None:
    """Run a command of the page in a folder, in this process: to begin one takes as long as to convert."""
    from nbconvert.nbconvertapp import NbConvertApp

    NbConvertApp.clear_instance()
    with chdir(folder):
        NbConvertApp.launch_instance(shlex.split(command)[1:])


@pytest.fixture
def folder(data: Path, tmp_path: Path) -> Path:
    import nbformat

    path = str(data / "local_mlp_step1.pb")
    source = f"import tfvis_nb as tv\ntv.show_timeline({path!r})"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbformat.write(notebook, tmp_path / "step.ipynb")
    return tmp_path


def page(folder: Path) -> str:
    return (folder / "step.html").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_pages_without_widget_state_have_a_still_picture(folder: Path) -> None:
    to_html, to_notebook, _ = COMMANDS
    convert(to_html, folder)
    assert PICTURE in page(folder)
    assert VIEW not in page(folder)
    convert(to_notebook, folder)
    convert(PLAIN, folder)
    assert PICTURE in page(folder)


@pytest.mark.thorough
def test_pages_that_drop_the_state_have_a_still_picture(folder: Path) -> None:
    convert(STORED, folder)
    convert(PLAIN, folder)
    assert VIEW in page(folder)
    convert(COMMANDS[2], folder)
    assert PICTURE in page(folder)
    assert VIEW not in page(folder)
