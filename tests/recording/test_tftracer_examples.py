"""The examples of tftracer and tfvis, with another import, model and size."""

import shutil
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.recording import test_tftracer_scripts as scripts
from tests.support.recorded_sessions import runs_of
from tests.support.with_tensorflow import run

pytestmark = pytest.mark.tensorflow

RUNS = scripts.RUNS

# Two stand-ins: Horovod without a network, and who presses Ctrl-C once `join` waits.
PROLOGUE = f"""{scripts.PROLOGUE}
import signal, sys, time, types, webbrowser
import tfvis_nb
from tfvis_nb import Timeline, TracingServer

webbrowser.open_new = lambda page: None
estimator.evaluate = estimator.train

rank = 0
hvd = types.ModuleType("horovod.tensorflow")
hvd.init = lambda: None
hvd.rank = hvd.local_rank = lambda: rank
hvd.BroadcastGlobalVariablesHook = lambda root: tf.train.SessionRunHook()
hvd.DistributedOptimizer = lambda optimizer: optimizer

def train(hooks):
    loss = tf.reduce_sum(tf.square(tf.get_variable("x", [64, 64])))
    tf.train.get_or_create_global_step()
    optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.01, 0.01))
    train_op = optimizer.minimize(loss, name="train")
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    with tf.train.MonitoredTrainingSession(hooks=hooks, config=config) as sess:
        for _ in range({RUNS}):
            sess.run(train_op)

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)

def joined(server):
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    server.join()
    assert time.monotonic() - began > 0.1, "join() did not wait"
"""

EXAMPLES = {
    "estimator": """
tracing_server = TracingServer()
estimator.train(input_fn, hooks=[tracing_server.hook])
estimator.evaluate(input_fn, hooks=[tracing_server.hook])
tracing_server.save_session("session.pickle")
joined(tracing_server)
""",
    "options": """
tracing_server = TracingServer(
    server_ip="0.0.0.0", server_port=9999, keep_traces=5, start_web_server_on_start=True
)
estimator.train(input_fn, hooks=[tracing_server.hook])
estimator.evaluate(input_fn, hooks=[tracing_server.hook])
tracing_server.save_session("session.pickle")
joined(tracing_server)
""",
    "monitored training session": """
tracing_server = TracingServer()
train([tracing_server.hook])
tracing_server.save_session("session.pickle")
joined(tracing_server)
""",
    "load session": """
server = TracingServer()
server.load_session("../estimator/session.pickle")
joined(server)
assert set(server.session.signatures["runs"]) >= {2 * RUNS}
server.save_session("session.pickle")
""".replace("RUNS", str(RUNS)),
    "horovod": """
hvd.init()
for rank in (1, 0):
    tf.reset_default_graph()
    hooks = [hvd.BroadcastGlobalVariablesHook(0)]
    if hvd.rank() == 0:
        tracing_server = TracingServer()
        hooks.append(tracing_server.hook)
    train(hooks)
    if hvd.rank() == 0:
        tracing_server.save_session("session.pickle")
        joined(tracing_server)
""",
    "horovod, all ranks": """
hvd.init()
for rank in (0, 1):
    tf.reset_default_graph()
    tracing_server = TracingServer(
        server_port=9999 + hvd.local_rank(), is_horovod=True, path=f"rank{rank}.tfvis"
    )
    train([hvd.BroadcastGlobalVariablesHook(0), tracing_server.hook])
    tracing_server.save_session("session-{}.pickle".format(hvd.rank()))
    joined(tracing_server)
    tracing_server.close()
""",
    "timeline": """
train_op = model()
with tf.train.MonitoredTrainingSession() as sess:
    with Timeline() as timeline:
        sess.run(train_op, **timeline.kwargs)
timeline.to_pickle("step.pickle")
timeline = Timeline.from_pickle("step.pickle")
timeline.visualize("step.html")
webbrowser.open_new("step.html")
""",
    "tfvis": """
Timeline.from_pickle("example.pickle").visualize("step.html")
""",
    # Last: it changes every session of the process.
    "monkey patching": """
tracing_server = tfvis_nb.hook_inject()
estimator.train(input_fn, hooks=[])
estimator.evaluate(input_fn, hooks=[])
tracing_server.save_session("session.pickle")
""",
}

TRAINED = {"monitored training session": 1, "horovod": 1, "horovod, all ranks": 1}
"""How often an example runs the training, if not twice."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each example ran, in a folder of its name."""
    folder = tmp_path_factory.mktemp("examples")
    script = scripts.in_folders(folder, PROLOGUE, EXAMPLES)
    shutil.copy(DATA / "pickle_tf221.pickle", folder / "tfvis" / "example.pickle")
    run("-c", script, folder=folder)
    return folder


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example(name: str, ran: Path) -> None:
    if name in ("timeline", "tfvis"):
        assert 'id="tfvis-drawn"' in (ran / name / "step.html").read_text()
        return
    saved = sorted((ran / name).glob("session*.pickle"))
    assert len(saved) == (2 if name == "horovod, all ranks" else 1)
    for file in saved:
        with tv.open_session(file) as session:
            assert runs_of(session)["train"] == RUNS * TRAINED.get(name, 2)
            assert session.processes["end"].notna().all()
