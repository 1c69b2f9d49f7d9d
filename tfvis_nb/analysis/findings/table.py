"""The table of findings, which notebooks show with their texts."""

import html
import math
import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_percent, unbroken
from tfvis_nb.core.labels import printable
from tfvis_nb.core.undivided import whole

NOTHING = "No dominant bottleneck"
"""The text if nothing is found."""
OVERLAP = "Shares overlap: the same time can count for several findings."

_MOST = 20
_LONGEST = 1000
"""Maximum number of characters of a text."""
_WIDTH = 100
_SHOWN = ("level", "share", "figures", "title", "text", "advice")


class FindingsTable(pd.DataFrame):
    """Findings as a DataFrame; operations on it return ordinary DataFrames."""

    def __repr__(self) -> str:
        if reason := why_not(self):
            return f"Findings are not available: {reason}."
        if not {*_SHOWN} <= {*self.columns}:
            return super().__repr__()
        return "\n".join(findings_lines(self)) or NOTHING

    def _repr_html_(self) -> str:
        return findings_html(self)


def findings_lines(table: pd.DataFrame) -> list[str]:
    """Write title, level, share of step time, text and advice of each finding in full, for a terminal."""
    lines = []
    columns = (table[name].tolist() for name in _SHOWN)
    for level, share, figures, *texts in zip(*columns, strict=True):
        title, *paragraphs = (printable(text, _LONGEST) for text in texts)
        lines.append(f"{title} ({level}{share_of(share, figures)})")
        for text in paragraphs:
            wrapped = textwrap.wrap(unbroken(text), _WIDTH, initial_indent="  ", subsequent_indent="  ")
            lines += [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrapped]
    return [*lines, OVERLAP] if overlap(table) else lines


def findings_html(table: pd.DataFrame) -> str:
    """Write title, level, share of step time, text and advice of each finding in full."""
    if reason := why_not(table):
        return f"<p>Findings are not available: {_text(reason)}.</p>"
    if table.empty:
        return f"<p><b>{NOTHING}</b></p>"
    rated = [table.head(_MOST)[name].tolist() for name in ("share", "figures")]
    columns = [table.head(_MOST)[name].astype(str) for name in ("level", "title", "text", "advice")]
    rows = [
        f"<p><b>{title}</b> ({level}{share_of(share, figures)}) {text} <i>{advice}</i></p>"
        for share, figures, level, title, text, advice in zip(
            *rated, *(map(_text, texts) for texts in columns), strict=True
        )
    ]
    more = len(table) - len(rows)
    rows += [f"<p><i>({more:,} more)</i></p>"] if more else []
    rows += [f"<p>{OVERLAP}</p>"] if overlap(table) else []
    return unbroken("\n".join(rows))


def table_of(rows: pd.DataFrame) -> FindingsTable:
    """Return findings, or the reason why there are none, as a `FindingsTable`."""
    table = FindingsTable(rows)
    table.attrs.update(rows.attrs)
    return table


def overlap(table: pd.DataFrame) -> bool:
    """Return whether the shares of findings, with the busy time of a device, exceed the time of the steps."""
    busy = max((figures.get("busy_share", 0.0) for figures in table["figures"]), default=0.0)
    return int(table["share"].notna().sum()) > 1 and float(table["share"].sum()) + busy > 1


def share_of(share: float, figures: Mapping[str, Any]) -> str:
    """Format a finding's share for display after a level; empty if there is none."""
    return "" if math.isnan(share) else f", {format_percent(share)} of {whole(figures)}"


def _text(text: str) -> str:
    return html.escape(printable(text, _LONGEST))
