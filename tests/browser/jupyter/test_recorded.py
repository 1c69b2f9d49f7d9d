"""`%%trace` in a real JupyterLab, around real sessions and Keras."""

import pytest
from playwright.sync_api import expect

from tests.browser.notebook import OpenNotebook

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


COUNT = """
from tfvis_nb import TimelineWidget
import ipywidgets.widgets.widget as w
print(sum(isinstance(each, TimelineWidget) for each in w._instances.values()))
"""


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
    for _ in range(2):
        book.run(3)
    book.timeline(3)
    assert book.ask(COUNT) == "4"
    expect(book.timelines(3)).to_have_count(1)


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
