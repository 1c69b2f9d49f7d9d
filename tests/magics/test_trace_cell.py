"""``%%trace`` as a user of IPython meets it."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.magics.conftest import SETUP
from tests.magics.ran import VIEW, Ran
from tests.support.kernels import jupyter_path
from tests.support.texts import says
from tfvis_nb.analysis import why_not
from tfvis_nb.core.options import near
from tfvis_nb.magics.trace_cell import CellFailed
from tfvis_nb.reading.pickles.run_metadata import unpickled
from tfvis_nb.texts import Text, text_of

pytestmark = pytest.mark.tensorflow


def test_the_timeline_is_shown_below_the_cells_own_output(shell: Any) -> None:
    ran = Ran(shell, "%%trace t\nprint('before')\nsession.run(total)")
    assert ran.error is None
    assert "before" in ran.text
    assert "10.0" in ran.text
    assert len(ran.views) == 1
    trace = shell.user_ns["t"]
    assert isinstance(trace, tv.Trace)
    assert "total" in set(trace.events["name"])
    assert tv.last_trace is trace


def test_a_semicolon_silences_the_last_expression(shell: Any) -> None:
    ran = Ran(shell, "%%trace -q t\nsession.run(total); # not shown")
    assert (ran.error, ran.text) == (None, "")
    assert len(shell.user_ns["t"].steps) == 1


def test_quiet_shows_nothing(shell: Any) -> None:
    ran = Ran(shell, "%%trace -q t\n_ = session.run(total)")
    assert (ran.error, ran.text, ran.views) == (None, "", [])
    assert len(shell.user_ns["t"].steps) == 1


def test_cells_may_use_magics_and_shell_commands(shell: Any) -> None:
    ran = Ran(shell, "%%trace -q t\n%time _ = session.run(total)\n!echo from the shell")
    assert ran.error is None
    assert "Wall time" in ran.text
    assert len(shell.user_ns["t"].steps) == 1


def test_files_are_written_by_suffix(shell: Any, tmp_path: Path) -> None:
    ran = Ran(shell, "%%trace -q -o 'a page.html' -o chrome.json -o rows.parquet t\nsession.run(total);")
    assert ran.error is None
    assert "</html>" in (tmp_path / "a page.html").read_text(encoding="utf-8")
    assert '"total"' in (tmp_path / "chrome.json").read_text(encoding="utf-8")
    assert len(tv.read_trace(tmp_path / "rows.parquet").events) == len(shell.user_ns["t"].events)


def test_what_cannot_be_written_after_all_is_one_line(shell: Any, tmp_path: Path) -> None:
    cell = "import pathlib; pathlib.Path('page.html').mkdir()\nsession.run(total);"
    ran = Ran(shell, f"%%trace t -o page.html -o rows.parquet\n{cell}")
    assert ran.error is None
    assert f"%%trace: {Text('folder_in_place_of_file', path='page.html')}\n" in ran.text
    assert "Traceback" not in ran.text
    assert Text("files_written", files="rows.parquet") in ran.text
    assert len(ran.views) == 1
    assert (tmp_path / "rows.parquet").is_file()


def test_run_metadata_is_written_one_file_a_step(shell: Any, tmp_path: Path) -> None:
    ran = Ran(shell, "%%trace -q -o runs.pb t\nsession.run(total)\nsession.run(other);")
    assert Text("files_written", files="runs.step0.pb, runs.step1.pb") in ran.text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.step0.pb", "runs.step1.pb"]
    assert "other" in set(tv.read_trace(tmp_path / "runs.step1.pb").events["name"])
    assert Ran(shell, "%%trace -q -o one.pb\nsession.run(total);").text == ""
    assert "total" in set(tv.read_trace(tmp_path / "one.pb").events["name"])
    Ran(shell, "%%trace -q -o one.pickle -o one.pb t\nsession.run(total);")
    assert (tmp_path / "one.pb").read_bytes() == shell.user_ns["t"].sources[0]
    assert unpickled(tmp_path / "one.pickle") == shell.user_ns["t"].sources[0]


@pytest.mark.parametrize(
    ("line", "key", "figures"),
    [
        ("--levle full", "unknown_argument", {"argument": "--levle", "hint": near("--levle", ["--level"])}),
        ("--levl full", "unknown_argument", {"argument": "--levl", "hint": near("--levl", ["--level"])}),
        ("t and more", "unknown_argument", {"argument": "and", "hint": "."}),
        ("2nd", "no_name", {"name": "2nd"}),
        ("lambda", "no_name", {"name": "lambda"}),
        ("-o page.htm", "unknown_suffix", {"path": "page.htm", "hint": near(".htm", [".html"])}),
        ("-o {missing}.html.zip", "unknown_suffix", {"path": "{missing}.html.zip", "suffix": ".zip"}),
        ("-o nowhere/page.html", "no_folder_to_write_to", {"path": "nowhere/page.html", "folder": "nowhere"}),
        ("-o /proc/page.html", "cannot_write", {"path": "/proc/page.html"}),
    ],
)
def test_mistakes_are_said_before_anything_runs(
    shell: Any, line: str, key: str, figures: dict[str, str]
) -> None:
    ran = Ran(shell, f"%%trace {line}\nran = True")
    assert type(ran.error).__name__ == "UsageError"
    assert says(str(ran.error), key, **figures)
    assert "ran" not in shell.user_ns


@pytest.mark.parametrize(("line", "named"), [("--level ful", "'ful'"), ("-o", "-o"), ("'t", "")])
def test_mistakes_that_a_parser_finds_run_nothing(shell: Any, line: str, named: str) -> None:
    ran = Ran(shell, f"%%trace {line}\nran = True")
    assert type(ran.error).__name__ == "UsageError"
    assert named in str(ran.error)
    assert "ran" not in shell.user_ns


@pytest.mark.parametrize("cell", ["%%trace --help", "%%trace -h\n", "%%trace t --help\nran = True"])
def test_help_runs_nothing(shell: Any, cell: str) -> None:
    ran = Ran(shell, cell)
    assert ran.error is None
    assert "--no-partition-graphs" in ran.text
    assert ".parquet" in ran.text
    assert "ran" not in shell.user_ns
    assert "--no-partition-graphs" in shell.object_inspect("%%trace")["docstring"]


def test_options_reach_the_recorder(shell: Any) -> None:
    assert (
        Ran(shell, "%%trace -q t --no-partition-graphs --level software\nsession.run(total);").error is None
    )
    assert not any(map(len, shell.user_ns["t"].graphs))
    Ran(shell, "%%trace -q t\nsession.run(total);")
    assert all(map(len, shell.user_ns["t"].graphs))


@pytest.mark.parametrize("above", ["", "\n  \n"], ids=["first line", "below blank lines"])
def test_lines_are_those_of_the_cell(shell: Any, above: str) -> None:
    # A sample could be of the line of `run`.
    magic = "%%trace -q --no-sampling t"
    cell = f"{above}{magic}\nwith graph.as_default():\n    x = tf.random.uniform([9])\nsession.run(x);"
    Ran(shell, cell, store_history=True)
    trace = shell.user_ns["t"]
    files = trace.stacks.files.to_pylist()
    name = f"Cell [{shell.execution_count - 1}]"
    (text,) = (file["text"] for file in files if file["name"] == name)
    first, *rest = text.splitlines()[above.count("\n") :]
    assert first.endswith(magic)
    ast.parse(text)  # as tracebacks and inspect do
    assert rest == cell.splitlines()[above.count("\n") + 1 :]
    assert {*trace.source_lines["line"].dropna()} == {above.count("\n") + 3}
    assert not any("ipykernel" in file["name"] or "ipython-input" in file["name"] for file in files)
    Ran(shell, "%%trace -q --no-source t\nsession.run(total);")
    assert shell.user_ns["t"].stacks is None


def test_samples_name_the_line_of_the_cell(shell: Any) -> None:
    cell = "session.run(total)\nimport time; time.sleep(0.3)\nsession.run(total);"
    Ran(shell, f"%%trace -q t\n{cell}", store_history=True)
    lines = shell.user_ns["t"].python_lines
    assert lines[["file", "line"]].values.tolist()[0] == [f"Cell [{shell.execution_count - 1}]", 3]
    Ran(shell, f"%%trace -q --no-sampling t\n{cell}")
    assert why_not(shell.user_ns["t"].python_lines).id == "no_python_samples"


@pytest.mark.parametrize("code", ["1 / 0", "not python at all"])
def test_a_traceback_has_the_lines_of_the_cell(shell: Any, code: str) -> None:
    ran = Ran(shell, f"%%trace -q t\nran = True\n{code}")
    assert re.search(r"line 3|---> 3", re.sub(r"\x1b\[[\d;]*m", "", ran.text))


def test_levels_of_a_profile_reach_the_recorder(shell: Any) -> None:
    cell = "import tensorflow as tf\ndef called_by_the_cell(): tf.matmul(tf.ones((3, 5)), tf.ones((5, 3)))"
    line = "%%trace -q t --python --shapes --device-level 0"
    assert Ran(shell, f"{line}\n{cell}\ncalled_by_the_cell()").error is None
    names = shell.user_ns["t"].events["name"]
    assert names.str.contains("called_by_the_cell").any()
    ran = Ran(shell, "%%trace --device-level 3\nran = True")
    assert type(ran.error).__name__ == "UsageError"


def test_a_cell_in_which_nothing_ran_says_so(shell: Any) -> None:
    ran = Ran(shell, "%%trace t\nran = True")
    assert ran.error is None
    assert Text("nothing_ran") in ran.text
    assert Text("variable_not_set", name="t") in ran.text
    assert shell.user_ns["ran"] is True
    assert ran.views == []


KERAS = """
import keras
import numpy as np
x = np.ones((16, 4), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""


def test_keras_is_traced_batch_by_batch(shell: Any) -> None:
    shell.run_cell(KERAS).raise_error()
    ran = Ran(shell, "%%trace t --steps\nmodel.fit(x, x[:, :1], batch_size=8, verbose=0);")
    assert ran.error is None
    assert len(ran.views) == 1
    trace = shell.user_ns["t"]
    assert trace.steps["label"].tolist() == ["train 0", "train 1"]
    assert trace.title == "2 steps: train"
    assert "Dense" not in ran.text


def test_a_profile_is_written_as_tensorflow_writes_it(shell: Any, tmp_path: Path) -> None:
    ran = Ran(shell, "%%trace t -o eager.xplane.pb\ntf.compat.v2.ones([3]) + 1;")
    assert Text("files_written", files="eager.xplane.pb") in ran.text
    again = tv.read_trace(tmp_path / "eager.xplane.pb")
    assert len(again.events) == len(shell.user_ns["t"].events)
    cell = "session.run(total)\ntf.compat.v2.ones([3]) + 1;"
    Ran(shell, f"%%trace -q -o both.xplane.pb\n{cell}")
    assert {path.name for path in tmp_path.glob("both*")} == {"both.step0.pb", "both.xplane.pb"}


def test_the_mode_is_the_recorders(shell: Any) -> None:
    ran = Ran(shell, "%%trace --mode session\ntf.compat.v2.ones([3]) + 1;")
    assert Text("no_session_ran") in ran.text
    Ran(shell, "%%trace -q t --mode profiler\nsession.run(total);")
    assert shell.user_ns["t"].sources == []
    assert "total" in set(shell.user_ns["t"].events["name"])
    assert "'profile'" in str(Ran(shell, "%%trace --mode profile\n1").error)


@pytest.mark.parametrize("error", ["ZeroDivisionError('mine')", "KeyboardInterrupt"])
def test_a_failing_cell_shows_its_error_once_and_its_trace(shell: Any, error: str) -> None:
    ran = Ran(shell, f"%%trace t\nsession.run(total)\nraise {error}")
    assert isinstance(ran.error, CellFailed)
    assert ran.text.count("Traceback (most recent call last)") == 1
    assert error.partition("(")[0] in str(ran.error)
    assert len(ran.views) == 1
    assert shell.user_ns["t"].steps["label"].tolist() == ["total"]
    said = error.replace("('", ": ").removesuffix("')")
    assert Text("ended_by_error", error=said) in shell.user_ns["t"].notes
    assert Ran(shell, "%%trace -q t\nsession.run(other);").error is None


def test_a_cell_that_runs_out_of_memory_says_why(shell: Any) -> None:
    code = "tf.compat.v2.fill([1 << 42], 1.0)"
    ran = Ran(shell, f"%%trace t\n{code}")
    assert isinstance(ran.error, CellFailed)
    assert ran.text.count("Traceback (most recent call last)") == 1
    assert "ResourceExhaustedError" in ran.text
    assert len(ran.views) == 1
    failed = shell.user_ns["t"].out_of_memory.iloc[0]
    assert (failed["op"], failed["line"], failed["text"]) == ("Fill", 2, code)
    assert says(shell.user_ns["t"].notes[0], "ended_out_of_memory")


def test_cell_whose_error_fails_itself_keeps_its_trace(shell: Any) -> None:
    cell = """%%trace -q t
class E(Exception):
    def fails(self): raise ZeroDivisionError
    __str__ = __repr__ = __bool__ = __len__ = fails
session.run(total)
raise E
"""
    ran = Ran(shell, cell)
    assert isinstance(ran.error, CellFailed)
    assert text_of(ran.error).figures == {"error": "E"}
    assert len(shell.user_ns["t"].steps) == 1


def test_a_cell_that_fails_before_any_run_shows_only_its_error(shell: Any) -> None:
    for code in ("1 / 0", "not python"):
        ran = Ran(shell, f"%%trace t\n{code}")
        assert isinstance(ran.error, CellFailed)
        assert ran.views == []
        assert not says(ran.text, "nothing_recorded")


def test_top_level_await_is_sent_to_the_context_manager(shell: Any) -> None:
    ran = Ran(shell, "%%trace\nimport asyncio\nawait asyncio.sleep(0)")
    assert type(ran.error).__name__ == "UsageError"
    assert str(ran.error) == Text("awaits")
    inside = Ran(
        shell,
        "import asyncio, tfvis_nb\n"
        "with tfvis_nb.trace() as t:\n    await asyncio.sleep(0)\n    _ = session.run(total)",
    )
    assert inside.error is None
    assert len(shell.user_ns["t"].steps) == 1


def test_a_traced_cell_inside_a_trace_is_refused(shell: Any) -> None:
    ran = Ran(
        shell, "import tfvis_nb\nwith tfvis_nb.trace():\n    get_ipython().run_cell_magic('trace', '', '1')"
    )
    assert isinstance(ran.error, RuntimeError)
    assert text_of(ran.error).id == "already_tracing"


def test_unloading_takes_the_magic_out(shell: Any) -> None:
    transformers = len(shell.input_transformers_cleanup)
    shell.run_line_magic("unload_ext", "tfvis_nb")
    assert shell.find_cell_magic("trace") is None
    assert len(shell.input_transformers_cleanup) == transformers - 1
    shell.run_line_magic("load_ext", "tfvis_nb")
    assert shell.find_cell_magic("trace") is not None


def test_run_all_stops_at_a_failing_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    monkeypatch.setenv("JUPYTER_PATH", jupyter_path())
    sources = ["%load_ext tfvis_nb", SETUP, "%%trace t\nsession.run(total)\n1 / 0", "print('went on')"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    client = NotebookClient(notebook, timeout=120, store_widget_state=False)
    with pytest.raises(CellExecutionError):
        client.execute()
    *_, failed, last = notebook.cells
    kinds = [output.output_type for output in failed.outputs]
    assert kinds == ["error", "display_data", "display_data", "error"]
    real, stored, shown, end = failed.outputs
    assert real.ename == "ZeroDivisionError"
    assert f"In[{failed.execution_count}]" in re.sub(r"\x1b\[[\d;]*m", "", "".join(real.traceback))
    assert VIEW in shown.data
    assert "<img" in stored.data["text/html"]
    assert (end.ename, end.traceback) == ("CellFailed", [])
    assert last.outputs == []
