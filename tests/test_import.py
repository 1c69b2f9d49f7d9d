"""What importing costs: no TensorFlow, JAX or library of the widget's, until they are used."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.session_files import filled

HEAVY = {"tensorflow", "jax", "bokeh", "anywidget", "ipywidgets", "IPython", "mcp", "pydantic", "duckdb"}

LOADED = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


@cache
def modules_after(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_import_loads_nothing_heavy() -> None:
    loaded = modules_after("import tfvis_nb\ntfvis_nb.analysis.memory_peaks")
    assert "tfvis_nb" in loaded
    assert loaded & HEAVY == set()


def test_listed_names_are_public() -> None:
    assert dir(tv) == sorted(tv.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("unwanted", ["tensorflow", "jax", "bokeh"])
def test_loading_the_extension_loads_no(unwanted: str) -> None:
    loaded = modules_after(
        "from IPython.testing.globalipapp import start_ipython\n"
        "start_ipython().run_line_magic('load_ext', 'tfvis_nb')"
    )
    assert {"tfvis_nb", "IPython"} <= loaded
    assert unwanted not in loaded


READERS = [
    ("tv.read_trace(data / 'local_mlp_step1.pb').edges", HEAVY),
    ("tv.Timeline.from_pickle(data / 'pickle_tf221.pickle').visualize()", {"tensorflow", "jax"}),
    ("with tv.open_session(folder / 'a.tfvis') as session: session.signatures; session.read(1)", HEAVY),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("code", "unwanted"), READERS)
def test_reading_loads_nothing_heavy(code: str, unwanted: set[str], tmp_path: Path) -> None:
    filled(tmp_path / "a.tfvis")
    names = f"data, folder = map(Path, {(str(DATA), str(tmp_path))!r})"
    loaded = modules_after(f"from pathlib import Path; import tfvis_nb as tv; {names}\n{code}")
    assert loaded & unwanted == set()
