"""``tfvis-nb check``: check traces in CI against limits and a base, as text, JSON, JUnit XML or Markdown."""

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import click
import pandas as pd

from tfvis_nb.analysis.gates.check import check
from tfvis_nb.analysis.gates.gate_metrics import METRICS
from tfvis_nb.analysis.gates.limits import Limit, limit_of, shares_of
from tfvis_nb.analysis.gates.report import HEAD, OK, UNKNOWN, WORSE, as_text, cells, verdict
from tfvis_nb.cli.errors import Failure, note
from tfvis_nb.cli.parameters import FILE
from tfvis_nb.cli.traces import SOURCE, TRACES, Source, read
from tfvis_nb.cli.verb import verb
from tfvis_nb.core.labels import printable
from tfvis_nb.core.markup import markdown_text
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text, id_of, text_of

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


EXIT_CODES = {OK: 0, WORSE: 1, UNKNOWN: 2}
"""Result of all checks to the exit code."""

_WITH_BASE = [name for name, metric in METRICS.items() if metric.has_base]

_ABOUT = f"""
Each TRACE is checked by itself: a file, a folder or a pattern in any format that tfvis_nb.read_trace reads.
Counts and bytes are compared as they are. A time is worse only if the steps show it: the whole 95 % interval
lies above the limit, or beyond the base by more than --worse.

Metrics: {", ".join(METRICS)}. docs/metrics/comparisons.md defines them.
"""

_EXAMPLES = """
tfvis-nb check step.pb --max launches=500 --max retraces=0 --max peak_bytes=2GiB
tfvis-nb check step.parquet --against base.parquet --worse step_ms=20% --format markdown
"""

_CODES = "; here also 1 for worse and 2 for unknown, as for a file that cannot be read"


def _limit(text: str) -> tuple[str, float]:
    """Return a metric and its limit."""
    metric, _, limit = (part.strip() for part in text.partition("="))
    try:
        return metric, limit_of(metric, limit)
    except ValueError as error:
        raise click.BadParameter(text_of(error)) from None


def _share(text: str) -> dict[str, Limit]:
    """Return the share of a metric, or of all."""
    metric, given, share = (part.strip() for part in text.rpartition("="))
    shares: dict[str, Limit] = {metric: share} if given else dict.fromkeys(_WITH_BASE, share)
    try:
        shares_of(shares)
    except ValueError as error:
        raise click.BadParameter(text_of(error)) from None
    return shares


@verb("check", _ABOUT, _EXAMPLES, more_codes=_CODES)
@TRACES
@click.option(
    "--max",
    "limits",
    metavar="METRIC=LIMIT",
    type=_limit,
    multiple=True,
    help="The most that is allowed, such as launches=500, peak_bytes=2GiB or step_ms=12ms; repeatable.",
)
@click.option(
    "--limits",
    "limits_file",
    metavar="FILE.toml",
    type=FILE,
    help="Read limits from the table [max] of a TOML file; --max takes precedence.",
)
@click.option("--against", metavar="BASE", type=SOURCE, help="A trace to compare with.")
@click.option(
    "--worse",
    metavar="[METRIC=]SHARE",
    type=_share,
    multiple=True,
    help="What exceeds the base by more than this is worse, such as 5% or step_ms=20%; repeatable."
    "  [default: 5%]",
)
@click.option("--format", "form", type=click.Choice([*FORMATS]), default="text", show_default=True)
def command(
    traces: tuple[Source, ...],
    *,
    max_unpacked: int | None,
    limits: Sequence[tuple[str, float]],
    limits_file: Path | None,
    against: Source | None,
    worse: Sequence[Mapping[str, Limit]],
    form: str,
) -> int:
    """Check each trace, write the results; return the exit code."""
    allowed = ({} if limits_file is None else read_limits(limits_file)) | dict(limits)
    if not allowed and against is None:
        raise click.UsageError(Text("no_limits_given"))
    if worse and against is None:
        raise click.UsageError(Text("worse_option_alone"))
    try:
        base = None if against is None else read((against,), max_unpacked=max_unpacked)
    except Failure as failure:
        note(failure.message)
        return EXIT_CODES[UNKNOWN]
    shares: dict[str, Limit] = {}
    for given in sorted(worse, key=len, reverse=True):
        shares |= given  # the share of a metric after the share of all
    checked = [_checked(path, max_unpacked, allowed, base, shares) for path in traces]
    print(FORMATS[form](checked))  # noqa: T201
    results = {one.result for one in checked}
    return EXIT_CODES[next(result for result in (WORSE, UNKNOWN, OK) if result in results)]


def _checked(
    path: Source,
    max_unpacked: int | None,
    limits: Mapping[str, float],
    base: Trace | None,
    worse: Mapping[str, Limit],
) -> CheckedTrace:
    try:
        trace = read((path,), max_unpacked=max_unpacked)
    except Failure as failure:
        return CheckedTrace(str(path), UNKNOWN, None, failure.message.removeprefix(f"{path}: "))
    table = check(trace, limits, against=base, worse=worse)
    return CheckedTrace(str(path), verdict(table), table)


def read_limits(path: Path) -> dict[str, float]:
    """Read the limits in a TOML file.

    Raises
    ------
    click.UsageError
        If there is no such file, or it contains anything but limits.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(Text("limits_unreadable", path=path, reason=error)) from None
    limits = document.get("max")
    if set(document) != {"max"} or not isinstance(limits, dict):
        raise click.UsageError(Text("limits_without_table", path=path))
    try:
        return {metric: limit_of(metric, limit) for metric, limit in limits.items()}
    except ValueError as error:
        raise click.UsageError(Text("limits_unreadable", path=path, reason=error)) from None
