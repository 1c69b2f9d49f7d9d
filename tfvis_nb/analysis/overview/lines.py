"""The overview as lines of text, the same in a terminal, a notebook and the panels."""

import html
from collections.abc import Mapping
from pathlib import PureWindowsPath
from typing import Any, NamedTuple

from tfvis_nb.analysis.findings.clocks import MATTERS
from tfvis_nb.analysis.findings.idle_causes import ACROSS_TASKS, while_idle
from tfvis_nb.analysis.findings.rule import all_time
from tfvis_nb.analysis.steps.other_steps import is_set_apart
from tfvis_nb.analysis.steps.slow_steps import kind_label, times_median
from tfvis_nb.core.devices import ACCELERATOR
from tfvis_nb.core.format import format_amount, format_bytes, format_duration, format_percent
from tfvis_nb.core.labels import NO_OP, lane_label, printable, task_label
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.step_spans import STEP_NS
from tfvis_nb.core.undivided import whole_figures

STEP_TIME = ("Step time", "Recording")
"""The term of the first line, with steps and without."""
_ABOUT_PARTS = (
    "Activities of a task in {whole}. At each point in time one activity counts, the first in the"
    " order of the breakdown: launch is the time in which the task launches ops and computes nothing, even if"
    " its devices are idle for another cause."
)
_APART = 0.05
"""The share of the loop between steps from which its rounds differ enough from steps to be worth a figure."""
_TYPICAL = "the mean without the longest and the shortest fifth, as in a comparison."
_MEDIAN = "the median, because they differ too much for a typical one."
_WORTH_A_LINE = 0.01
"""The share of the loop from which time between steps has a line."""
_OF_ACCELERATORS = "the device ran a kernel, copy or collective"
_OF_CPUS = "the CPU ran an op or compiled; Python does not count"
_MOST_KINDS = 3
_MOST_DEVICES = 4
_MOST_PARTS = 4
_MOST_ALLOCATORS = 3
_LONGEST_NAME = 40
_LEFT = 'style="text-align: left"'
"""Overrides the notebook style that aligns cells to the right, which an ``align`` attribute does not."""


class Line(NamedTuple):
    """A figure of the overview: its name, its values, and its meaning."""

    term: str
    values: tuple[str, ...]
    about: str

    @property
    def value(self) -> str:
        """All values."""
        return ", ".join(self.values)


def overview_lines(facts: Mapping[str, Any]) -> list[Line]:
    """Return the figures of an overview, formatted for people."""
    return [
        *_step_lines(facts),
        *_device_lines(facts),
        *_part_lines(facts),
        *_phase_lines(facts["phases"]),
        *_clock_lines(facts["clocks"]),
        *_time_lines(facts),
        *_op_lines(facts["top_ops"]),
        *_code_lines(facts["top_lines"]),
        *_memory_lines(facts["memory"]),
    ]


def _step_lines(facts: Mapping[str, Any]) -> list[Line]:
    steps, first = facts["steps"], facts["first_step"]
    if not steps["count"]:
        return []
    value = format_duration(steps["typical_ns"])
    if steps["count"] > 1:
        value = _which(value, steps["alike"])
    if is_set_apart(first):
        value += " after the first step"
    lines = []
    if steps["interval_ns"] and facts["outside"] is not None and facts["outside"]["loop_share"] > _APART:
        alike = steps["interval_alike"]
        about = f"Each step and the time until the next: {_TYPICAL if alike else _MEDIAN}"
        loop = _which(format_duration(steps["interval_ns"]), alike)
        loop = tested(loop, steps.get("interval_change"), alike)
        lines.append(Line("Round of the loop", (loop,), about))
    if steps["p95_ns"] is not None:
        about = "The duration that 95 % of the steps do not exceed."
        p95 = _changed(format_duration(steps["p95_ns"]), steps.get("p95_change"))
        lines.append(Line("Step time p95", (p95,), about))
    if steps["joules"] is not None:
        about = "The energy that the GPUs used from the start of a step to its end; the median."
        joules = _changed(format_amount(steps["joules"], "J"), steps.get("joules_change"))
        lines.append(Line("Energy of a step", (joules,), about))
    kinds = facts["kinds"]
    count = f"{steps['count']:,} step{'' if steps['count'] == 1 else 's'}"
    if kinds:
        count = f"{kinds[0]['count']:,} {kind_label(kinds[0]['kind'])}steps"
    if steps["count"] > 1 or facts["undivided"]:
        value += ", no steps marked" if facts["undivided"] else f", {count}"
    about = f"The time from the start of a step to its end: {_TYPICAL if steps['alike'] else _MEDIAN}"
    if steps["count"] == 1:
        about = STEP_NS
    value = tested(value, steps.get("change"), steps["alike"])
    lines.insert(0, Line(STEP_TIME[facts["undivided"]], (value,), about))
    for kind in kinds[1 : 1 + _MOST_KINDS]:
        noun = "step" if kind["count"] == 1 else "steps"
        number = f"{kind['count']:,} {kind_label(kind['kind'])}{noun}"
        value = f"{_which(format_duration(kind['typical_ns']), kind['alike'])}, {number}"
        value = _changed(value, kind.get("change"))
        lines.append(Line("Other steps", (value,), "Steps of another kind, by their labels without numbers."))
    if first is not None:
        value = f"{format_duration(first['first_ns'])}, {times_median(first)} times the median of the others"
        value = _changed(value, first.get("change"))
        about = "A first step includes one-time work such as tracing, compiling and filling buffers."
        lines.append(Line("First step", (value,), about))
    return lines


