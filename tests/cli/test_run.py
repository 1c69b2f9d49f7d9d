"""``tfvis-nb run``: a script behaves as under Python itself, and is traced."""

import subprocess
import sys
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.cli.command import complaint, tfvis_nb
from tests.support.texts import says
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow

IMPORT = "import tensorflow as tf\n"
WORK = """\
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    session.run(tf.reduce_sum(tf.random.uniform([100, 100]), name="total"))
"""
SCRIPT = f"""
import atexit, os, pickle, sys
os.environ["FROM_THE_SCRIPT"] = "1"
import beside

class Kept: pass

{IMPORT}assert isinstance(pickle.loads(pickle.dumps(Kept())), Kept)
atexit.register(lambda: print("at exit", Kept.__name__))
print(sys.argv, __name__, __file__, __doc__, sys.path[0], beside.NAME, "tfvis_nb.cli" in globals())
{WORK}if "raise" in sys.argv:
    def inner():
        raise ValueError("broken")
    inner()
if "text" in sys.argv:
    sys.exit("a reason")
sys.exit(int(sys.argv[-1]) if sys.argv[-1].isdecimal() else None)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a script is, with a module beside it."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "work.py").write_text(SCRIPT)
    (tmp_path / "scripts" / "beside.py").write_text("import os\nNAME = os.environ['FROM_THE_SCRIPT']\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["--mode", "session", "-o", "x", "raise", "--", "--help"],
        pytest.param(["--", "--help"], marks=pytest.mark.thorough),
        pytest.param(["raise"], marks=pytest.mark.thorough),
        pytest.param(["7"], marks=pytest.mark.thorough),
        pytest.param(["text"], marks=pytest.mark.thorough),
    ],
)
def test_a_script_runs_as_under_python(words: list[str], folder: Path) -> None:
    traced = tfvis_nb("run", "-o", "step.parquet", "scripts/work.py", *words, cwd=folder)
    # What Python itself does with the rest of it needs no TensorFlow, which takes seconds to import.
    text = SCRIPT.replace(IMPORT, "\n").replace(WORK, "\n\n")
    (folder / "scripts" / "work.py").write_text(text)
    plain = subprocess.run(
        [sys.executable, "scripts/work.py", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert traced.returncode == plain.returncode
    assert traced.stdout == plain.stdout
    said = [
        line
        for line in plain.stderr.splitlines()
        if "reason" in line or "work.py" in line or "broken" in line
    ]
    assert [line for line in traced.stderr.splitlines() if line in said] == said
    assert "cli/run.py" not in traced.stderr
    assert f"tfvis-nb: {Text('files_written', files='step.parquet')}\n" in traced.stderr
    trace = tv.read_trace(folder / "step.parquet")
    assert trace.steps["label"].tolist() == ["total"]
    assert "total" in set(trace.events["name"])


@pytest.mark.thorough
def test_an_interrupted_script_writes_all_requested_files(folder: Path) -> None:
    text = SCRIPT.replace("sys.exit(int", "import signal; signal.raise_signal(signal.SIGINT)\nsys.exit(int")
    (folder / "scripts" / "work.py").write_text(text)
    asked = [word for name in ("a.parquet", "a.html", "a.json.gz", "a.pb") for word in ("-o", name)]
    done = tfvis_nb("run", *asked, "scripts/work.py", cwd=folder)
    assert done.returncode == 130
    assert "KeyboardInterrupt" in done.stderr
    assert tv.read_trace(folder / "a.parquet").steps["label"].tolist() == ["total"]
    assert "tfvis-drawn" in (folder / "a.html").read_text(encoding="utf-8")
    for name in ("a.json.gz", "a.pb"):
        assert "total" in set(tv.read_trace(folder / name).events["name"])


@pytest.mark.thorough
def test_eager_code_by_the_profiler(folder: Path) -> None:
    (folder / "eager.py").write_text(
        "import tensorflow as tf\nx = tf.random.uniform([64, 64])\nprint(float(tf.reduce_sum(x @ x)) > 0)\n"
    )
    files = ("-o", "eager.html", "-o", "eager.parquet")
    options = ("--mode", "profiler", "--no-source", "--shapes", "--device-level", "0")
    done = tfvis_nb("run", *options, *files, "eager.py", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "True\n")
    assert (folder / "eager.html").is_file()
    trace = tv.read_trace(folder / "eager.parquet")
    levels = trace.metadata["profiles"].iloc[0]
    assert levels[["host_tracer_level", "device_tracer_level", "python_tracer_level"]].tolist() == [3, 0, 0]
    assert trace.stacks is None
    if sys.platform == "linux":
        lanes = trace.lanes["lane"].tolist()
        assert [lane for lane in lanes if lane.startswith(("python", "tfvis"))][:1] == lanes[:1] == ["python"]


@pytest.mark.thorough
def test_a_script_that_runs_out_of_memory(folder: Path) -> None:
    (folder / "large.py").write_text(f"{IMPORT}tf.ones([1 << 21, 1 << 21])\n")
    ran = tfvis_nb("run", "-o", "step.parquet", "large.py", cwd=folder)
    assert ran.returncode == 1
    assert "ResourceExhaustedError" in ran.stderr
    failed = tv.read_trace(folder / "step.parquet").out_of_memory
    assert failed[["requested_bytes", "line"]].to_numpy().tolist() == [[4 << 42, 2]]


@pytest.mark.thorough
def test_nothing_to_trace(folder: Path) -> None:
    (folder / "none.py").write_text("import sys\nsys.exit(int(sys.argv[1]))\n")
    for script_code, code in (("0", 1), ("5", 5)):
        said = complaint(tfvis_nb("run", "none.py", script_code, cwd=folder), code)
        assert said == f"none.py: {Text('script_without_framework')}"
    assert not (folder / "none.trace.html").exists()


@pytest.mark.thorough
def test_an_import_that_runs_nothing(folder: Path) -> None:
    (folder / "idle.py").write_text("import tensorflow\n")
    done = tfvis_nb("run", "idle.py", cwd=folder)
    assert done.returncode == 1
    assert f"tfvis-nb: idle.py: {Text('nothing_recorded', reason=Text('nothing_ran'))}\n" in done.stderr


@pytest.mark.parametrize(
    ("text", "key", "figures"),
    [("def (", "no_python", {"where": ", line 1"}), (None, "no_such_script", {})],
)
def test_arguments_that_are_no_script(
    text: str | None, key: str, figures: dict[str, str], tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "work.py").write_text(text)
    assert says(complaint(tfvis_nb("run", "work.py", cwd=tmp_path), 1), key, script="work.py", **figures)


def test_an_unwritable_file_is_rejected_before_the_run(folder: Path) -> None:
    said = complaint(tfvis_nb("run", "-o", "/no/such/a.html", "scripts/work.py", cwd=folder), 2)
    assert Text("no_folder_to_write_to", path="/no/such/a.html", folder="/no/such") in said
