"""Trace the training of a small convolutional network and write demo.html, a timeline that opens offline."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Any

import numpy as np

# TensorFlow's own start-up messages would bury the few lines printed below; some come before its level of
# logging is read.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
stderr = os.dup(2)
with Path(os.devnull).open("wb") as nowhere:
    os.dup2(nowhere.fileno(), 2)
try:
    import tensorflow.compat.v1 as tf
finally:
    os.dup2(stderr, 2)

import tfvis_nb

BATCH, SIDE, CLASSES = 64, 32, 10
WARM_UP, STEPS = 3, 8
PAGE = Path("demo.html")


def convolution(image: Any, channels: int, name: str) -> Any:
    """Return a 3 x 3 convolution with bias, ReLU and a 2 x 2 pooling."""
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [3, 3, image.shape[-1], channels])
        bias = tf.get_variable("bias", [channels], initializer=tf.zeros_initializer())
        activation = tf.nn.relu(tf.nn.conv2d(image, kernel, strides=1, padding="SAME") + bias)
        return tf.nn.max_pool2d(activation, 2, 2, padding="SAME")


def network(images: Any, labels: Any) -> tuple[Any, Any]:
    """Return the loss of three convolutions and a dense layer, and the op that trains them."""
    features = images
    for layer, channels in enumerate([16, 32, 64], start=1):
        features = convolution(features, channels, f"convolution{layer}")
    with tf.variable_scope("dense"):
        flat = tf.reshape(features, [-1, int(np.prod(features.shape[1:]))])
        logits = flat @ tf.get_variable("kernel", [flat.shape[-1], CLASSES])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, tf.train.AdamOptimizer(1e-3).minimize(loss, name="train")


def traced_training() -> tfvis_nb.RecordedTrace:
    """Warm up, then train for some steps; every run of the session becomes a step of the trace."""
    draw = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        images = tf.placeholder(tf.float32, [None, SIDE, SIDE, 3], name="images")
        labels = tf.placeholder(tf.int32, [None], name="labels")
        loss, train = network(images, labels)
        feed = {
            images: draw.random((BATCH, SIDE, SIDE, 3), dtype="float32"),
            labels: draw.integers(CLASSES, size=BATCH),
        }
        session.run(tf.global_variables_initializer())
        for _ in range(WARM_UP):
            session.run(train, feed)
        with tfvis_nb.trace() as trace:
            for _ in range(STEPS):
                session.run([train, loss], feed)
    return trace


def has_display() -> bool:
    """Whether somebody sits in front of this machine, to whom a browser can be opened."""
    if os.environ.get("CI"):
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def main() -> None:
    """Trace, write the page, say where it is and open it."""
    trace = traced_training()
    trace.to_html(PAGE, title="Training a small convolutional network")
    address = PAGE.resolve().as_uri()
    longest = trace.steps["duration_ns"].max() / 1e6
    print(
        f"Traced {len(trace.events)} events in {len(trace.steps)} session runs, the longest {longest:.1f} ms."
    )
    print(f"The timeline:  {address}")
    print(f"In a notebook: {Path(sys.executable).with_name('jupyter')} lab notebooks/quickstart.ipynb")
    if has_display() and webbrowser.open(address):
        print("It opens in your browser.")
    else:
        print(
            "It was not opened: no display or browser here. Open the file in a browser; it needs no network."
        )


if __name__ == "__main__":
    main()
