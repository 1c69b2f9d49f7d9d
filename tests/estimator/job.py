"""Estimators that record into sessions: ``python -m tests.estimator.job FOLDER``, with TensorFlow 2.15."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tfvis_nb as tv

v1 = tf.compat.v1


def batches() -> Any:
    x = np.linspace(-1, 1, 64, dtype="float32").reshape(16, 4)
    return tf.data.Dataset.from_tensor_slices(({"x": x}, (x.sum(1) > 0).astype("int64"))).repeat().batch(8)


def canned(folder: Path) -> dict[str, Any]:
    """Train and evaluate a DNNClassifier, every fifth run of each signature traced."""
    recorded = tv.TraceSession(folder / "canned.tfvis", keep=100)
    recorded.trace_every(5)
    classifier = tf.estimator.DNNClassifier(
        hidden_units=[8],
        feature_columns=[tf.feature_column.numeric_column("x", shape=[4])],
        model_dir=str(folder / "canned"),
        config=tf.estimator.RunConfig(tf_random_seed=1, save_summary_steps=100, save_checkpoints_steps=100),
    )
    classifier.train(batches, hooks=[recorded.hook], steps=21)
    result = classifier.evaluate(batches, hooks=[recorded.hook], steps=6)
    return {"steps": int(result["global_step"]), "recording": recorded.recording, "problem": recorded.problem}


def own(folder: Path) -> dict[str, Any]:
    """Train by a model function, and ask between two trainings for the next run to be traced."""

    def model(features: Any, labels: Any, mode: Any) -> Any:
        weights = v1.get_variable("weights", [4, 1])
        logits = tf.matmul(features["x"], weights, name="logits")
        loss = tf.reduce_mean(tf.square(tf.cast(labels, tf.float32) - logits[:, 0]), name="loss")
        step = v1.train.get_global_step()
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    recorded = tv.TraceSession(folder / "own.tfvis")
    estimator = tf.estimator.Estimator(model, str(folder / "own"))
    estimator.train(batches, hooks=[recorded.hook], steps=6)
    # The first run of a training is another signature: hooks of Estimator fetch summaries in it.
    runs = recorded.signatures.set_index("label")["runs"]
    label = str(runs[runs.index.str.contains("loss")].idxmax())
    recorded.trace_next(label)
    estimator.train(batches, hooks=[recorded.hook], steps=3)
    estimator.train(batches, steps=2)  # nobody records this
    return {"steps": int(estimator.get_variable_value("global_step")), "label": label}


if __name__ == "__main__":
    v1.logging.set_verbosity(v1.logging.ERROR)
    folder = Path(sys.argv[1])
    report = {"tensorflow": tf.__version__, "canned": canned(folder), "own": own(folder)}
    (folder / "report.json").write_text(json.dumps(report))
