"""A shell of IPython with a graph to run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.testing.globalipapp import start_ipython

SETUP = """
import tensorflow.compat.v1 as tf
graph = tf.Graph()
with graph.as_default():
    values = tf.get_variable("values", [10], initializer=tf.ones_initializer())
    total = tf.reduce_sum(values, name="total")
    other = tf.reduce_mean(values, name="other")
session = tf.Session(graph=graph)
session.run(values.initializer)
"""


@pytest.fixture(scope="session")
def started() -> Any:
    start: Any = start_ipython  # which has no types
    shell = start()
    shell.run_cell(SETUP).raise_error()
    return shell


@pytest.fixture
def shell(started: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    started.run_line_magic("load_ext", "tfvis_nb")
    yield started
    started.run_line_magic("unload_ext", "tfvis_nb")
    for name in ("t", "ran"):
        started.user_ns.pop(name, None)
