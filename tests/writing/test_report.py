"""Reports in Markdown: bounded, the same each time, and nothing but text whatever a trace is called."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import mistune
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.hostile_names import HOSTILE, hostile_trace
from tests.real_traces import DATA, real_trace
from tests.support.coded_trace import coded
from tests.support.made_steps import CPU, built
from tfvis_nb.analysis import compare
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.cli import main
from tfvis_nb.core.labels import printable
from tfvis_nb.core.markup import markdown_code, markdown_text
from tfvis_nb.core.trace import Trace
from tfvis_nb.writing.report import HEAD_BYTES, brief, report_head

FILES = (
    "gpu_tf221_mlp.pb.xz",
    "gpu_tf221_dist.pb.xz",
    "cpu_tf215_input.xplane.pb.xz",
    "cpu_tf221_keras_fit.xplane.pb.xz",
    "horovod_timeline.json.xz",
)
TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from([*"*_`[]()<>#!|~&\\:/@.-+=0 a", "http://x.y", "www.x.y", "a@x.y", "&lt;", "\n"])
).map("".join)

_parse = mistune.create_markdown(renderer=None, plugins=["url", "strikethrough", "table"])


def tokens(markdown: str) -> Iterator[dict[str, Any]]:
    """Yield all tokens of a text, as a site with links for bare URLs reads it."""
    waiting: list[Any] = list(_parse(markdown))
    while waiting:
        token = waiting.pop(0)
        waiting[:0] = token.get("children", [])
        yield token


def kinds(markdown: str) -> set[str]:
    return {token["type"] for token in tokens(markdown)}


def texts(markdown: str) -> str:
    return "".join(token.get("raw", "") for token in tokens(markdown))


@given(TEXTS)
def test_escaped_texts_are_text(text: str) -> None:
    plain = printable(" ".join(text.split()), 1000)
    written = f"- **x** {markdown_text(text)}"
    assert kinds(written) <= {"list", "list_item", "block_text", "strong", "text"}
    assert texts(written) == f"x {plain}".rstrip()


@given(TEXTS)
def test_code_spans_hold_the_whole_text(text: str) -> None:
    written = f"- x {markdown_code(text)} y"
    assert kinds(written) == {"list", "list_item", "block_text", "text", "codespan"}
    (code,) = [token["raw"] for token in tokens(written) if token["type"] == "codespan"]
    assert code.strip() == printable(" ".join(text.split()), 200).strip()


@pytest.mark.parametrize("file", FILES)
def test_reports_are_bounded_and_have_findings_and_top_ops(file: str) -> None:
    trace = real_trace(DATA / file)
    report = trace.report()
    assert len(report.split()) <= 1000
    assert report == tv.read_trace(DATA / file).report()
    assert markdown_text(trace.overview["headline"]) in report
    for title in trace.findings["title"].head(3):
        assert f"**{markdown_text(title)}**" in report
    for op in (*trace.overview["top_ops"]["device"], *trace.overview["top_ops"]["host"]):
        assert markdown_text(op["op"]) in report


def test_long_traces_have_no_longer_reports() -> None:
    rows = [
        {
            "name": "word " * 190 + str(n),
            "op": "op " * 60 + str(n),
            "device": CPU,
            "start_ns": 10 * n,
            "step": 0,
        }
        for n in range(300)
    ]
    trace = built([row | {"duration_ns": 5} for row in rows])
    trace.notes.extend(["a note " * 200] * 20)
    assert len(trace.report().split()) <= 1000


@pytest.mark.parametrize("file", FILES)
def test_heads_have_headline_and_first_findings(file: str) -> None:
    trace = real_trace(DATA / file)
    head = report_head(trace)
    assert head.startswith(f"**{markdown_text(trace.overview['headline'])}**")
    for title in trace.findings["title"].head(1):
        assert f"**{markdown_text(title)}**" in head
    assert len(head.encode()) <= HEAD_BYTES
    assert len(report_head(trace, 300).encode()) <= 300


@pytest.mark.parametrize("most", [1200, 3000])
def test_brief_reports_are_bounded(most: int) -> None:
    for trace in (hostile_trace(), *(real_trace(DATA / file) for file in FILES)):
        assert len(brief(trace, most).encode()) <= most


def test_a_line_has_the_time_of_all_its_phases() -> None:
    report = coded().report()
    assert report.count("`Cell [7]:2`") == 1


def test_heads_have_no_code_folders_and_hosts() -> None:
    trace = real_trace(DATA / "recordings" / "cpu_tf221_out_of_memory.parquet")
    head, report = report_head(trace), trace.report()
    lines = trace.source_lines[trace.source_lines["file"] != ""].head(5)
    for file, line, text in lines[["file", "line", "text"]].itertuples(index=False):
        assert f"`{Path(file).name}:{line}`" in head
        assert text.strip() in report
        assert text.strip() not in head


@pytest.mark.parametrize(
    ("op", "shared"),
    [
        ("worker-3.cluster.local:2222", "host"),
        ("10.1.2.3", "host"),
        ("/home/an na/models/net.py", "net.py"),
        ("layer1/MatMul", "layer1/MatMul"),
    ],
)
def test_heads_name_no_hosts_and_folders(op: str, shared: str) -> None:
    row = {"op": op, "device": CPU, "duration_ns": 10**7}
    trace = built([row | {"start_ns": 10**7 * step, "step": step} for step in range(3)])
    assert trace.overview["headline"].startswith(f"{op} takes")
    assert report_head(trace).startswith(f"**{shared} takes")
    assert (op in report_head(trace)) == (op == shared)


@pytest.mark.parametrize("written", [Trace.report, report_head, partial(brief, most_bytes=3000)])
def test_hostile_names_are_text(written: Callable[[Trace], str]) -> None:
    trace = hostile_trace()
    trace.notes.append("![](http://x/a.png) <https://x> www.x.org me@x.org [a](b) | `c`")
    report = written(trace)
    allowed = {
        "heading",
        "paragraph",
        "list",
        "list_item",
        "block_text",
        "text",
        "strong",
        "codespan",
        "blank_line",
    }
    assert kinds(report) <= allowed
    assert all(letter.isprintable() for letter in report.replace("\n", ""))
    assert len(report.split()) <= 1000
    assert max(map(len, HOSTILE)) > max(len(token.get("raw", "")) for token in tokens(report))


def test_lines_name_files_without_folders() -> None:
    trace = real_trace(DATA / "recordings" / "cpu_tf221_out_of_memory.parquet")
    report = trace.report()
    lines = trace.source_lines[trace.source_lines["file"] != ""].head(5)
    assert len(lines)
    for file, line, text in lines[["file", "line", "text"]].itertuples(index=False):
        assert f"`{Path(file).name}:{line}`" in report
        assert markdown_code(text.strip()) in report


def test_reports_compare_with_a_base() -> None:
    base, trace = real_trace(DATA / "gpu_tf218_mlp.pb.xz"), real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    report = trace.report(against=base)
    for sentence in comparison_headline(base, trace):
        assert markdown_text(str(sentence)) in report
    changed = compare(base, trace).iloc[0]
    assert f"- {markdown_code(changed['op'])} ({changed['kind']}): +" in report
    assert len(report.split()) <= 1000
    assert trace.report() != report


def test_the_command_prints_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    path = DATA / FILES[0]
    assert main(["info", "--markdown", str(path)]) == 0
    assert capsys.readouterr().out == tv.read_trace(path).report()
    base = DATA / "gpu_tf218_mlp.pb.xz"
    assert main(["info", "--markdown", str(path), "--against", str(base)]) == 0
    assert capsys.readouterr().out == tv.read_trace(path).report(against=tv.read_trace(base))
