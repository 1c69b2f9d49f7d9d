"""Every format that is text is read in each Unicode encoding, with either line end, packed or not."""

import codecs
import gzip
import json
import lzma
from collections.abc import Callable

import pytest
from google.protobuf import json_format, text_format

import tfvis_nb as tv
from tests.reading.test_jobs import of_rank
from tests.reading.test_json_as_found import bar
from tests.real_traces import DATA
from tests.support.texts import raises_id
from tfvis_nb.reading.protobuf import schema
from tfvis_nb.texts import Text

RUN = schema.message_class("RunMetadata", "string").FromString((DATA / "run_meta.v1").read_bytes())
STEP = RUN.step_stats


def _unpacked(name: str) -> str:
    return lzma.decompress((DATA / name).read_bytes()).decode()


FORMATS = {
    "text RunMetadata": text_format.MessageToString(RUN),
    "text StepStats": f"# a comment\n\n{text_format.MessageToString(STEP)}",
    "JSON RunMetadata": json_format.MessageToJson(RUN),
    "JSON StepStats": json_format.MessageToJson(STEP, preserving_proto_field_name=True),
    "timeline.py": (DATA / "timeline_tf115_distributed.json").read_text(),
    "Horovod": _unpacked("horovod_timeline.json.xz"),
    "PyTorch": _unpacked("kineto_rank0.json.xz"),
    "a rank": json.dumps(json.loads(of_rank(0, 2, [5_000] * 2)), indent=1),
    "the trace viewer": gzip.decompress((DATA / "tf2_host.trace.json").read_bytes()).decode(),
    "an event a line": "[\n" + ",\n".join(json.dumps(bar(number)) for number in range(9)) + "\n",
    "a file of two": "\n".join(json.dumps({"traceEvents": [bar(number)]}, indent=1) for number in range(2)),
    "a list of two": json.dumps([{"traceEvents": [bar(number)]} for number in range(2)], indent=1),
}
FORMATS["tfvis_nb"] = json.dumps(
    json.loads(tv.read_trace(RUN.SerializeToString()).to_chrome_trace()), indent=1
)
ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "UTF-8 with mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16 LE": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16 BE": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "UTF-16 without mark": lambda text: text.encode("utf-16-le"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "UTF-16 with CRLF": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip of UTF-16": lambda text: gzip.compress(text.encode("utf-16")),
}


@pytest.fixture(scope="module", params=FORMATS)
def text(request: pytest.FixtureRequest) -> tuple[str, tv.Trace]:
    text = FORMATS[request.param]
    return text, tv.read_trace(text.encode())


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_each_encoding_of_a_text_gives_its_table(text: tuple[str, tv.Trace], encoding: str) -> None:
    written, expected = text
    found = tv.read_trace(ENCODINGS[encoding](written))
    assert found.events.equals(expected.events)
    assert found.nested == expected.nested
    assert found.notes == expected.notes
    assert found.recorded_counters.equals(expected.recorded_counters)


@pytest.mark.parametrize("encoding", [*ENCODINGS])
@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("goo.gle/debugonly  step_stats { }", Text("is_debug_string")),
        ("\n<!DOCTYPE html>\n<p>Sign in</p>", Text("is_web_page")),
        ("Traceback (most recent call last):\n  x", Text("is_text", start="Traceback")),
    ],
)
def test_each_encoding_of_another_text_is_named(written: str, what: Text, encoding: str) -> None:
    with raises_id(tv.TraceFormatError, "foreign_format", what=what):
        tv.read_trace(ENCODINGS[encoding](written))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_positions_in_text_messages_are_of_the_file(encoding: str) -> None:
    data = 'step_stats { dev_stats { device: "?" } }'.encode(encoding)
    with raises_id(tv.TraceFormatError, "text_not_utf8", byte=data.index(b"?")):
        tv.read_trace(data.replace(b"?", b"\xff"))
