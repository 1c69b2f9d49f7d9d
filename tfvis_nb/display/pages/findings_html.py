"""Findings as plain HTML: for those who read a notebook where nothing runs, and in mail."""

from __future__ import annotations

import html

from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace

_MOST = 10
_LONGEST = 600
"""Characters of one text."""


def findings_html(trace: Trace) -> str:
    """Write what was found of a trace as paragraphs: the share of the time, the title, the text, the advice.

    Parameters
    ----------
    trace
        As the tab of findings has it; they are computed once.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.pages.findings_html import findings_html
    >>> findings_html(Trace(events.build({"start_ns": [5], "duration_ns": [2], "kind": ["op"]})))[:20]
    '<p><b>Findings</b></'
    """
    head = "<p><b>Findings</b></p>"
    found = trace.findings
    reason = why_not(found)
    if reason:
        return f"{head}\n<p>Cannot say, because {_text(reason)}.</p>"
    if found.empty:
        return f"{head}\n<p>None.</p>"
    words = [found.head(_MOST)[name].astype(str) for name in ("title", "text", "advice")]
    rows = [
        f"<p><b>{share:.0%} of the time: {title}</b> {text} <i>{advice}</i></p>"
        for share, title, text, advice in zip(
            found["share"].head(_MOST).tolist(), *(map(_text, texts) for texts in words), strict=True
        )
    ]
    more = len(found) - len(rows)
    return "\n".join([head, *rows, *([f"<p><i>({more:,} more)</i></p>"] if more else [])])


def _text(text: str) -> str:
    return html.escape(printable(text, _LONGEST))
