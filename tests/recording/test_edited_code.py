"""Files that are edited after their code was loaded."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tensorflow as tf

import tfvis_nb as tv
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import id_of

pytestmark = pytest.mark.tensorflow

CODE = """
import tensorflow as tf


def unused(x):
    return x


def product(x):
    return tf.matmul(x, x)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module in a file of this process's time."""
    (tmp_path / "edited_model.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield importlib.import_module("edited_model")
    del sys.modules["edited_model"]


def traced(module: Any) -> Trace:
    with tv.trace() as trace:
        module.product(tf.ones([50, 50]))
    return trace


def edited(trace: Trace) -> list[str]:
    assert trace.stacks is not None
    said = any(id_of(note) == "code_edited" for note in trace.notes)
    assert said == bool(trace.stacks.edited())
    return trace.stacks.edited()


def write(module: ModuleType, code: str) -> None:
    assert module.__file__ is not None
    Path(module.__file__).write_text(code, encoding="utf-8")


def test_unedited_code_is_not_marked(module: ModuleType) -> None:
    assert edited(traced(module)) == []


@pytest.mark.parametrize(
    "code",
    [
        CODE.replace("def unused", "# one line more\n\n\ndef unused"),
        CODE.replace("matmul(x, x)", "matmul(x, x) + 1"),
        CODE[:30],
        "not Python",
    ],
    ids=["moved", "changed", "cut", "broken"],
)
def test_code_that_is_another_than_ran_is_marked(module: ModuleType, code: str) -> None:
    write(module, code)
    assert edited(traced(module)) == ["edited_model.py"]


def test_code_that_did_not_run_may_change(module: ModuleType) -> None:
    write(module, CODE.replace("return x\n", "return 2\n") + "\n\ndef more(): ...\n")
    assert edited(traced(module)) == []


def test_code_that_was_loaded_again_is_not_marked(module: ModuleType) -> None:
    traced(module)
    write(module, CODE.replace("def unused", "# one line more\n\n\ndef unused"))
    # Python reuses compiled code if the file changes within the same second.
    Path(importlib.util.cache_from_source(module.__file__)).unlink(missing_ok=True)  # type: ignore[arg-type]
    trace = traced(importlib.reload(module))
    assert edited(trace) == []
    assert "return tf.matmul(x, x)" in set(trace.source_lines["text"])


def test_text_that_python_remembers_is_that_of_the_code(module: ModuleType) -> None:
    traced(module)
    write(module, CODE.replace("def unused", "# one line more\n\n\ndef unused"))
    trace = traced(module)
    assert edited(trace) == []
    assert "return tf.matmul(x, x)" in set(trace.source_lines["text"])
