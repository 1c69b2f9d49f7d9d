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
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
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


def test_a_traced_cell_shows_what_ran(notebook: OpenNotebook) -> None:
    book = notebook([LOCAL, "%load_ext tfvis_nb", "%%trace t\nvalue = session.run(loss)\nvalue * 0 + 42"])
    book.run_all()
    timeline = book.timeline(2)
    timeline.find("op:MatMul")
    expect(timeline.title).to_have_text("product")
    assert "CPU:0" in timeline.expect_fact("Location")
    # The cell's own value is still displayed.
    expect(book.output(2)).to_contain_text("42")
    assert book.ask("print('product' in set(t.events['name']), len(t.steps))") == "True 1"


KERAS = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
x = np.ones((32, 8), "float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, name="hidden"), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""


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


def test_a_traced_cell_run_again_closes_its_old_timeline(notebook: OpenNotebook) -> None:
    book = notebook([LOCAL, "%load_ext tfvis_nb", "%%trace\n_ = session.run(loss)"])
    book.run_all()
    count = (
        "from tfvis_nb import TimelineWidget\nimport ipywidgets.widgets.widget as w\n"
        "print(sum(isinstance(each, TimelineWidget) for each in w._instances.values()))"
    )
    assert book.ask(count) == "1"
    for _ in range(2):
        book.run(2)
    book.timeline(2)
    assert book.ask(count) == "1"
    expect(book.page.locator(".tfvis-nb")).to_have_count(1)


def test_a_failing_cell_shows_its_error_and_what_ran_before(notebook: OpenNotebook) -> None:
    book = notebook(
        [LOCAL, "%load_ext tfvis_nb", "%%trace t\nsession.run(loss)\n1 / 0", "print('must not run')"]
    )
    book.run_all()
    expect(book.output(2)).to_contain_text("ZeroDivisionError")
    timeline = book.timeline(2)
    timeline.find("op:MatMul")
    expect(timeline.title).to_have_text("product")
    assert book.output(3).inner_text().strip() == ""


def test_a_cluster_step_shows_its_transfers(notebook: OpenNotebook) -> None:
    book = notebook([CLUSTER, "%load_ext tfvis_nb", "%%trace t\n_ = session.run(loss)"])
    book.run_all()
    timeline = book.timeline(2)
    timeline.find("op:RecvTensor")
    assert "".join(filter(str.isdigit, timeline.expect_fact("Bytes"))) == str(256 * 256 * 4)
    expect(timeline.details.locator(".route")).to_contain_text("ps")
    expect(timeline.details.locator(".route")).to_contain_text("worker")