def _device_lines(facts: Mapping[str, Any]) -> list[Line]:
    lines, devices = [], facts["devices"]
    step_time = _whole(facts)
    names = [lane_label(device["task"], device["device"], "") for device in devices]
    for device in devices[:_MOST_DEVICES]:
        value = _changed(f"{format_percent(device['busy_share'])} of {step_time}", device.get("change"))
        if device["loop_busy_share"] is not None:
            value += f", {format_percent(device['loop_busy_share'])} of the loop"
        if device["cause"]:
            cause = while_idle(device["cause"], _is_doubtful(facts, device), of_cpu=_is_cpu(device))
            value += f", idle {format_percent(device['cause_share'])} {cause}"
        name = lane_label(device["task"], device["device"], "")
        # Devices of different runs may share a label, because labels leave out the job localhost.
        job = device["task"].partition("job:")[2].partition("/")[0] if names.count(name) > 1 else ""
        name = printable(" \N{MIDDLE DOT} ".join(filter(None, (job, name))), _LONGEST_NAME)
        work = _OF_CPUS if _is_cpu(device) else _OF_ACCELERATORS
        about = (
            f"Share of {step_time} in which {work}; then the main cause of its idle time, also as a share of"
            f" {step_time}."
        )
        lines.append(Line(f"{name} busy", (value,), about))
    if len(devices) > _MOST_DEVICES:
        rest = devices[_MOST_DEVICES:]
        most = format_percent(max(device["busy_share"] for device in rest))
        value = f"up to {most} of {step_time}"
        lines.append(
            Line(f"{len(rest)} more devices busy", (value,), "The busiest of the devices not listed.")
        )
    return lines


def _is_cpu(device: Mapping[str, Any]) -> bool:
    return ACCELERATOR.search(device["device"]) is None


def _is_doubtful(facts: Mapping[str, Any], device: Mapping[str, Any]) -> bool:
    """Return whether clocks are known too little for the main cause of a device's idle time."""
    if device["cause"] not in ACROSS_TASKS or facts["clocks"] is None:
        return False
    within, idle_ns = facts["clocks"]["within_ns"], device["cause_share"] * facts["steps"]["median_ns"]
    return within is None or within >= MATTERS * idle_ns


def parts_term(facts: Mapping[str, Any]) -> str:
    """Return the label of the parts of step time, or of a single step."""
    if facts["undivided"]:
        return "Recording by main activity"
    if is_set_apart(facts["first_step"]):
        return "Later steps by main activity"
    return "Step time by main activity" if facts["steps"]["count"] > 1 else "Step by main activity"


def _whole(facts: Mapping[str, Any]) -> str:
    apart = {"apart": True} if is_set_apart(facts["first_step"]) else {}
    return all_time(whole_figures(facts["undivided"]) | apart)


def _part_lines(facts: Mapping[str, Any]) -> list[Line]:
    whole_time = facts["step_time"]
    if whole_time is None or not whole_time["step_ns"]:
        return []
    lines = []
    several = len(whole_time["tasks"]) > 1
    for task in whole_time["tasks"][:_MOST_DEVICES]:
        parts = sorted(task["parts"].items(), key=lambda item: -item[1])[:_MOST_PARTS]
        changes = task.get("changes", {})
        values = [
            _changed(
                f"{part_label(part)} {format_percent(amount / max(task['step_ns'], 1))}", changes.get(part)
            )
            for part, amount in parts
        ]
        name = f", {_named(task['task'])}" if several else ""
        lines.append(
            Line(f"{parts_term(facts)}{name}", (", ".join(values),), _ABOUT_PARTS.format(whole=_whole(facts)))
        )
    return lines


def _phase_lines(phases: list[dict[str, Any]]) -> list[Line]:
    values = tuple(
        _changed(
            f"{printable(phase['op'], _LONGEST_NAME)} {format_duration(phase['ns'])}", phase.get("change")
        )
        for phase in phases
    )
    about = "Phases of communication, by the time during which any event of the type runs. Phases overlap."
    return [Line("Phases of communication", values, about)] if values else []


