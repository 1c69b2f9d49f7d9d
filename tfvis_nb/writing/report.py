"""A Markdown report for pull requests and assistants: an overview, findings, slow lines and notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import PureWindowsPath
from typing import Any

import pandas as pd

from tfvis_nb.analysis.findings.findings import findings
from tfvis_nb.analysis.findings.table import NOTHING, OVERLAP, overlap, share_of
from tfvis_nb.analysis.overview.compare_findings import compare_findings, findings_against
from tfvis_nb.analysis.overview.lines import overview_lines
from tfvis_nb.analysis.overview.overview import overview
from tfvis_nb.analysis.source.source_lines import source_lines
from tfvis_nb.analysis.steps.compare import compare
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.analysis.steps.difference_text import difference_text
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.labels import NO_OP, one_line, printable
from tfvis_nb.core.markup import markdown_code, markdown_text
from tfvis_nb.core.note_order import most_important_first
from tfvis_nb.core.places import without_places
from tfvis_nb.core.trace import Trace

MOST_WORDS = 1000
"""Limit on the words of a report."""
HEAD_BYTES = 2000
"""Limit on the bytes of the head of a report."""

_FINDINGS, _EVENTS, _LINES, _NOTES, _OPS = 6, 3, 5, 8, 5
_BRIEF_FINDINGS, _COMPARED, _CODE_LETTERS = 3, 12, 200
_LETTERS = (1000, 500, 300, 200, 140, 100, 70, 40, 20)
"""Lengths to which texts are cut until a brief report fits."""
_LONGEST_SHARED = 400
_SIDES = {"device_ns": "on devices", "host_ns": "on hosts", "network_ns": "in transfers"}
_PER = {"steps": " a step", "iterations": " an iteration", "recordings": ""}
"""Unit of a comparison to the words after its times."""


def report(trace: Trace, against: Trace | None = None) -> str:
    """Return a report of at most `MOST_WORDS` words; the same traces always give the same one.

    Texts of the trace are escaped or in code spans, so they cannot form links, images or HTML.
    """
    facts = overview(trace, against)
    lines = [
        f"# {markdown_text(one_line(trace))}",
        "",
        f"**{markdown_text(facts['headline'])}**",
        "",
        *([] if against is None else [*compared(trace, against), ""]),
        *(f"- {markdown_text(line.term)}: {markdown_text(line.value)}" for line in overview_lines(facts)),
        *_section("Findings", _findings(trace, against)),
        *_section("Lines with the most time", _lines(trace)),
        *_section("Notes", _notes(trace)),
    ]
    return "\n".join(_first_words(lines)) + "\n"


def brief(trace: Trace, most_bytes: int) -> str:
    """Return the headline, three findings and the five lines with the most time, as `report` has them.

    Texts are cut until the UTF-8 form fits.
    """
    for letters in _LETTERS:
        quoted = partial(markdown_text, most=letters)
        lines = [
            f"**{quoted(overview(trace)['headline'])}**",
            *_section("Findings", _findings(trace, quoted=quoted, most=_BRIEF_FINDINGS)),
            *_section("Lines with the most time", _lines(trace, letters=min(letters, _CODE_LETTERS))),
        ]
        text = "\n".join(lines) + "\n"
        if len(text.encode()) <= most_bytes:
            break
    return text


def report_head(trace: Trace, most: int = HEAD_BYTES) -> str:
    """Return headline, findings and lines of the report in at most `most` bytes, for a notebook's file.

    Notebooks are published with their outputs, so it has no code, title, hosts or folders.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.writing.report import report_head
    >>> columns = {"start_ns": [0, 6_000_000], "duration_ns": [6_000_000, 4_000_000], "kind": ["op"] * 2,
    ...            "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    >>> print(report_head(Trace(events.build(columns), title="/home/an/step.pb")))
    **Waiting for input takes 60.0 % of step time; the step takes 10.0 ms.**
    ...
    """
    lines = [
        f"**{_shared(overview(trace)['headline'])}**",
        *_section("Findings", _findings(trace, quoted=_shared)),
        *_section("Lines with the most time", [] if trace.stacks is None else _lines(trace, has_code=False)),
    ]
    while lines and (len("\n".join(lines).encode()) > most or not lines[-1] or lines[-1].startswith("#")):
        del lines[-1]
    return "\n".join(lines)


def _shared(text: str) -> str:
    return markdown_text(without_places(text), _LONGEST_SHARED)


def compared(trace: Trace, base: Trace) -> list[str]:
    """Compare with a base: the sentences of a comparison, and the ops that changed most."""
    sentences = " ".join(map(str, comparison_headline(base, trace)))
    names = f"A is {markdown_code(base.title or 'the base')}, B is this trace."
    table = compare(base, trace)
    per = _PER[table.attrs["unit"]] if "unit" in table.attrs else ""
    rows = table[table["step_difference_ns"].abs() > 0].head(_OPS).to_dict("records")
    return [f"{names} {markdown_text(sentences)}", "", *(_change(row, per) for row in rows)]


def compared_findings(trace: Trace, base: Trace) -> list[str]:
    """Name the findings of a trace and a base, which of them only one has, and their shares in both."""
    reason = next((reason for each in (base, trace) if (reason := why_not(findings(each)))), "")
    if reason:
        return _section("Findings", [f"Not available: {markdown_text(reason)}."])
    changes = compare_findings(base, trace)
    order = changes["change"].map({"added": 0, "removed": 1, "kept": 2})
    rows = changes.iloc[order.argsort(kind="stable")].to_dict("records")
    lines = [_changed_finding(row) for row in rows[:_COMPARED]]
    left_out = len(rows) - len(lines)
    more = [f"{left_out:,} more are left out; `report` has those of B."] if left_out else []
    return _section("Findings, with the shares of their causes", [*lines, *more])


def _changed_finding(row: dict[Any, Any]) -> str:
    shares = {"A": row["share_a"], "B": row["share_b"]}
    known = [f"{format_percent(share)} in {side}" for side, share in shares.items() if not math.isnan(share)]
    reason = f" Not known for the other: {markdown_text(row['reason'])}." if row["reason"] else ""
    return ", ".join([f"- {row['change']}: **{markdown_text(row['title'])}**", *known]) + f".{reason}"


def _change(row: dict[Any, Any], per: str) -> str:
    sign = "+" if row["step_difference_ns"] > 0 else "\N{MINUS SIGN}"
    name = markdown_code(row["op"]) if row["op"] else NO_OP
    text = f"- {name} ({row['kind']}): {sign}{format_duration(abs(row['step_difference_ns']))}{per} in B"
    if pd.isna(row["shown"]):
        return f"{text}, {row['change']}" if row["change"] in {"added", "removed"} else text
    ratio, *interval = (row["typical_ratio"], row["low_ratio"], row["high_ratio"])
    if row["shown"] and (ratio > 1) != (row["step_difference_ns"] > 0):
        return text  # the typical step has changed in the other direction than the sum
    return f"{text}, {difference_text(ratio, *interval, shown=bool(row['shown']))}"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    found = list(lines)
    return ["", f"## {title}", "", *found] if found else []


def _first_words(lines: list[str]) -> Iterator[str]:
    """Yield lines up to the limit of words, and say if some were left out."""
    rest = "The rest of the report is left out."
    words = len(rest.split())
    for line in lines:
        words += len(line.split())
        if words > MOST_WORDS:
            yield from ("", rest)
            return
        yield line


def _findings(
    trace: Trace,
    base: Trace | None = None,
    *,
    quoted: Callable[[str], str] = markdown_text,
    most: int = _FINDINGS,
) -> Iterator[str]:
    table, removed = findings_against(trace, base)
    if reason := why_not(table):
        yield f"Not available: {quoted(reason)}."
        return
    if table.empty:
        yield f"{NOTHING}."
    names = ("title", "level", "share", "figures", "text", "advice", "events", "event_count")
    rows = zip(*(table[name].head(most) for name in names), strict=True)
    for number, (title, level, share, figures, text, advice, events, count) in enumerate(rows, 1):
        sentences = " ".join(filter(None, (quoted(text), quoted(advice), _events(events, count))))
        yield f"{number}. **{quoted(title)}** ({level}{share_of(share, figures)}). {sentences}"
    if len(table) > most:
        yield ""
        yield f"{len(table) - most:,} more findings are in `trace.findings`."
    if overlap(table):
        yield ""
        yield OVERLAP
    if removed:
        yield ""
        yield f"Findings of the base only: {markdown_text('; '.join(removed))}."


def _events(events: list[int], count: int) -> str:
    """Name the first events by their row in ``trace.events``, which a timeline also shows."""
    shown = ", ".join(map(str, events[:_EVENTS]))
    return f"Events {shown}{f' of {count:,}' if count > _EVENTS else ''}." if events else ""


def _lines(trace: Trace, *, has_code: bool = True, letters: int = _CODE_LETTERS) -> Iterator[str]:
    table = source_lines(trace)
    if reason := why_not(table):
        yield f"Not available: {markdown_text(reason)}."
        return
    # The phases of a line are rows of their own.
    lines = table[table["file"] != ""].groupby(["file", "line", "text"], sort=False)[[*_SIDES]].sum()
    lines = lines.sort_values(["device_ns", "host_ns"], ascending=False, kind="stable")
    for row in lines.head(_LINES).reset_index().to_dict("records"):
        # Without folders, which name a user's home.
        name = printable(PureWindowsPath(row["file"]).name, letters)
        code = f": {markdown_code(row['text'].strip(), letters)}" if has_code else ""
        place = markdown_code(f"{name}:{row['line']}", letters + 20)
        yield f"- {place}, {_times(row)}{code}"


def _times(row: dict[Any, Any]) -> str:
    parts = [f"{format_duration(row[name])} {where}" for name, where in _SIDES.items() if row[name]]
    return ", ".join(parts) or "no time"


def _notes(trace: Trace) -> Iterator[str]:
    notes = most_important_first(trace.notes)
    yield from (f"- {markdown_text(note)}" for note in notes[:_NOTES])
    if len(notes) > _NOTES:
        yield f"- {len(notes) - _NOTES:,} more notes are in `trace.notes`."
