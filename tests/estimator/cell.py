"""An Estimator under ``%%trace``: ``python -m tests.estimator.cell FOLDER``, with TensorFlow 2.15."""

import sys
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import tfvis_nb as tv

CELL = """%%trace t
import tensorflow as tf

def batches():
    features, labels = {"x": [[1.0], [2.0]] * 8}, [0, 1] * 8
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(8)

column = tf.feature_column.numeric_column("x")
tf.estimator.DNNClassifier([8], [column], model_dir=folder).train(batches, steps=5)
"""

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    shell: Any = InteractiveShell.instance()
    shell.user_ns["folder"] = str(folder / "model")
    shell.run_line_magic("load_ext", "tfvis_nb")
    shell.run_cell(CELL).raise_error()
    trace = shell.user_ns["t"]
    # Builds for some CPUs have kernels of their own, such as _FusedMatMul.
    assert trace.events["op"].str.contains("MatMul").any()
    trace.to_html(folder / "page.html")
    trace.to_html(folder / "anonymous.html", anonymize=True)
    tv.show_dashboard(trace).to_html(folder / "dashboard.html")
