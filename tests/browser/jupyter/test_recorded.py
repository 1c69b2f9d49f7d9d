"""`%%trace` in a real JupyterLab, around real sessions and Keras."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.notebook import OpenNotebook
from tests.browser.timeline import Timeline, choose, expect_choice, press_in_view_menu
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow

LOCAL = """
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
weights = tf.get_variable("weights", [64, 64])
loss = tf.reduce_sum(tf.matmul(weights, weights, name="product"), name="loss")
session = tf.Session()
_ = session.run(tf.global_variables_initializer())
"""

# Two tasks of one process, over the loopback: the smallest cluster whose tensors travel by grpc.
CLUSTER = """
import socket
tf.reset_default_graph()
def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
cluster = tf.train.ClusterSpec({"ps": [f"127.0.0.1:{port()}"], "worker": [f"127.0.0.1:{port()}"]})
servers = [tf.train.Server(cluster, job_name=job, task_index=0) for job in ("ps", "worker")]
with tf.device("/job:ps/task:0"):
    weights = tf.get_variable("weights", [256, 256], use_resource=True)
with tf.device("/job:worker/task:0"):
    loss = tf.reduce_sum(tf.matmul(weights.read_value(), weights.read_value(), name="product"), name="loss")
session = tf.Session(servers[1].target)
_ = session.run(tf.global_variables_initializer())
_ = session.run(loss)
"""


SHOWN = """
from tfvis_nb import TimelineWidget
import ipywidgets.widgets.widget as w
shown = [each for each in w._instances.values() if isinstance(each, TimelineWidget)]
"""
COUNT = f"{SHOWN}\nprint(len(shown))"
GROUPED = f"{SHOWN}\nprint(*(each.group_by for each in shown))"
SELECTED = f"{SHOWN}\nprint(*(name for each in shown for name in sorted(each.selection['name'])))"
HOLD = "import gc, weakref\nheld = weakref.ref(t)"
HELD = "gc.collect()\nprint(held() is not None)"


def click_line(timeline: Timeline, cell: str, *, is_open: bool = False) -> Locator:
    """Open the code of a trace, and click the line of the product; return the line."""
    pane = timeline.root.get_by_role("region", name="Code")
    if is_open:
        expect(pane).to_be_visible()
    else:
        press_in_view_menu(timeline.root, "Code")
    pane.get_by_role("tab", name=cell).click()
    line = pane.get_by_role("option", name="tf.matmul(weights")
    line.click()
    expect(timeline.details.get_by_role("heading", name="events selected")).to_be_visible()
    return line


def test_traced_cells_show_what_ran(notebook: OpenNotebook) -> None:
    # All in one kernel: TensorFlow is slow to import.
    book = notebook(
        [
            LOCAL,
            "%load_ext tfvis_nb",
            "%%trace t\nvalue = session.run(loss)\nvalue * 0 + 42",
            "%%trace\n_ = session.run(loss)",
            CLUSTER,
            "%%trace\n_ = session.run(loss)",
            "%%trace\nsession.run(loss)\n1 / 0",
            "print('must not run')",
            "import tfvis_nb as tv\nw = tv.show_timeline(t)\nw",
        ]
    )
    book.run_all()
    timeline = book.timeline(2)
    timeline.find("op:MatMul")
    expect(timeline.title).to_have_text("product")
    assert "CPU:0" in timeline.expect_fact("Location")
    # The cell's own value is still displayed.
    expect(book.output(2)).to_contain_text("42")
    assert book.ask("print('product' in set(t.events['name']), len(t.steps))") == "True 1"

    # A line of the cell that made the ops selects them in the kernel.
    expect(click_line(timeline, "Cell [1]")).to_have_attribute("title", re.compile(r"^host .*, \d+ events$"))
    book.wait_until(lambda: "loss product" in book.ask(SELECTED))

    # The transfers of a cluster.
    timeline = book.timeline(5)
    timeline.find("op:RecvTensor")
    assert "".join(filter(str.isdigit, timeline.expect_fact("Bytes"))) == str(256 * 256 * 4)
    expect(timeline.details.locator(".route")).to_contain_text("ps")
    expect(timeline.details.locator(".route")).to_contain_text("worker")

    # A cell that fails shows its error, and what ran before.
    expect(book.output(6)).to_contain_text("ZeroDivisionError")
    timeline = book.timeline(6)
    timeline.find("op:MatMul")
    expect(timeline.title).to_have_text("product")
    assert book.output(7).inner_text().strip() == ""

    # A cell that is run again closes its old timeline.
    assert book.ask(COUNT) == "4"
    book.ask(HOLD)
    choose(book.timeline(2).root, "Group lanes", "kind")
    # The view saves changes after a moment; a cell that is run before that comes first.
    book.wait_until(lambda: "kind" in book.ask(GROUPED))
    for _ in range(2):
        book.run(2)
    # It keeps the previous timeline's view.
    expect_choice(book.timeline(2).root, "Group lanes", "kind")
    click_line(book.timeline(2), "Cell [5]", is_open=True)
    book.wait_until(lambda: "product" in book.ask(SELECTED))
    expect(book.timelines(2)).to_have_count(1)
    assert book.ask(COUNT) == "4"
    assert book.ask(HELD) == "False"

    # Timelines of other cells also reopen with their last view.
    book.run(8)
    choose(book.timeline(8).root, "Group lanes", "none")
    book.wait_until(lambda: book.ask("print(w.group_by)") == "none")
    book.run(8)
    expect_choice(book.timeline(8).root, "Group lanes", "none")


KERAS = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
x = np.ones((32, 8), "float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, name="hidden"), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""


@pytest.mark.thorough
def test_a_traced_fit_shows_its_batches(notebook: OpenNotebook) -> None:
    fit = "%%trace t\nmodel.fit(x, x[:, :1], batch_size=8, verbose=0);"
    book = notebook([KERAS, "%load_ext tfvis_nb", fit])
    book.run_all()
    timeline = book.timeline(2)
    timeline.find("hidden op:MatMul")
    expect(timeline.title).to_contain_text("hidden")
    assert "CPU:0" in timeline.expect_fact("Location")
    labels = "print(t.steps['label'][t.steps['step'] >= 0].tolist())"
    assert book.ask(labels) == str([f"train {batch}" for batch in range(4)])


RESTART = """async () => {
    await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart();
}"""


def test_a_cell_remembers_its_last_run_after_a_restart(notebook: OpenNotebook) -> None:
    book = notebook([LOCAL, "%load_ext tfvis_nb", "%%trace t\n_ = session.run(loss)"])
    book.run_all()
    line = book.output(2).get_by_text(Text("run_same_code"))
    expect(line).to_have_count(0)
    book.page.evaluate(RESTART)
    book.run_all()
    expect(line).to_have_count(1)
    assert book.ask("import tfvis_nb as tv\nprint(len(tv.history()))") == "2"
