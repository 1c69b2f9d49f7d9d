"""The tab of steps: their durations, causes of slow steps, and stragglers."""

from tfvis_nb.analysis.communication import stragglers
from tfvis_nb.analysis.steps import slow_steps
from tfvis_nb.analysis.unavailable import NONE, why_not
from tfvis_nb.core.step_spans import STEP_NS
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import only_step
from tfvis_nb.display.tabs.against import with_base_shares
from tfvis_nb.display.tabs.blocks import MOST_ROWS, Block, TableBlock, TableColumn, chart, figures, key, table
from tfvis_nb.display.tabs.wording import activity_label, named
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_CHART = "The duration of each step; the dashed line is the median."
_WITH_BASE = f"{_CHART[:-1]}, the dotted one that of the base."


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    if _several(trace):
        return ""
    return why_not(stragglers.late_tasks(trace)) if _meet(trace) else only_step(trace)


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return the chart of steps, the figures of each step, and stragglers if there are several tasks."""
    steps: list[Block] = []
    if _several(trace):
        has_base = against is not None and slow_steps.median_step_ns(against) is not None
        block = chart(trace, "steps", _WITH_BASE if has_base else _CHART, against=against)
        steps = [block, _table(trace), _against_median(trace)]
    return [*steps, _late_tasks(trace, against)] if _meet(trace) else steps


def _table(trace: Trace) -> TableBlock:
    steps = trace.steps[trace.steps["step"] != NO_STEP]
    columns = [
        key("step", "Step", "step"),
        TableColumn("label", "Name", "text", "Name of the step in the program or the file."),
        TableColumn("duration_ns", "Duration", "ns", STEP_NS),
        TableColumn("ratio", "vs. median", "ratio", slow_steps.FIGURES["ratio"]),
        TableColumn("start_ns", "Start", "time", "Start of the step, since the trace's first event, in ns."),
        TableColumn("events", "Events", "count", "Number of events in the step."),
    ]
    compared = slow_steps.slow_steps(trace).set_index("step")["ratio"]
    targets = ZoomTargets(trace) if len(steps) else None
    rows = steps.assign(
        ratio=compared.reindex(steps["step"]).to_numpy(),
        start_ns=steps["start_ns"] - (targets.origin if targets else 0),
    )
    order = "first"
    if len(rows) > MOST_ROWS:
        rows, order = rows.sort_values("duration_ns", ascending=False, kind="stable"), "longest"
    if not rows["label"].astype(bool).any():
        columns = [column for column in columns if column.name != "label"]
    zoom = targets.of_steps(rows["step"].head(MOST_ROWS)) if targets else []
    reason = NONE if len(steps) else Text("no_steps")
    return table("Step by step", rows, columns, zoom=zoom, reason=reason, order=order)


def _against_median(trace: Trace) -> TableBlock:
    """Return a table of each step's difference from the median step, the longest first."""
    compared = slow_steps.slow_steps(trace)
    columns = [
        key("step", "Step", "step"),
        *figures(
            slow_steps.FIGURES,
            ("excess_ns", "Change", "ns"),
            ("ratio", "vs. median", "ratio"),
            ("work_ns", "Kernel time", "ns"),
            ("work_ratio", "Kernels vs. median", "ratio"),
            ("activity", "Main cause", "text"),
            ("activity_ns", "Its change", "ns"),
            ("op", "Op", "name"),
            ("op_ns", "Op change", "ns"),
        ),
    ]
    rows = compared.sort_values("duration_ns", ascending=False, kind="stable").head(MOST_ROWS)
    rows = rows.assign(activity=[activity_label(name) for name in rows["activity"]])
    zoom = [] if why_not(compared) else ZoomTargets(trace).of_steps(rows["step"])
    middle = f", step {compared['median_step'].iloc[0]}" if len(compared) else ""
    return table(
        "Compared with the median step",
        rows,
        columns,
        definition=f"Each step compared with the step of median duration{middle}.",
        zoom=zoom,
        light="op",
        reason=why_not(compared),
        row_count=len(compared),
        order="longest",
    )


def _several(trace: Trace) -> bool:
    return int((trace.steps["step"] != NO_STEP).sum()) > 1


def _meet(trace: Trace) -> bool:
    return any(table["task"].nunique() > 1 for table in (trace.events, trace.collective_waits))


def _late_tasks(trace: Trace, against: Trace | None) -> TableBlock:
    late = stragglers.late_tasks(trace)
    before = None if against is None else stragglers.late_tasks(against)
    late, change = with_base_shares(late, before, ["task", "kind"], "share", "Share")
    columns = [
        key("task", "Task"),
        *figures(
            stragglers.FIGURES,
            ("kind", "Barrier", "text"),
            ("barriers", "Barriers", "count"),
            ("last", "Times last", "count"),
            ("sole_wait_ns", "Wait caused", "ns"),
            ("share", "Share", "share"),
        ),
        *change,
        *figures(
            stragglers.FIGURES,
            ("waited_ns", "Waited", "ns"),
            ("lateness_mean_ns", "Mean lag", "ns"),
        ),
    ]
    return table(
        "Stragglers",
        named(late),
        columns,
        definition="Where tasks wait for one another, which one arrives last, and how late.",
        reason=why_not(late),
    )
