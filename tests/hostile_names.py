"""Texts that a trace can contain and a page must show literally."""

from tfvis_nb import Trace, events

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "</noscript><b>",
    "]]>&amp;&#x3C;",
    "javascript:alert(1)",
    "a\x00b\x07c\x1b[31m\r\n\u2028",
    "\u202eevil\u202c \u200f",
    "$title ${code} %s {0}",
    "x" * 10_000,
    "\U0001f600/\u03bb",
)


def hostile_trace() -> Trace:
    """A trace whose every text is hostile: names, ops, lanes, devices, tensors, labels, notes, title."""
    count = len(HOSTILE)
    texts = list(HOSTILE)
    table = events.build(
        {
            "start_ns": [1_700_000_000_000_000_000 + 1000 * i for i in range(count)],
            "duration_ns": [1500] * count,
            "kind": ["transfer" if i % 2 else "op" for i in range(count)],
            **dict.fromkeys(
                ("name", "op", "lane", "device", "task", "tensor", "source", "destination"), texts
            ),
            # The largest ids, which a float64 does not hold.
            "thread": [2**63 - 1 - i if i % 2 else i - 2**63 for i in range(count)],
            "detail": [f"{text} = {text}({text})" for text in texts],
        }
    )
    return Trace(table, notes=texts, title=HOSTILE[0] + HOSTILE[7])
