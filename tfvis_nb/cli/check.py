"""``tfvis-nb check``: check traces against limits and a base, for CI."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from tfvis_nb.analysis.gates.check import check
from tfvis_nb.analysis.gates.gate_metrics import METRICS
from tfvis_nb.analysis.gates.limits import Limit, limit_of, shares_of
from tfvis_nb.analysis.gates.report import OK, UNKNOWN, WORSE, verdict
from tfvis_nb.cli.check_formats import FORMATS, CheckedTrace
from tfvis_nb.cli.errors import Failure, note
from tfvis_nb.cli.parameters import FILE
from tfvis_nb.cli.traces import SOURCE, TRACES, Source, read
from tfvis_nb.cli.verb import verb
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text, text_of

EXIT_CODES = {OK: 0, WORSE: 1, UNKNOWN: 2}
"""Result of all checks to the exit code."""

_WITH_BASE = [name for name, metric in METRICS.items() if metric.has_base]

_ABOUT = f"""
Each TRACE is checked by itself: a file, a folder or a pattern in any format that tfvis_nb.read_trace reads.
Counts and bytes are compared as they are. A time is worse only if the steps show it: the whole 95 % interval
lies above the limit, or beyond the base by more than --worse.

Metrics: {", ".join(METRICS)}. docs/metrics.md defines them.
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
