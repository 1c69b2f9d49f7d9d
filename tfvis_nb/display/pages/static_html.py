"""A static replacement of the timeline where no scripts run: GitHub, nbviewer, mail, offline readers."""

import base64
import html
import re

from tfvis_nb.analysis.findings.table import findings_html
from tfvis_nb.analysis.overview.compare_findings import findings_against
from tfvis_nb.analysis.overview.overview import overview
from tfvis_nb.analysis.steps.op_statistics import op_statistics
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.labels import one_line, printable
from tfvis_nb.core.markup import html_table
from tfvis_nb.core.note_order import most_important_first
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.pictures.still import MOST_ANNOTATIONS, picture
from tfvis_nb.display.wire.code import line_totals
from tfvis_nb.writing.report import HEAD_BYTES, report_head

_MOST_OPS = 10
_MOST_LINES = 10
_LINE_END = re.compile(r"\r\n|\n|\r")
_FOLDERS = re.compile(r"(?s).*[/\\](?=.)")
_MOST_LETTERS = 60
_MOST_ANNOTATION = 300
QUICK = 200_000
"""With more events, the overview and the findings would delay a cell."""


def static_html(trace: Trace, title: str | None = None, *, below: str = "", annotated: bool = True) -> str:
    """Write a still picture of a trace, its longest lines of code and ops, in under 20 kB of plain HTML.

    If `annotated`, annotations are in the picture and below it. It only uses elements that sites keep when
    they sanitize notebooks: no script, no style sheet, and the picture as an image. Below it is the headline
    of the overview, or the given HTML.
    """
    heading = html.escape(one_line(trace, title))
    parts = [f"<p><b>{heading}</b></p>"]
    if len(trace.events):
        image = base64.b64encode(picture(trace, annotated=annotated).encode()).decode("ascii")
        source = f"data:image/svg+xml;base64,{image}"
        parts.append(f'<p><img alt="Activity of each lane: {heading}" src="{source}"></p>')
        if annotated:
            parts += _annotations(trace)
        headline = below or _headline(trace)
        parts += [headline] if headline else []
        parts += [*_top_lines(trace), _longest_ops(trace)]
    if trace.notes:
        first = most_important_first(trace.notes)[0]
        parts.append(f"<p>{html.escape(printable(first, 300))}{_more(len(trace.notes) - 1)}</p>")
    return "\n".join(parts)


def _annotations(trace: Trace) -> list[str]:
    """List the annotations with their numbers in the picture."""
    table = trace.annotations
    texts = [
        f"{name}: {text}" if text else name for name, text in zip(table["name"], table["text"], strict=True)
    ]
    shown = texts[:MOST_ANNOTATIONS]
    items = "".join(f"<li>{html.escape(printable(text, _MOST_ANNOTATION))}</li>" for text in shown)
    return [f"<ol>{items}</ol>{_more(len(texts) - len(shown))}"] if texts else []


def overview_html(trace: Trace, against: Trace | None = None) -> str:
    """Write the overview and the findings; empty for a trace too large to compute them immediately."""
    if len(trace.events) > QUICK:
        return ""
    facts = trace.overview if against is None else overview(trace, against)
    table, _ = findings_against(trace, against)
    return f"{facts._repr_html_()}\n{findings_html(table)}"


def static_report(trace: Trace, most: int = HEAD_BYTES) -> str:
    """Write the head of a trace's report, if the still picture or the tabs have computed what it needs."""
    is_known = len(trace.events) <= QUICK or "overview" in vars(trace)
    return report_head(trace, most) if is_known and len(trace.events) else ""


def _headline(trace: Trace) -> str:
    if len(trace.events) > QUICK:
        return ""
    return f"<p>{html.escape(printable(trace.overview['headline'], 300))}</p>"


def _longest_ops(trace: Trace) -> str:
    """Tabulate the op types with the most self time."""
    statistics = op_statistics(trace)
    statistics = statistics[(statistics["side"] != "repeated") & statistics["self_ns"].notna()]
    top = statistics.sort_values("self_ns", ascending=False, kind="stable").head(_MOST_OPS)
    columns = (top[name].tolist() for name in ("op", "kind", "count", "self_ns", "total_ns"))
    rows = (
        (printable(str(op), _MOST_LETTERS), kind, f"{count:,}", format_duration(own), format_duration(total))
        for op, kind, count, own, total in zip(*columns, strict=True)
    )
    table = html_table(("op", "kind", "count", "self time", "total"), rows, right=range(2, 5))
    return table + _more(len(statistics) - len(top))


def _top_lines(trace: Trace) -> list[str]:
    """Tabulate the lines of code with the most time on devices, or else the host; empty without any."""
    totals = line_totals(trace).drop(columns="phase").groupby(["file", "line"]).sum().reset_index()
    if trace.stacks is None or totals.empty:
        return []
    top = totals.sort_values(["device", "host"], ascending=False, kind="stable").head(_MOST_LINES)
    files = trace.stacks.files.take(top["file"].to_numpy()).to_pylist()
    columns = [files, *(top[name].tolist() for name in ("line", "device", "host"))]
    rows = []
    for file, line, *times in zip(*columns, strict=True):
        texts = _LINE_END.split(file["text"] or "")
        code = texts[line - 1].strip() if 0 < line <= len(texts) else ""
        name = _FOLDERS.sub("", file["name"])
        shown = [printable(text, _MOST_LETTERS) for text in (f"{name}:{line}", code)]
        rows.append([*shown, *(format_duration(ns) if ns else "" for ns in times)])
    table = html_table(("line", "code", "device", "host"), rows, right=(2, 3))
    return [table + _more(len(totals) - len(top))]


def _more(count: int) -> str:
    return f" <i>({count:,} more)</i>" if count > 0 else ""
