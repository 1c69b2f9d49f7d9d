"""JSON of trace events, in pieces: whole, cut, unterminated, damaged."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.texts import figures_of, raises_id
from tfvis_nb.reading.chrome import json_stream
from tfvis_nb.reading.chrome.json_stream import documents
from tfvis_nb.texts import Text, text_of

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('ab}{],"\\', max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
events = st.lists(
    st.dictionaries(st.sampled_from(["ph", "ts", "args", "a},{b"]), plain, max_size=3), max_size=12
)


def parsed(data: bytes) -> list[tuple[list[Any], dict[str, Any], list[str]]]:
    return [
        ([event for part in document for event in part], document.keys, document.notes)
        for document in documents(data, "this")
    ]


@given(events=events, chunk=st.integers(1, 60), indent=st.sampled_from([None, 1]), before=plain, after=plain)
def test_pieces_parse_to_the_whole(
    events: list[Any], chunk: int, indent: int | None, before: Any, after: Any
) -> None:
    whole = {"before": before, "traceEvents": events, "after": after}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        patch.setattr(json_stream, "_EXACT", 1 << 2000)
        (one,) = parsed(json.dumps(whole, indent=indent).encode())
        (bare,) = parsed(json.dumps(events, indent=indent, ensure_ascii=False).encode())
        both = parsed((json.dumps(whole) + "\n" + json.dumps(events)).encode())
    assert one == (events, {"before": before, "traceEvents": [], "after": after}, [])
    assert bare == (events, {}, [])
    assert both == [one, bare]


@given(events=events.filter(bool), data=st.data())
def test_an_array_may_end_anywhere(events: list[Any], data: st.DataObject) -> None:
    text = json.dumps(events).encode()
    end = data.draw(st.integers(1, len(text) - 1))
    # A text that ends like a file is one without its closing quote.
    assume(not text[:end].endswith((b"}]", b"}]}")))
    refused = None
    try:
        ((read, _, notes),) = parsed(text[:end])
    except tv.TraceFormatError as error:
        refused = text_of(error)
    else:
        exact = json.loads(json.dumps(events), parse_float=Decimal)
        assert read in (events[: len(read)], exact[: len(read)])
        assert len(figures_of(notes, "json_cut_off")) == len(notes) <= 1
    if refused is not None:
        # Of a number or an escape, half may be damage.
        assert refused.id in ("ends_early", "json_damaged")
        assert refused.figures["byte"] in ([end] if refused.id == "ends_early" else range(end))


def test_horovod_leaves_the_array_open() -> None:
    assert parsed(b'[\n{"ph": "B"},\n{"ph": "E"},\n') == [([{"ph": "B"}, {"ph": "E"}], {}, [])]


def test_notes_are_not_repeated_when_exact_times_are_read() -> None:
    ((read, _, notes),) = parsed(b'[{"ts": 1795213877498746.125}, {"ts')
    assert read == [{"ts": Decimal("1795213877498746.125")}]
    assert len(notes) == 1


def test_a_file_that_ends_inside_an_event() -> None:
    ((read, _, notes),) = parsed(b'[{"ph": "B"}, {"ph": "E", "args": {"a": {}}, "b')
    assert read == [{"ph": "B"}]
    assert notes == [Text("json_cut_off", bytes=33)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"traceEvents": [{"ph"', "ends_early"),
        (b'{"traceEvents": [{"ph" "X"}]}', "json_damaged"),
        (b'{"a": "b, "traceEvent": []}', "json_damaged"),
        (b'{"traceEvents": []} and more', "json_followed_by_text"),
        (b'{"traceEvents": [' + b"[" * 200_000, "json_damaged"),
        (b'{"traceEvents": [{"a": ' + b"9" * 5000 + b"}]}", "json_damaged"),
        (b'{"a": {"traceEvents": []}}', "json_without_events"),
        (b'{"traceEvents": 7}', "json_without_events"),
    ],
)
def test_damage_is_named(data: bytes, said: str) -> None:
    with raises_id(tv.TraceFormatError, said):
        parsed(data)


def test_bytes_that_are_not_utf8_do_not_move_the_rest() -> None:
    data = b'{"traceEvents": [{"name": "\xff\xfe"}], "z": 1} {"traceEvents": [{"name": "b"}]}'
    (first, second) = parsed(data)
    assert first[1] == {"traceEvents": [], "z": 1}
    assert second[0] == [{"name": "b"}]
