"""Mistakes of callers: each is named, and changes nothing."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfvis_nb as tv
from tests.support.session_files import filled
from tests.support.texts import raises_id
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer


def test_wrong_orders(path: Path) -> None:
    filled(path)
    with tv.open_session(path) as session:
        with raises_id(ValueError, "no_such_signature", hint="; did you mean 'train'?"):
            session.trace_next("trian")
        with raises_id(ValueError, "no_such_signature", signature=9):
            session.trace_all(9)
        with raises_id(ValueError, "not_from_one", value=0):
            session.trace_every(0)
        with raises_id(ValueError, "not_a_factor", name="factor", value=0):
            session.trace_slow(factor=0)
        session.trace_slow(factor=2.5, signature="train")
        assert session.signatures["rule"].tolist() == ["slower 2.5"]
        session.stop_tracing("train")
        assert session.signatures["rule"].tolist() == [""]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda session: session.trace_every("a"),
            TypeError,
            "not_from_one",
        ),
        (lambda session: session.trace_every(2.5), TypeError, "not_from_one"),
        (lambda session: session.trace_every(True), TypeError, "not_from_one"),
        (lambda session: session.trace_every(-1), ValueError, "not_from_one"),
        (lambda session: session.trace_slow(factor=math.inf), ValueError, "not_a_factor"),
        (lambda session: session.trace_slow(factor=math.nan), ValueError, "not_a_factor"),
        (lambda session: session.trace_slow(factor="3"), TypeError, "not_a_factor"),
        (lambda session: session.trace_next(True), TypeError, "signature_of_other_type"),
        (lambda session: session.trace_all(1.5), TypeError, "signature_of_other_type"),
        (lambda session: session.stop_tracing(["train"]), TypeError, "signature_of_other_type"),
        (lambda session: session.trace_next(2**70), ValueError, "no_such_signature"),
        (lambda session: session.read("a"), TypeError, "trace_number_of_other_type"),
        (lambda session: session.read(2**70), KeyError, "no_such_trace"),
        (lambda session: session.delete([1, 77]), ValueError, "no_such_trace"),
        (lambda session: session.delete("12"), TypeError, "trace_number_of_other_type"),
        (lambda session: session.delete([1, "2"]), TypeError, "trace_number_of_other_type"),
        (lambda session: session.save("/nonexist/x"), FileNotFoundError, "no_folder_to_write_to"),
    ],
)
def test_mistakes_are_said(
    path: Path, call: Callable[[tv.SavedSession], Any], error: type[Exception], message: str
) -> None:
    filled(path)
    with tv.open_session(path) as session:
        with raises_id(error, message):
            call(session)
        assert session.signatures[["rule", "requested"]].to_numpy().tolist() == [["", 0]]
        assert session.traces.index.tolist() == [1, 2, 3]


def test_values_that_are_no_path() -> None:
    with raises_id(TypeError, "path_no_path", value=3):
        tv.open_session(3)  # type: ignore[arg-type]
    with raises_id(ValueError, "path_no_path"):
        tv.TraceSession("")
    with raises_id(IsADirectoryError, "session_is_folder"):
        tv.TraceSession(".")


def test_the_signatures_that_took_longest_are_named_first(path: Path) -> None:
    writer = Writer(path, keep=None)
    for label in ("init", "init_1", "init_2", "train"):
        number, _ = writer.add_signature(Signature("session", label, label))
    writer.close({number: Counts(9, 0, 9_000, 1_000, 1, 2)})
    said = "no_such_signature"
    with tv.open_session(path) as session, raises_id(ValueError, said):
        session.trace_next("nix")


def test_numbers_of_numpy_are_numbers(path: Path) -> None:
    filled(path)
    one, seven, two = np.int64(1), np.int64(7), np.float32(2)
    with tv.open_session(path) as session:
        session.trace_every(seven, one)  # type: ignore[arg-type] # NumPy's are no int to mypy
        session.trace_slow(factor=two)  # type: ignore[arg-type]
        assert session.signatures["rule"].tolist() == ["every 7"]
        session.delete(session.traces.index[:2])
        session.delete(one)  # type: ignore[arg-type]
        assert len(session.read(session.traces.index[0]).events)


def test_options_are_listed_without_self() -> None:
    with raises_id(TypeError, "unknown_option") as raised:
        tv.TraceSession(colour=1)  # type: ignore[call-arg]
    assert "self" not in str(raised.value)
