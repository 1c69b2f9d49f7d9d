"""JSON as programs write it and as files get damaged: what can be read is read, and notes say the rest.

The oracle is Python's json on the same events before the damage.
"""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.examples import examples
from tests.support.texts import figures_of, raises_id
from tfvis_nb.reading.chrome import json_stream
from tfvis_nb.reading.chrome.json_stream import documents
from tfvis_nb.texts import id_of

NOT_FINITE = [
    "-1.#IND",
    "inf",
    "-inf",
    "nan",
    "-nan",
    "NaN",
    "Infinity",
    "-Infinity",
    "INF",
    "nan(ind)",
    "-nan(ind)",
    "1.#INF",
]


def bar(number: int, **arguments: Any) -> dict[str, Any]:
    times = {"ts": 10 * number, "dur": 5}
    return {"ph": "X", "name": f"op {number}", **times, "pid": 1, "tid": 1, "args": arguments}


def read(text: str | bytes) -> tv.Trace:
    return tv.read_trace(text.encode() if isinstance(text, str) else text)


def names(trace: tv.Trace) -> list[str]:
    return trace.events["name"].astype(str).tolist()


def parsed(data: bytes) -> tuple[list[Any], dict[str, Any], list[str]]:
    events: list[Any] = []
    keys: dict[str, Any] = {}
    notes: list[str] = []
    for document in documents(data, "this"):
        events += [event for part in document for event in part]
        keys |= document.keys
        notes += document.notes
    return events, keys, notes


@pytest.mark.parametrize("literal", NOT_FINITE)
@pytest.mark.parametrize("place", ["an argument", "a duration", "a counter", "a key"])
def test_a_value_that_is_not_finite_is_missing(literal: str, place: str) -> None:
    counter: dict[str, Any] = {"ph": "C", "name": "c", "pid": 1, "ts": 3, "args": {"a": 7777, "b": 2}}
    events = [bar(0), bar(1, bandwidth=7777, size=3), counter]
    if place != "a counter":
        events[2]["args"] = {"a": 1, "b": 2}
    if place != "an argument":
        events[1]["args"] = {"size": 3}
    if place == "a duration":
        events[0]["dur"] = 7777
    whole = {"traceEvents": events, "otherData": {"a": 7777 if place == "a key" else 1}}
    trace = read(json.dumps(whole).replace("7777", literal))
    assert names(trace) == (["op 1"] if place == "a duration" else ["op 0", "op 1"])
    assert trace.events["detail"].tolist()[-1] == "size=3"
    assert trace.counters["value"].tolist() == ([2] if place == "a counter" else [1, 2])
    assert figures_of(trace.notes, "json_values_missing") == [{"values": 1}]


def test_times_as_texts_and_nan_counters_are_read() -> None:
    trace = read(
        '[{"name":"test A","ph":"B","ts":"1587074269993629","pid":1,"tid":1},\n'
        '{"name":"CPU", "ph": "C", "ts": "1587074269993629", "pid": 1,\n'
        '"args": {"sys": nan, "usr": nan, "idle": nan}},\n'
        '{"name":"CPU", "ph": "C", "ts": "1587074270993629", "pid": 1,\n'
        '"args": {"sys": 10.5, "usr": 20, "idle": 69.5}},\n'
        '{"name":"test A","ph":"E","ts":"1587074271993629","pid":1,"tid":1}]'
    )
    assert trace.events[["name", "duration_ns"]].to_numpy().tolist() == [["test A", 2_000_000_000]]
    assert sorted(trace.counters["value"]) == [10.5, 20, 69.5]
    assert figures_of(trace.notes, "counter_values_left_out") == [{"values": 3}]
    assert not figures_of(trace.notes, "json_cut_off")


