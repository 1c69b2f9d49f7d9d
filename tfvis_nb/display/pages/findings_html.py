"""Findings as plain HTML: for those who read a notebook where nothing runs, and in mail."""

import html

from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace

_MOST = 10
_LONGEST = 600
"""Characters of one text."""


def findings_html(trace: Trace) -> str:
    """Write the findings of a trace as paragraphs: share of the time, title, text, advice."""
    head = "<p><b>Findings</b></p>"
    found = trace.findings
    reason = why_not(found)
    if reason:
        return f"{head}\n<p>Not available: {_text(reason)}.</p>"
    if found.empty:
        return f"{head}\n<p>None.</p>"
    columns = [found.head(_MOST)[name].astype(str) for name in ("title", "text", "advice")]
    rows = [
        f"<p><b>{share:.0%} of the time: {title}</b> {text} <i>{advice}</i></p>"
        for share, title, text, advice in zip(
            found["share"].head(_MOST).tolist(), *(map(_text, texts) for texts in columns), strict=True
        )
    ]
    more = len(found) - len(rows)
    return "\n".join([head, *rows, *([f"<p><i>({more:,} more)</i></p>"] if more else [])])


def _text(text: str) -> str:
    return html.escape(printable(text, _LONGEST))
