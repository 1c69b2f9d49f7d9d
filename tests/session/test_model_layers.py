"""The layers of models that sessions keep with their traces."""

from dataclasses import replace
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.support.session_files import recording
from tfvis_nb.analysis.model_layers.description import LiveLayer, to_json
from tfvis_nb.analysis.model_layers.put import put_stored_layers
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.schema import BEFORE_LAYERS, empty_session
from tfvis_nb.session.file.writer import Writer

DENSE = LiveLayer("dense", "Dense", "net/dense", {1: 64})
LAYERS = to_json([LiveLayer("net", "Net", "net", {1: 64}, [DENSE])])


def named() -> tv.Trace:
    table = tv.events.build(
        {
            "start_ns": [0, 9],
            "duration_ns": [5, 7],
            "kind": ["op"] * 2,
            "lane": ["ops"] * 2,
            "name": ["net/dense/MatMul", "net/Sum"],
        }
    )
    return tv.Trace(table)


def test_events_have_the_layers_that_are_kept() -> None:
    trace = named()
    put_stored_layers(trace, LAYERS)
    assert set(zip(trace.layers["layer"], trace.layers["class"], strict=True)) == {
        ("net/dense", "Dense"),
        ("net", "Net"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "[7]",
        "[[-1]]",
        '[[-1, "net", "Net", "net", 7]]',
        '[[-1, 7, "Net", "net", {}]]',
        '[[0, "net", "Net", "net", {}]]',
        '[["", "net", "Net", "net", {}]]',
        '[[-1, "net", "Net", "net", {"a": 1}]]',
        '[[-1, "net", "Net", "net", {"1": 1e400}]]',
        f'[[-1, "net", "Net", "net", {{"1": {1 << 80}}}]]',
        "[" * 100_000,
    ],
)
def test_what_describes_no_layers_is_left_out(text: str) -> None:
    trace = named()
    put_stored_layers(trace, text)
    assert set(trace.layers["class"]) == {""}


def test_very_many_layers_are_left_out() -> None:
    many = [LiveLayer("net", "Net", f"net{number}", {}) for number in range(20_000)]
    for model in many[:1]:
        model.parts = many[1:]
    table = tv.events.build(
        {
            "start_ns": range(2_000),
            "duration_ns": [1] * 2_000,
            "kind": ["op"] * 2_000,
            "name": [f"net/net_{number}/Sum" for number in range(2_000)],
        }
    )
    trace = tv.Trace(table)
    put_stored_layers(trace, to_json(many[:1]))
    assert set(trace.layers["class"]) == {""}


def test_a_file_that_keeps_none_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "old.tfvis"
    connection = empty_session(BEFORE_LAYERS)
    content = bytearray(connection.serialize())
    connection.close()
    content[18:20] = b"\2\2"  # kept as sessions are, in WAL mode
    path.write_bytes(content)
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "train", "loss:0"))
    writer.add_trace(number, replace(recording(1), layers=LAYERS), None)
    writer.close({})
    with tv.open_session(path) as session:
        assert session.stored(1).layers is None
        assert len(session.read(1).events)
