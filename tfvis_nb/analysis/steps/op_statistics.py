"""Runs and times of each op, on devices and on the host."""

from collections.abc import Collection
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import map_categories
from tfvis_nb.core.search_sorted import ascending
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

Grouping = Literal["op", "name", "scope", "device"]
GROUPINGS = get_args(Grouping)
"""The groupings of `op_statistics`."""

PERCENTILES = (50, 90, 99)
"""The percentiles of `tfvis_nb.analysis.op_statistics`."""
_XPROF = "XProf's framework op statistics"

FIGURES: dict[str, str] = {
    "kind": "The kind of the events. Only events of one kind are summed, never an op and the kernels it "
    "launched.",
    "side": "device: kernels, copies and memsets; host: ops and calls on CPUs; network: tensors received "
    "and collectives, including waits; repeated: events that another lane shows as well.",
    "count": f"Number of events. Called occurrences in {_XPROF}.",
    "total_ns": "Sum of the events' durations, in ns; simultaneous events all count.",
    "self_ns": "Sum of the events' durations without the events nested in them on their lane, in ns; the "
    "calls that run an op inside it, such as ParallelFor, count as the op. "
    f"Called self time in {_XPROF}. Not known for whole functions and loops in an executor's lane.",
    "mean_ns": "total_ns / count.",
    "min_ns": "Shortest duration, in ns.",
    "max_ns": "Longest duration, in ns.",
    **{
        f"p{percent}_ns": f"Shortest duration that at least {percent} % of the events do not exceed"
        " (nearest rank), in ns."
        for percent in PERCENTILES
    },
    "share": "self_ns / sum of self_ns over all rows of the side, from 0 to 1; NaN for repeated rows. "
    f"In {_XPROF}, self time in percent of device or host.",
}

_COLUMNS = {
    "kind": "category",
    "side": "category",
    "count": "int64",
    "total_ns": "int64",
    "self_ns": "Int64",
    "mean_ns": "float64",
    "min_ns": "int64",
    "max_ns": "int64",
    **{f"p{percent}_ns": "int64" for percent in PERCENTILES},
    "share": "float64",
    "longest": "int64",
}
_KINDS = len(event_table.KINDS)
_REPEATED = LOCATIONS.index("repeated")
BINS = 12
"""The maximum number of bins that fits into a table cell."""


class Groups(NamedTuple):
    """The group of each event, the key of each group, and the labels that keys index."""

    of_row: np.ndarray
    keys: np.ndarray
    labels: pa.Array


@validate_input
def op_statistics(trace: Trace, by: Grouping = "op", steps: Collection[int] | None = None) -> pd.DataFrame:
    """Add up the events of a trace by op type, node, name scope or device.

    Parameters
    ----------
    trace
        Any trace.
    by
        One of `GROUPINGS`: ``op`` type; ``name`` of the node, or function; ``scope``, the name up to its last
        slash, empty if it has none; ``device``.
    steps
        Numbers of the steps to add up; None for all events, including those outside steps.

    Returns
    -------
    pandas.DataFrame
        One row per value of `by` (the first column, str), kind and side; the largest self times of each
        side first. ``kind`` and ``side`` (category), ``count``, ``total_ns``, ``min_ns``, ``max_ns``,
        ``p50_ns``, ``p90_ns``, ``p99_ns`` (int64), ``self_ns`` (Int64), ``mean_ns``, ``share`` (float64) as
        in `FIGURES`, and ``longest`` (int64), the event with the longest duration.
        `cannot_say` if there are no events.

    Raises
    ------
    ValueError
        If `by` is not one of `GROUPINGS`, or a number in `steps` is not a step.

    Notes
    -----
    The self times of a side add up exactly to its total. Times of ops are thread times: the time of an op
    includes waits for its device, and ten simultaneous ops of one second take ten seconds.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import op_statistics
    >>> table = events.build({"start_ns": [0, 1, 20], "duration_ns": [10, 4, 2], "lane": ["python3"] * 3,
    ...                       "op": ["FunctionRun", "MatMul", "MatMul"], "kind": ["host", "op", "op"]})
    >>> op_statistics(Trace(table))[["op", "count", "total_ns", "self_ns", "share"]].values.tolist()
    [['FunctionRun', 1, 10, 6, 0.5], ['MatMul', 2, 6, 6, 0.5]]
    """
    if by not in GROUPINGS:
        raise ValueError(Text("not_one_of", choices=", ".join(GROUPINGS), by=by))
    rows = of_steps(trace, steps)
    return group_statistics(trace, by, rows, groups(trace, by, rows, steps))