def _clock_lines(clocks: Mapping[str, Any] | None) -> list[Line]:
    if clocks is None:
        return []
    known = clocks["within_ns"]
    value = "not aligned" if known is None else f"known to within {format_duration(known)}"
    about = "How far the clocks of tasks may be apart; waits between tasks are uncertain by as much."
    return [Line("Clocks of tasks", (value,), about)]


def _named(task: str) -> str:
    return printable(task_label(task), _LONGEST_NAME) or "local"


def part_label(part: str) -> str:
    """Return the name of a part of a step."""
    name = part.removesuffix("_ns")
    return LABELS.get(name, name.replace("_", " "))


def _time_lines(facts: Mapping[str, Any]) -> list[Line]:
    lines = []
    if facts["host_ns"]:
        share = facts["host_ns"] / max(facts["step_time"]["step_ns"], 1)
        value = _changed(f"{format_percent(share)} of {_whole(facts)}", facts.get("host_change"))
        about = "Time during which Python or the runtime ran, including time when something else ran as well."
        lines.append(Line("Python or runtime active", (value,), about))
    outside = facts["outside"]
    if outside is not None and outside["loop_share"] >= _WORTH_A_LINE:
        value = (
            f"{format_duration(outside['pauses_ns'])}, {format_percent(outside['loop_share'])} of the loop"
        )
        value = _changed(value, outside.get("loop_change"))
        about = "The time between steps. A first step that is set apart is not part of the loop."
        lines.append(Line("Between steps", (value,), about))
    if outside is not None and outside["outside_ns"] and facts["steps"]["count"]:
        value = f"{format_duration(outside['outside_ns'])}, {format_percent(outside['run_share'])} of the run"
        value = _changed(value, outside.get("run_change"))
        about = "The run without its steps: before the first one, between them, and after the last one."
        lines.append(Line("Outside steps", (value,), about))
    return lines


def _op_lines(top: Mapping[str, list[dict[str, Any]]]) -> list[Line]:
    about = (
        "Op types by self time over the whole trace: without the events nested in them on their lane. Host"
        " events that only wrap others or wait for them do not count."
    )
    return [
        Line(
            f"Top {side} ops, whole trace",
            tuple(
                _changed(
                    f"{printable(op['op'], _LONGEST_NAME) or NO_OP} {format_duration(op['self_ns'])}",
                    op.get("change"),
                )
                for op in top[side]
            ),
            about,
        )
        for side in ("device", "host")
        if top[side]
    ]


def _code_lines(top: list[dict[str, Any]]) -> list[Line]:
    values = tuple(
        _changed(
            # Without folders, which name a user's home.
            f"{printable(PureWindowsPath(each['file']).name, _LONGEST_NAME)}:{each['line']}"
            f" {format_duration(each['self_ns'])}",
            each.get("change"),
        )
        for each in top
    )
    about = (
        "Lines of your code by the self time of the events that they made, on devices if any of these has a"
        " line, else on hosts. The Code button opens all of them."
    )
    return [Line("Top lines, whole trace", values, about)] if values else []


def _memory_lines(memory: list[dict[str, Any]]) -> list[Line]:
    values = [
        _changed(
            f"{printable(' '.join(filter(None, (task_label(one['task']), one['allocator']))), _LONGEST_NAME)}"
            f" {format_bytes(one['peak_bytes'])}",
            one.get("change"),
        )
        for one in memory[:_MOST_ALLOCATORS]
    ]
    about = "The most bytes that an allocator had allocated in any step."
    return [Line("Peak memory", tuple(values), about)] if values else []


def _changed(value: str, change: str | None) -> str:
    """Add the difference from a base, if it is known."""
    return f"{value} ({change})" if change else value


def tested(value: str, change: str | None, alike: bool) -> str:
    """Add a difference of means, which may have an interval in parentheses."""
    return f"{value}; {'' if alike else 'on average '}{change}" if change else value


def _which(value: str, alike: bool) -> str:
    return f"{value} {'typical' if alike else 'median'}"


def as_text(facts: Mapping[str, Any]) -> str:
    """Write an overview for a terminal."""
    lines = overview_lines(facts)
    width = max((len(line.term) for line in lines), default=0)
    rows = [f"  {line.term.ljust(width)}  {line.value}" for line in lines]
    return "\n".join([facts["headline"], *rows])


def as_html(facts: Mapping[str, Any]) -> str:
    """Write an overview as a headline and a table."""
    rows = "".join(
        f"<tr><th {_LEFT}>{html.escape(line.term)}</th><td {_LEFT}>{html.escape(line.value)}</td></tr>"
        for line in overview_lines(facts)
    )
    return f"<p><b>{html.escape(facts['headline'])}</b></p>\n<table><tbody>{rows}</tbody></table>"
