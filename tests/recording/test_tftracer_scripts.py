"""Scripts for tftracer, as in its README: only their import is changed."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.support.recorded_sessions import runs_of
from tests.support.with_tensorflow import run

pytestmark = pytest.mark.tensorflow

ROOT = Path(__file__).parents[2]
RUNS = 20


# The examples of tftracer's README with changed imports; code that it omits with dots is added.
# TensorFlow has no Estimator since 2.16: one that trains as that did stands in.
PROLOGUE = f"""
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()

def model():
    tf.train.get_or_create_global_step()
    x = tf.get_variable("x", [64, 64])
    loss = tf.reduce_sum(tf.matmul(x, x, name="square"))
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")

class estimator:
    @staticmethod
    def train(input_fn, hooks):
        with tf.Graph().as_default():
            train_op = model()
            with tf.train.MonitoredTrainingSession(hooks=hooks) as sess:
                for _ in range({RUNS}):
                    sess.run(train_op)

input_fn = None
"""


SNIPPETS = {
    "estimator": """
from tfvis_nb import TracingServer

tracing_server = TracingServer()
estimator.train(input_fn, hooks=[tracing_server.hook])
""",
    "low-level": f"""
from tfvis_nb import TracingServer

train_op = model()
tracing_server = TracingServer()
with tf.train.MonitoredTrainingSession(hooks=[tracing_server.hook]) as sess:
    for _ in range({RUNS}):
        sess.run(train_op)
""",
    "options": """
from tfvis_nb import TracingServer

tracing_server = TracingServer(
    server_ip="localhost",
    server_port=0,
    keep_traces=5,
    start_web_server_on_start=True
)
estimator.train(input_fn, hooks=[tracing_server.hook])
""",
    # Last: it changes every session of the process.
    "existing code": """
import tfvis_nb as tftracer
tracing_server = tftracer.hook_inject()

estimator.train(input_fn, hooks=[])
""",
}


# The requests of a browser at the address in the log.
ASKING = """
import json
from tests.serving.client import Printed, state
signatures = state(Printed(tracing_server.url))["signatures"]
print(json.dumps({each["label"]: each["runs"] for each in signatures}))
"""


def file_in(folder: Path) -> Path:
    (file,) = folder.glob("run-*.tfvis*")
    return file


def in_folders(folder: Path, prologue: str, snippets: Mapping[str, str], behind: Sequence[str] = ()) -> str:
    """Code that runs each snippet, and the code after it, in a new folder of its name."""
    lines = [prologue, "import contextlib, os"]
    for name, snippet in snippets.items():
        (folder / name).mkdir()
        lines += [f"os.chdir({str(folder / name)!r})", "tf.reset_default_graph()", snippet, *behind]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each snippet ran, in a folder of its name. One process ran them: TensorFlow is slow to import."""
    folder = tmp_path_factory.mktemp("snippets")
    asking = [f"    {line}" for line in ASKING.strip().splitlines()]
    asking.insert(0, "with open('answer', 'w') as file, contextlib.redirect_stdout(file):")
    _, said = run("-c", in_folders(folder, PROLOGUE, SNIPPETS, asking), folder=folder)
    (folder / "said").write_text(said)
    return folder


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_of_the_readme(name: str, ran: Path) -> None:
    assert json.loads((ran / name / "answer").read_text())["train"] == RUNS
    with tv.open_session(file_in(ran / name)) as session:
        assert runs_of(session)["train"] == RUNS
        assert session.processes["end"].notna().all()


def test_snippets_say_where_their_monitors_are(ran: Path) -> None:
    said = (ran / "said").read_text()
    monitors = re.findall(r"the monitor of this job is at http://(?:127\.0\.0\.1|localhost):\d+/;", said)
    assert len(monitors) == len(SNIPPETS)
    assert "token=" not in said


def test_a_script_saves_and_another_one_loads(folder: Path, tmp_path: Path) -> None:
    saving = (
        "\ntracing_server.session.trace_next('train')\nestimator.train(input_fn, [tracing_server.hook])\n"
    )
    script = PROLOGUE + SNIPPETS["estimator"] + saving + 'tracing_server.save_session("session.pickle")'
    run("-c", script, folder=tmp_path, cwd=folder)
    file_in(folder).unlink()
    loading = """
from tfvis_nb import TracingServer

tracing_server = TracingServer()
tracing_server.load_session("session.pickle")
"""
    loading += ASKING + "import sys; print('tensorflow' in sys.modules)"
    # In a process that has no TensorFlow.
    done = subprocess.run(
        [sys.executable, "-c", loading], cwd=folder, capture_output=True, text=True, check=True
    )
    state, tensorflow = done.stdout.splitlines()
    assert json.loads(state)["train"] == 2 * RUNS
    assert tensorflow == "False"
    # Loaded traces stay in their file.
    assert [file.name for file in folder.iterdir()] == ["session.pickle"]
    with tv.open_session(folder / "session.pickle") as session:
        assert len(session.traces) == 1
        assert len(session.read(1).events)
