"""Runs of a cell are of the same code only if all that they use is the same as well."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.kernels import jupyter_path
from tfvis_nb.run_history.dependencies import dependencies, digest
from tfvis_nb.run_history.files import VARIABLE

pytestmark = pytest.mark.tensorflow

WORK = """
def work(x):
    if not fast:
        time.sleep(0.001)
    return squares(x)
"""
SETUP = (
    WORK
    + """
import importlib, sys, time
from pathlib import Path
from types import SimpleNamespace
import keras, numpy as np, tensorflow as tf

sys.path.insert(0, ".")
lib_text = "import time\\ndef pause():\\n    time.sleep(0.001)\\n"
Path("own_lib.py").write_text(lib_text)
import own_lib

@tf.function
def squares(x):
    return tf.reduce_sum(x * x)

class Trainer:
    def __init__(self, slow):
        self.slow, self.count, self.losses, self.mean = slow, 0, [], None
    def step(self, x):
        if self.slow:
            time.sleep(0.001)
        self.count += 1
        self.losses.append(float(squares(x)))
        self.mean = keras.metrics.Mean()

def batches(size):
    return tf.data.Dataset.from_tensor_slices(np.ones((64, 4), "float32")).map(lambda x: x + 1).batch(size)

def built(units):
    model = keras.Sequential([keras.layers.Dense(units), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

fast, x, data, settings = False, tf.ones([8]), batches(8), SimpleNamespace(scale={"rates": [1, 2]})
trainer, model, ones, seen, total = Trainer(True), built(2), np.ones((32, 4), "float32"), [], 0
times = []
"""
)

CELLS = {
    "global": "for _ in range(3):\n    work(x)",
    "module": "for _ in range(3):\n    own_lib.pause()\n    squares(x)",
    "dataset": "for one in data:\n    squares(one)",
    "holder": "for _ in range(settings.scale['rates'][0]):\n    [squares(x) for _ in range(3)]",
    "object": "for _ in range(3):\n    trainer.step(x)",
    "keras": "model.fit(ones, ones[:, :1], batch_size=8, verbose=0);",
    "refilled": "times.clear()\nfor _ in range(3):\n    times.append((time.perf_counter(), squares(x)))",
    "state": "for _ in range(3):\n    total += 1\n    seen.append(total)\n    loss = squares(x) * len(seen)",
}
RELOAD = "Path('own_lib.py').write_text({}); importlib.invalidate_caches(); _ = importlib.reload(own_lib)"
CHANGES = [
    ("global", "fast = True", "fast = False"),
    ("global", "x = tf.ones([8, 2])", "x = tf.ones([8])"),
    ("global", WORK.replace("0.001", "0.02"), WORK),
    ("module", RELOAD.format("lib_text.replace('0.001', '0.02')"), RELOAD.format("'#\\n' + lib_text")),
    ("dataset", "data = batches(16)", "data = batches(8)"),
    ("dataset", "data = batches(8).prefetch(2)", "data = batches(8)"),
    ("holder", "settings.scale['rates'][0] = 2", "settings.scale['rates'][0] = 1"),
    ("object", "trainer.slow = False", "trainer.slow = True"),
    ("keras", "model = built(9)", "model = built(2)"),
]
"""The cell that uses something, a cell that changes it, and one that changes it back."""


class Cells:
    """Cells that run in a namespace, as in a kernel, without traces."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.run(SETUP)

    def run(self, code: str) -> None:
        exec(compile(code, "<ipython-input-1>", "exec"), self.names)

    def code(self, name: str) -> str:
        """Run a cell, and return the digest of its dependencies."""
        before = dependencies(CELLS[name], self.names)
        self.run(CELLS[name])
        return digest(before, dependencies(CELLS[name], self.names))


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cells]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("cells"))
        patch.setattr(sys, "path", [*sys.path])
        yield Cells()
    sys.modules.pop("own_lib")


@pytest.mark.parametrize("name", CELLS)
def test_a_rerun_is_of_the_same_code(cells: Cells, name: str) -> None:
    first, second = cells.code(name), cells.code(name)
    # A function defined again has another address, but the same code.
    cells.run(SETUP)
    assert first == second == cells.code(name)


@pytest.mark.parametrize(("name", "change", "back"), CHANGES)
def test_a_run_with_a_changed_dependency_is_of_other_code(
    cells: Cells, name: str, change: str, back: str
) -> None:
    first = cells.code(name)
    cells.run(change)
    changed = cells.code(name)
    cells.run(back)
    assert first != changed
    assert first == cells.code(name)


def test_a_digest_is_the_same_in_each_process() -> None:
    code = """
from tfvis_nb.run_history.dependencies import dependencies, digest
names_of_main = {"__name__": "__main__", "names": {"a", "b", "c"}}
work = "def work(): return [one in {'d', 'e', 'f'} for one in names]"
exec(compile(work, "<stdin>", "exec"), names_of_main)
found = dependencies("work()", names_of_main)
print(digest(found, found), len(found))
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, stdout=-1
        ).stdout
        for seed in "123"
    }
    assert len(printed) == 1
    assert int(printed.pop().split()[1]) == 7


def test_a_kernel_knows_which_runs_are_of_the_same_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_PATH", jupyter_path())
    monkeypatch.setenv(VARIABLE, str(tmp_path / "history"))
    kinds = ("global", "keras")
    traced = [f"%%trace -q t\n{CELLS[name]}" for name in kinds]
    changes = {name: change for name, change, _ in reversed(CHANGES)}
    changes["keras"] = "model.compile('adam', 'mse')"  # other ops run
    *_, codes, compared = run(
        [
            f"%load_ext tfvis_nb\n{SETUP}",
            *traced,
            *traced,
            "\n".join(changes[name] for name in kinds),
            *traced,
            "import json, tfvis_nb as tv\nprint(json.dumps(tv.history().table.code.tolist()))",
            "shown = tv.history().compare()\nprint(shown.b.trace is t is not shown.a.trace)",
        ],
        tmp_path,
    )
    runs = [json.loads(codes)[at :: len(kinds)] for at in range(len(kinds))]
    assert [(first == second, second == third) for first, second, third in runs] == [(True, False)] * len(
        kinds
    )
    # Each run has overwritten the variable of the last one.
    assert compared == "True\n"


def run(sources: list[str], folder: Path) -> list[str]:
    """Run cells in a kernel, and return what each printed last."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, store_widget_state=False, resources=resources).execute()
    return [cell.outputs[-1].get("text", "") if cell.outputs else "" for cell in notebook.cells]