def group_statistics(trace: Trace, by: str, rows: np.ndarray, grouped: Groups) -> pd.DataFrame:
    """Return the table of `op_statistics` for groups of events, with their texts in the column `by`."""
    if not len(rows):
        return cannot_say({by: "str"} | _COLUMNS, Text("no_events"))
    own, known = self_times_of(trace)
    group, keys, labels = grouped
    duration = trace.events["duration_ns"].to_numpy(np.int64)[rows]
    table = _added_up(rows, group, len(keys), duration, np.where(known, own, 0)[rows], known[rows])
    side = keys % len(LOCATIONS)
    table[by] = pd.array(labels.take(keys // len(LOCATIONS) // _KINDS), dtype=event_table.TEXT)
    for name, codes, texts in (
        ("kind", keys // len(LOCATIONS) % _KINDS, event_table.KINDS),
        ("side", side, LOCATIONS),
    ):
        table[name] = pd.Categorical.from_codes(codes.astype(np.int8), dtype=pd.CategoricalDtype(list(texts)))
    table["share"] = _shares(table["self_ns"], side)
    longest_first = -table["self_ns"].fillna(-1).to_numpy(np.int64)
    order = np.lexsort((-table["total_ns"].to_numpy(), longest_first, side))
    return table.loc[order, [by, *_COLUMNS]].reset_index(drop=True)


@validate_input
def groups(trace: Trace, by: str, rows: np.ndarray, steps: Collection[int] | None = None) -> Groups:
    """Return the groups of some events by one of `GROUPINGS`, kind and side."""
    labelled = trace.events["name" if by == "scope" else by]
    return labelled_groups(trace, rows, *_labels(labelled if steps is None else labelled.iloc[rows], by))


def labelled_groups(trace: Trace, rows: np.ndarray, label: np.ndarray, labels: pa.Array) -> Groups:
    """Return the groups of some events by the number of a label, kind and side."""
    events = trace.events
    kind = map_categories(events["kind"], lambda text: event_table.KINDS.index(text) if text else 0).astype(
        np.int64
    )
    group, keys = pd.factorize((label * _KINDS + kind[rows]) * len(LOCATIONS) + locations(events)[rows])
    return Groups(group, keys, labels)


def _labels(column: pd.Series, by: str) -> tuple[np.ndarray, pa.Array]:
    """Return the number of each event's group, and the text of each number."""
    if by in ("op", "device"):
        texts = pa.array([*(str(text) for text in column.cat.categories), ""], pa.large_string())
        # Missing values have the code -1, which indexes the last element; some texts may be empty.
        merged = texts.dictionary_encode()
        codes = np.asarray(merged.indices)[column.cat.codes.to_numpy()]
        return codes.astype(np.int64), merged.dictionary
    texts = pa.chunked_array(pa.array(column)).combine_chunks()
    names = pc.fill_null(texts.cast(pa.large_string()), "").dictionary_encode()
    codes = np.asarray(names.indices).astype(np.int64)
    if by == "name":
        return codes, names.dictionary
    scopes = pc.replace_substring_regex(names.dictionary, r"(?s)(?:^|/)[^/]*$", "").dictionary_encode()
    return np.asarray(scopes.indices).astype(np.int64)[codes], scopes.dictionary


def _added_up(
    rows: np.ndarray, group: np.ndarray, count: int, duration: np.ndarray, own: np.ndarray, known: np.ndarray
) -> pd.DataFrame:
    """Return sums, extremes and percentiles of the events of each group; `own` is 0 if unknown."""
    durations = SortedDurations(group, count, duration)
    most = durations.percentile(100)
    longest = np.zeros(count, np.int64)
    as_long = np.flatnonzero(duration == most[group])[::-1]
    # In reverse order, so that the first of equally long events is written last and stays.
    longest[group[as_long]] = rows[as_long]
    total = durations.sums(duration)
    unknown = np.bincount(group[known], minlength=count) == 0
    return pd.DataFrame(
        {
            "count": durations.counts,
            "total_ns": total,
            "self_ns": pd.arrays.IntegerArray(durations.sums(own), unknown),
            "mean_ns": total / durations.counts,
            "min_ns": durations.percentile(0),
            "max_ns": most,
            **{f"p{percent}_ns": durations.percentile(percent) for percent in PERCENTILES},
            "longest": longest,
        }
    )


def _shares(self_ns: pd.Series, side: np.ndarray) -> np.ndarray:
    """Return each row's share of the self time of its side; NaN if unknown or counted elsewhere."""
    own = self_ns.fillna(0).to_numpy(np.int64)
    whole = np.zeros(len(LOCATIONS), np.int64)
    np.add.at(whole, side, own)
    sayable = self_ns.notna().to_numpy() & (side != _REPEATED) & (whole[side] > 0)
    share: np.ndarray = np.where(sayable, own / np.maximum(whole[side], 1), np.nan)
    return share


class Histogram(NamedTuple):
    """Durations of a group in bins of equal width on a logarithmic axis."""

    edges: list[int]
    """In ns, ascending. A bin includes its lower edge; the last one includes both."""
    events: list[np.ndarray]
    """The events of each bin, the longest first."""


def histograms(trace: Trace, by: str, members: np.ndarray) -> list[Histogram]:
    """Return the histograms of groups of `op_statistics`, each identified by one of its events.

    The edges are ``min * (max / min) ** (k / BINS)``, rounded to ns, without duplicates. Events without
    length count as 1 ns.
    """
    duration = trace.events["duration_ns"].to_numpy()
    group, keys, _ = groups(trace, by, np.arange(len(duration)))
    durations = SortedDurations(group, len(keys), duration)
    result = []
    for chosen in group[members].tolist():
        start = durations.starts[chosen]
        part = slice(start, start + durations.counts[chosen])
        lengths, events = durations.sorted[part], durations.order[part]
        low, high = int(lengths[0]), int(lengths[-1])
        spaced = np.geomspace(max(low, 1), max(high, 1), BINS + 1)[1:-1]
        inner = np.unique(np.rint(spaced).astype(np.int64))
        inner = inner[(inner > low) & (inner < high)]
        parts = np.split(events, np.searchsorted(lengths, inner))
        result.append(Histogram([low, *inner.tolist(), high], [part[::-1] for part in parts]))
    return result


class SortedDurations:
    """The durations of groups of events, ordered within each group.

    Parameters
    ----------
    group
        The group of each event, from 0 to `count` - 1. No group is empty.
    count
        Number of groups.
    duration
        Length of each event, in ns (int64).
    """

    def __init__(self, group: np.ndarray, count: int, duration: np.ndarray) -> None:
        shortest_first = ascending(duration)
        self.order = shortest_first[ascending(group[shortest_first])]
        """Indexes of the events: group by group, in each the shortest first."""
        self.sorted = duration[self.order]
        self.counts = np.bincount(group, minlength=count)
        self.starts = np.cumsum(self.counts) - self.counts

    def percentile(self, percent: int) -> np.ndarray:
        """Return the nearest-rank percentile of each group: 0 is the shortest duration, 100 the longest."""
        rank = np.maximum(-(-self.counts * percent // 100), 1)
        values: np.ndarray = self.sorted[self.starts + rank - 1]
        return values

    def sums(self, amount: np.ndarray) -> np.ndarray:
        """Return the sum of an amount of each event by group."""
        summed: np.ndarray = np.add.reduceat(amount[self.order], self.starts)
        return summed
