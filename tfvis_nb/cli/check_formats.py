"""The results of ``tfvis-nb check`` as text, JSON, JUnit XML and a Markdown table."""

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pandas as pd

from tfvis_nb.analysis.gates.report import HEAD, UNKNOWN, WORSE, as_text, cells
from tfvis_nb.core.labels import printable
from tfvis_nb.core.markup import markdown_text
from tfvis_nb.texts import id_of

SCHEMA_VERSION = 1
"""Version of the JSON; it increases when a field changes or is removed."""

_LONGEST = 500


class CheckedTrace(NamedTuple):
    """A trace with its result, the table of `check`, or the reason why it cannot be read."""

    path: str
    result: str
    table: pd.DataFrame | None
    reason: str = ""


def to_text(checked: Sequence[CheckedTrace]) -> str:
    """Write a title and a table for each trace."""
    parts = []
    for one in checked:
        title = f"{_plain(one.path)}: {one.result}"
        parts.append(
            f"{title}: {_plain(one.reason)}" if one.table is None else f"{title}\n{as_text(one.table)}"
        )
    return "\n\n".join(parts)


def to_json(checked: Sequence[CheckedTrace]) -> str:
    """Write all figures; unknown ones are None."""
    traces = [
        {"trace": one.path, "result": one.result, "reason": one.reason, "checks": _records(one.table)}
        for one in checked
    ]
    return json.dumps({"schema_version": SCHEMA_VERSION, "traces": traces}, indent=1)


def to_markdown(checked: Sequence[CheckedTrace]) -> str:
    """Write one table, as in a comment on a pull request."""
    lines = [_line(["trace", *HEAD]), "|" + "---|" * (len(HEAD) + 1)]
    for one in checked:
        rows = (
            [("",) * (len(HEAD) - 1) + (f"{UNKNOWN}: {one.reason}",)]
            if one.table is None
            else cells(one.table)
        )
        lines += [_line([one.path, *row], strong=row[-1] == WORSE) for row in rows]
    return "\n".join(lines)


def to_junit(checked: Sequence[CheckedTrace]) -> str:
    """Write a suite for each trace and a case for each check, for the page of a CI run."""
    root = ET.Element("testsuites")
    for one in checked:
        suite = ET.SubElement(root, "testsuite", name=_plain(one.path))
        if one.table is None:
            case = ET.SubElement(suite, "testcase", classname=_plain(one.path), name="read")
            ET.SubElement(case, "error", message=_plain(one.reason))
        else:
            _add_cases(suite, one)
        counts = {
            name: str(len(suite.findall(f"testcase/{name}"))) for name in ("failure", "error", "skipped")
        }
        suite.attrib |= {
            "tests": str(len(suite)),
            "failures": counts["failure"],
            "errors": counts["error"],
            "skipped": counts["skipped"],
        }
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode")


def _add_cases(suite: ET.Element, one: CheckedTrace) -> None:
    assert one.table is not None
    for row, texts in zip(_records(one.table), cells(one.table), strict=True):
        name = f"{row['metric']} ({row['bound']})"
        case = ET.SubElement(suite, "testcase", classname=_plain(one.path), name=name)
        message = ", ".join(_plain(f"{head} {text}") for head, text in zip(HEAD, texts, strict=True) if text)
        if row["result"] == WORSE:
            ET.SubElement(case, "failure", message=message)
        elif row["result"] == UNKNOWN:
            ET.SubElement(case, "error" if row["required"] else "skipped", message=message)


def _records(table: pd.DataFrame | None) -> list[dict[str, Any]]:
    if table is None:
        return []
    ids = [{"reason_id": id_of(reason)} for reason in table["reason"]]
    return [
        {
            str(name): None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        | identified
        for row, identified in zip(table.to_dict("records"), ids, strict=True)
    ]


def _line(texts: Sequence[str], *, strong: bool = False) -> str:
    escaped = (markdown_text(text, _LONGEST) for text in texts)
    return f"| {' | '.join(f'**{text}**' if strong and text else text for text in escaped)} |"


def _plain(text: str) -> str:
    """Turn a text into one line without control characters."""
    return printable(" ".join(text.split()), _LONGEST)


FORMATS: dict[str, Callable[[Sequence[CheckedTrace]], str]] = {
    "text": to_text,
    "json": to_json,
    "junit": to_junit,
    "markdown": to_markdown,
}
