"""The metrics of a trace that can have limits: counts and bytes of a step, memory, step time."""

from collections.abc import Callable
from statistics import median_low
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.step_devices import step_devices
from tfvis_nb.analysis.functions.functions import functions
from tfvis_nb.analysis.idle.launch_bound import launch_bound
from tfvis_nb.analysis.memory.memory_usage import memory_peaks
from tfvis_nb.analysis.memory.tensor_lifetimes import no_allocations
from tfvis_nb.analysis.steps.breakdown import breakdown
from tfvis_nb.analysis.steps.cpu_ops_between_kernels import cpu_ops_between_kernels
from tfvis_nb.analysis.steps.difference import typical
from tfvis_nb.analysis.steps.other_steps import is_set_apart
from tfvis_nb.analysis.steps.slow_steps import main_steps, slow_first_step
from tfvis_nb.analysis.unavailable import NONE, dtypes, why_not
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.kinds import DEVICE
from tfvis_nb.texts import Text

_NS_PER_MS = 1_000_000


class Measured(NamedTuple):
    """The value of a metric in a trace, or the reason why the trace does not have it."""

    value: float
    """NaN if unknown."""
    reason: Text = NONE
    times: np.ndarray | None = None
    """For a time: the time of each step in recorded order, in ms, without a first step that is set apart."""


class Metric(NamedTuple):
    """A metric that can have a limit."""

    definition: str
    measure: Callable[[Trace], Measured]
    has_base: bool = True
    """Whether a check against another trace includes it."""


@validate_input
def gate_metrics(trace: Trace) -> pd.DataFrame:
    """Return the metrics that can have limits in `tfvis_nb.analysis.check`.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per metric: ``metric`` (str), as in `FIGURES`; ``value`` (float64), NaN if unknown, in
        ``unit`` (str: ``bytes``, ``ms``, ``joules``, or empty for a count); ``reason`` (str), why it is
        unknown.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import gate_metrics
    >>> columns = {"start_ns": [0, 10, 3_000_000], "duration_ns": [5, 2_000_000, 7], "kind": ["op"] * 3}
    >>> table = gate_metrics(Trace(events.build(columns | {"step": [0, 0, 1]}))).set_index("metric")
    >>> table.loc[["ops", "kernels"]].values.tolist()
    [[1.0, '', ''], [nan, '', 'the trace has no events of a GPU in a step']]
    """
    rows = [(name, measured.value, unit_of(name), measured.reason) for name, measured in _all(trace)]
    columns = {"metric": "str", "value": "float64", "unit": "str", "reason": "object"}
    return pd.DataFrame(rows, columns=list(columns), dtype=object).astype(dtypes(columns))


def _all(trace: Trace) -> list[tuple[str, Measured]]:
    return [(name, metric.measure(trace)) for name, metric in METRICS.items()]


def unit_of(name: str) -> str:
    """Return the unit of a metric: ``bytes``, ``ms``, ``joules``, or empty for a count."""
    return next((unit for unit in ("bytes", "ms", "joules") if name.endswith(f"_{unit}")), "")


def _numbers(trace: Trace) -> np.ndarray:
    """Return the numbers of the steps of the main kind in ascending order."""
    return distinct_numbers(main_steps(trace)["step"].to_numpy(np.int64))


def _median(trace: Trace, step: np.ndarray, amount: np.ndarray) -> Measured:
    """Return the median over steps of the main kind of amounts, each given with its step."""
    numbers = _numbers(trace)
    of_kind = np.isin(step, numbers)
    step, amount = step[of_kind], amount[of_kind]
    total = np.zeros(len(numbers), np.int64)
    np.add.at(total, np.searchsorted(numbers, step), amount)
    return Measured(float(median_low(total.tolist())))