@pytest.mark.parametrize(
    ("written", "meant", "note"),
    [
        ("a\nb", "a\nb", "json_raw_controls"),
        ("a\x07b\x00", "a\x07b\x00", "json_raw_controls"),
        (r"C:\work\py", r"C:\work\py", "json_backslashes"),
        (r"C:\users\x", r"C:\users\x", "json_backslashes"),
        ("C:\\logs\\\\\\", "C:\\logs\\\\", "json_backslashes"),
        ("C:\\dir\\", "C:\\dir\\", "json_backslashes"),
        ('say "hi" now', 'say "hi" now', "json_quotes"),
    ],
)
def test_a_text_that_json_forbids_is_kept(written: str, meant: str, note: str) -> None:
    rows = [json.dumps(bar(number)).replace("op 1", written) for number in range(3)]
    events, _, notes = parsed(f'{{"traceEvents": [{", ".join(rows)}], "traceName": "{written}"}}'.encode())
    assert [event["name"] for event in events] == ["op 0", meant, "op 2"]
    assert figures_of(notes, note)


def test_missing_and_additional_commas_are_ignored() -> None:
    one, two, three = (json.dumps(bar(number)) for number in range(3))
    events, keys, notes = parsed(
        f'{{"a": [1, 2,], "traceEvents": [{one[:-1]},}} {two},, {three},], "b": {{"c": 1,}},}}'.encode()
    )
    assert events == [bar(0), bar(1), bar(2)]
    assert keys == {"a": [1, 2], "b": {"c": 1}}
    assert figures_of(notes, "json_commas") == [{"values": 7}]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
def test_positions_count_bytes_of_the_file(encoding: str) -> None:
    good, bad = json.dumps({**bar(0), "name": "\u00fc \U0001f600"}, ensure_ascii=False), '{"ph": ?}'
    text = f"[{good}, {bad}, {good}]"
    trace = read(text.encode(encoding))
    assert names(trace) == ["\u00fc \U0001f600"] * 2
    (figures,) = figures_of(trace.notes, "json_damage_skipped")
    assert figures["byte"] == len(text[: text.index("?")].encode(encoding))
    assert figures["bytes"] == len(f"{bad}, ".encode(encoding)) - len("".encode(encoding))


@pytest.mark.parametrize("bare", [True, False])
def test_a_list_of_documents_is_read_as_documents(bare: bool) -> None:
    groups = [[bar(0), bar(1)], [bar(2)]]
    whole: list[Any] = groups if bare else [{"schemaVersion": 1, "traceEvents": group} for group in groups]
    trace = read(json.dumps(whole))
    assert sorted(names(trace)) == ["op 0", "op 1", "op 2"]
    assert not figures_of(trace.notes, "elements_left_out")


def test_the_first_of_two_outputs_in_one_file_is_read() -> None:
    first = json.dumps({"traceEvents": [bar(0), bar(1)]}, indent=4)
    second = json.dumps({"traceEvents": [bar(number) for number in range(9)]}, indent=4)
    both = first + second[len(first) :]
    trace = read(both)
    assert names(trace) == ["op 0", "op 1"]
    (figures,) = figures_of(trace.notes, "json_rest_left_out")
    rest = both[len(first) :].lstrip()
    assert (figures["byte"], figures["bytes"]) == (len(both) - len(rest), len(rest))


def test_a_killed_run_costs_its_last_event_not_the_next_run() -> None:
    first = json.dumps({"displayTimeUnit": "ms", "traceEvents": [bar(0), bar(1), bar(2)]})
    second = json.dumps({"displayTimeUnit": "ms", "traceEvents": [bar(7)]})
    trace = read(first[: first.index("op 2")] + second)
    assert sorted(names(trace)) == ["op 0", "op 1", "op 7"]
    assert len(figures_of(trace.notes, "json_damage_skipped")) == 1


def test_a_missing_quote_is_damage_at_its_byte() -> None:
    text = json.dumps([bar(0), bar(1), bar(2)])
    for number, others in ((1, ["op 0", "op 2"]), (2, ["op 0", "op 1"])):
        trace = read(text.replace(f'op {number}"', f"op {number}"))
        assert names(trace) == others
        (figures,) = figures_of(trace.notes, "json_damage_skipped")
        assert figures["byte"] == text.index(f'"op {number}')
    last = '[{"ph": "X", "ts": 1, "name": "a}]'
    with raises_id(tv.TraceFormatError, "json_damaged", byte=last.index('"a')):
        read(last)


