"""A static replacement of the monitor without scripts or a kernel: the session when it was shown."""

import html
from collections.abc import Iterable, Mapping
from typing import Any

from tfvis_nb.core.format import format_duration
from tfvis_nb.core.labels import printable

_MOST_ROWS = 20
_MOST_LETTERS = 60


def monitor_line(state: Mapping[str, Any]) -> str:
    """Describe the content of a session in one line."""
    name = printable(" ".join(state["name"].split()), 80)
    if state["waiting"] and not state["problem"]:
        return printable(state["waiting"], 300)
    if state["problem"] and not state["signatures"]:
        return f"{name}: {printable(state['problem'], 300)}"
    running = sum(process["end_ms"] is None for process in state["processes"])
    counts = (
        _count(state["signatures_total"], "signature"),
        _count(state["runs_total"], "run"),
        _count(state["traces_total"], "trace"),
        f"{_count(running, 'process', 'es')} running" if running else "nothing running",
    )
    return f"{name}: {', '.join(counts)}"


def monitor_html(state: Mapping[str, Any]) -> str:
    """Tabulate the counts of a session's state as plain HTML that sites keep when they sanitize notebooks."""
    parts = [f"<p><b>{html.escape(monitor_line(state))}</b></p>"]
    if state["problem"] and state["signatures"]:
        parts.append(f"<p>{html.escape(printable(state['problem'], 300))}</p>")
    if state["rule"]:
        parts.append(f"<p>traced: {html.escape(printable(state['rule'], _MOST_LETTERS))}</p>")
    longest = sorted(state["signatures"], key=lambda signature: -signature["total_ns"])
    if longest:
        parts.append(_table(longest[:_MOST_ROWS]))
        left_out = state["signatures_total"] - len(longest[:_MOST_ROWS])
        parts += [f"<p><i>{left_out:,} more</i></p>"] if left_out > 0 else []
    return "\n".join(parts)


def _table(signatures: Iterable[Mapping[str, Any]]) -> str:
    numbers = ("runs", "failed", "mean", "total", "traces")
    head = "".join(f"<th>{name}</th>" for name in ("run", "kind", *numbers, "traced"))
    rows = "".join(_row(signature) for signature in signatures)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(signature: Mapping[str, Any]) -> str:
    mean = signature["mean_ns"]
    numbers = (
        f"{signature['runs']:,}",
        f"{signature['failed']:,}",
        "" if mean is None else format_duration(mean),
        format_duration(signature["total_ns"]),
        f"{signature['traces']:,}",
    )
    requested = [signature["rule"], f"{signature['requested']} requested" if signature["requested"] else ""]
    return (
        f"<tr><td>{_text(signature['label'])}</td><td>{_text(signature['kind'])}</td>"
        + "".join(f'<td align="right">{number}</td>' for number in numbers)
        + f"<td>{_text(', '.join(filter(None, requested)))}</td></tr>"
    )


def _text(text: str) -> str:
    return html.escape(printable(text, _MOST_LETTERS))


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"