@per_trace
def _in_steps(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the events in steps and the step of each; for an event in several steps, the first."""
    here = step_devices(trace)
    if here is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    event, first = np.unique(here.event, return_index=True)
    return event, here.table["step"].to_numpy(np.int64)[here.device_row[first]]


def _steps_of(trace: Trace, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the chosen events in steps, and the step of each."""
    event, step = _in_steps(trace)
    return event[chosen[event]], step[chosen[event]]


def _counted(trace: Trace, chosen: np.ndarray, among: np.ndarray, reason: Text) -> Measured:
    """Count the chosen events of a step, if any step has events of that class."""
    if not len(_numbers(trace)):
        return Measured(np.nan, Text("no_steps"))
    if not len(_steps_of(trace, among)[0]):
        return Measured(np.nan, reason)
    event, step = _steps_of(trace, chosen)
    return _median(trace, step, np.ones(len(event), np.int64))


def _bytes(trace: Trace, chosen: np.ndarray, among: np.ndarray, reason: Text) -> Measured:
    """Add up the sizes of the chosen events of a step."""
    count = _counted(trace, chosen, among, reason)
    event, step = _steps_of(trace, chosen)
    if count.reason or not len(event):
        return count
    size = trace.events["bytes"].iloc[event]
    if size.isna().all():
        return Measured(np.nan, Text("no_sizes"))
    return _median(trace, step, size.to_numpy(np.int64, na_value=0))


def _on_devices(trace: Trace) -> np.ndarray:
    return is_kind(trace.events, *DEVICE)


def _launches(trace: Trace) -> Measured:
    table = launch_bound(trace)
    if reason := why_not(table):
        return Measured(np.nan, reason)
    return _median(trace, table["step"].to_numpy(np.int64), table["launches"].to_numpy(np.int64))


def _events_of(kind: str) -> Callable[[Trace], Measured]:
    def measure(trace: Trace) -> Measured:
        return _counted(trace, is_kind(trace.events, kind), _on_devices(trace), Text("no_gpu_events"))

    return measure


def _copied(direction: str) -> Callable[[Trace], Measured]:
    def measure(trace: Trace) -> Measured:
        chosen = activity(trace) == NUMBER[direction]
        return _bytes(trace, chosen, _on_devices(trace), Text("no_gpu_events"))

    return measure


def _received(trace: Trace) -> Measured:
    chosen = is_kind(trace.events, "transfer")
    return _bytes(trace, chosen, chosen, Text("no_tensors_received"))


def _ops(trace: Trace) -> Measured:
    chosen = is_kind(trace.events, "op") & (locations(trace.events) == LOCATIONS.index("host"))
    return _counted(trace, chosen, chosen, Text("no_ops"))


def _cpu_ops(trace: Trace) -> Measured:
    table = cpu_ops_between_kernels(trace)
    if reason := why_not(table):
        return Measured(np.nan, reason)
    steps = trace.steps["step"] != NO_STEP
    return Measured(float(table["count"].sum()) / int(steps.sum()))


def _of_functions(column: str) -> Callable[[Trace], Measured]:
    def measure(trace: Trace) -> Measured:
        table = functions(trace)
        if reason := why_not(table):
            return Measured(np.nan, reason)
        return Measured(float(table[column].sum()))

    return measure


def _peak(trace: Trace) -> Measured:
    table = memory_peaks(trace)
    if reason := why_not(table):
        return Measured(np.nan, reason)
    recorded = table[~table["estimated"]]
    if recorded.empty:
        return Measured(np.nan, no_allocations(trace))
    return Measured(float(recorded["peak_bytes"].max()))


def _step_time(trace: Trace) -> Measured:
    steps = main_steps(trace).sort_values("start_ns", kind="stable")
    return _time(trace, steps["step"].to_numpy(np.int64), steps["duration_ns"].to_numpy(np.int64))


def _part(column: str) -> Callable[[Trace], Measured]:
    def measure(trace: Trace) -> Measured:
        table = breakdown(trace)
        if reason := why_not(table):
            return Measured(np.nan, reason)
        table = table[(table["device"].astype(str) == "") & table[column].notna()]
        most = table[table["step"].isin(_numbers(trace))].groupby("step")[column].max()
        if len(most) < len(_numbers(trace)):
            return Measured(np.nan, Text("no_device_activity"))
        return _time(trace, most.index.to_numpy(np.int64), most.to_numpy(np.int64))

    return measure


def _joules(trace: Trace) -> Measured:
    used = main_steps(trace)["joules"].dropna()
    return Measured(float(used.median())) if len(used) else Measured(np.nan, Text("no_energy"))


def _time(trace: Trace, step: np.ndarray, duration_ns: np.ndarray) -> Measured:
    """Return the typical time of a step, without a first step that is set apart."""
    if not len(step):
        return Measured(np.nan, Text("no_steps"))
    first = slow_first_step(trace)
    if first is not None and is_set_apart(first._asdict()):
        duration_ns = duration_ns[step != first.step]
    return Measured(typical(duration_ns) / _NS_PER_MS, times=duration_ns / _NS_PER_MS)


METRICS = {
    "launches": Metric(
        "Number of kernels, copies and memsets of a step on all devices: launches of launch_bound.", _launches
    ),
    "kernels": Metric("Number of GPU kernels of a step; for a TPU its instructions.", _events_of("kernel")),
    "copies": Metric("Number of copies of a step.", _events_of("memcpy")),
    "ops": Metric("Number of ops that ran in a step.", _ops),
    "cpu_ops": Metric(
        "Ops that ran on a CPU between kernels: count of cpu_ops_between_kernels, divided by the number of"
        " steps. Which ops these are depends on times, so it is not compared with a base.",
        _cpu_ops,
        has_base=False,
    ),
    "h2d_bytes": Metric(
        "Bytes copied from the host to devices in a step, as far as recorded.", _copied("h2d")
    ),
    "d2h_bytes": Metric(
        "Bytes copied from devices to the host in a step, as far as recorded.", _copied("d2h")
    ),
    "network_bytes": Metric(
        "Bytes of the tensors that tasks received in a step, as far as recorded.", _received
    ),
    "peak_bytes": Metric(
        "The largest peak_bytes of any allocator in the whole trace, estimates aside; see memory_usage.",
        _peak,
    ),
    "retraces": Metric(
        "Retraces of all functions in the whole trace; see functions.", _of_functions("retraces")
    ),
    "compilations": Metric(
        "Compilations of all functions in the whole trace; see functions.", _of_functions("compilations")
    ),
    "step_ms": Metric("Duration of a step, in ms.", _step_time),
    "input_ms": Metric(
        "Wait for input in a step, in ms: input_ns of the breakdown, of several tasks the longest. Not"
        " compared with a base.",
        _part("input_ns"),
        has_base=False,
    ),
    "communication_ms": Metric(
        "Communication in a step that computing does not hide, in ms: communication_ns of the breakdown, of"
        " several tasks the longest. Not compared with a base.",
        _part("communication_ns"),
        has_base=False,
    ),
    "step_joules": Metric(
        "Energy that the GPUs used in the median step, in J: joules of the steps. Not compared with a base.",
        _joules,
        has_base=False,
    ),
}
"""All metrics, by their ids."""

FIGURES: dict[str, str] = {name: metric.definition for name, metric in METRICS.items()}