@pytest.mark.parametrize("bare", [True, False])
def test_a_cut_file_is_read_up_to_its_end(bare: bool) -> None:
    events = [bar(number, text="a b", more=[1, {"c": 2}]) for number in range(3)]
    text = json.dumps(events if bare else {"traceEvents": events, "otherData": {"a": "b"}})
    begin = text.index("[") + 1
    ends = [end + 1 for end in range(len(text)) if text[: end + 1].endswith("]}}")]
    for end in range(begin, len(text)):
        complete = [at for at in ends if at <= end]
        rest = text[max(complete, default=begin) : end].lstrip(" ,")
        lost = 0 if rest.startswith("]") else len(rest)
        if not complete and (lost or not bare):
            with raises_id(tv.TraceFormatError, "ends_early", byte=end):
                parsed(text[:end].encode())
            continue
        found, _, notes = parsed(text[:end].encode())
        assert found == events[: len(complete)]
        if lost:
            assert figures_of(notes, "json_cut_off") == [{"bytes": lost}]
        else:
            assert [id_of(note) for note in notes] == ["json_not_closed"] * (not bare)


@pytest.mark.parametrize("cut", ["2]", "]", '"b'])
@pytest.mark.parametrize("damaged", [range(0, 700, 4), range(100, 620), range(520)])
def test_many_cut_events_cost_no_others(cut: str, damaged: range) -> None:
    rows = [json.dumps(bar(number, a="b", more=[1, 2])) for number in range(700)]
    for number in damaged:
        rows[number] = rows[number][: rows[number].rindex(cut)]
    events, _, notes = parsed(f'{{"traceEvents": [{", ".join(rows)}]}}'.encode())
    whole = [number for number in range(700) if number not in damaged]
    assert [event["name"] for event in events] == [f"op {number}" for number in whole]
    (figures,) = figures_of(notes, "json_damage_skipped")
    assert figures["places"] == (len(damaged) if damaged.step > 1 else 1)


def _texts() -> st.SearchStrategy[str]:
    return st.text(st.sampled_from('ab{}[],:"\\ \n\u00fc'), max_size=6)


@settings(max_examples=examples(200))
@given(
    data=st.data(),
    arguments=st.lists(
        st.dictionaries(_texts(), st.integers() | _texts() | st.lists(st.integers(), max_size=2), max_size=3),
        min_size=3,
        max_size=6,
    ),
    bare=st.booleans(),
    indent=st.sampled_from([None, 1]),
    chunk=st.sampled_from([40, 1 << 22]),
)
def test_a_damaged_event_never_costs_others(
    data: st.DataObject, arguments: list[dict[str, Any]], bare: bool, indent: int | None, chunk: int
) -> None:
    rows = [json.dumps(bar(number, **one), indent=indent) for number, one in enumerate(arguments)]
    number = data.draw(st.integers(0, len(rows) - 1))
    row = rows[number]
    at = data.draw(st.integers(0, len(row) - 1))
    change = data.draw(st.sampled_from(["", "?", '"', "\\", "}", ",", "\x00", row[at] * 2]))
    rows[number] = row[:at] + change + row[at + 1 :]
    text = f"[{', '.join(rows)}]"
    text = text if bare else f'{{"a": 1, "traceEvents": {text}, "b": 2}}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        events, keys, notes = parsed(text.encode())
    names = [event["name"] for event in events if isinstance(event, dict) and "name" in event]
    others = [f"op {one}" for one in range(len(rows)) if one != number]
    assert [name for name in names if name in others] == others
    assert bare or (keys["a"], keys["b"]) == (1, 2)
    for figures in figures_of(notes, "json_damage_skipped"):
        start = text.encode().index(rows[number].encode())
        assert start - 2 <= figures["byte"] <= start + len(rows[number].encode()) + 2


@pytest.mark.parametrize("between", ["", "\n", "\n\n  ", "\n\ufeff"])
def test_each_document_of_a_file_is_a_step(between: str) -> None:
    runs = [[{**bar(number), "ts": 1000 * run + 10 * number} for number in range(3)] for run in range(4)]
    trace = read(between.join(json.dumps({"traceEvents": run}) for run in runs))
    assert trace.steps["events"].tolist() == [3] * 4
    assert trace.events["duration_ns"].sum() == 4 * 3 * 5000
