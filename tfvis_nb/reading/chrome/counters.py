"""Counter trace events: each number in their arguments is a value of a series."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.core import counters
from tfvis_nb.events import LATEST_NS
from tfvis_nb.reading.chrome.values import key_of, nanoseconds, text
from tfvis_nb.reading.stepstats.timestamps import ABSURD
from tfvis_nb.texts import Text

Place = Callable[[Any], tuple[str, str]]
"""Returns the task and the device of a process by its pid."""


class CounterEvents:
    """Collects the counter events of a document while it is read."""

    def __init__(self) -> None:
        self._series: dict[tuple[Any, str, str], int] = {}
        self._pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._lost = 0

    def add(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Add events."""
        series: list[int] = []
        times: list[Any] = []
        values: list[float] = []
        for event in events:
            arguments = event.get("args")
            if type(arguments) is not dict:
                self._lost += 1
                continue
            name, process = text(event.get("name")), key_of(event.get("pid"))
            if "id" in event:
                name = f"{name}[{text(event['id'])}]"
            for argument, value in arguments.items():
                series.append(self._series.setdefault((process, name, argument), len(self._series)))
                times.append(event.get("ts"))
                values.append(number_of(value))
        time, usable = nanoseconds(times)
        number = np.array(values, np.float64)
        usable &= np.isfinite(number)
        self._lost += int((~usable).sum())
        self._pieces.append((np.array(series, np.int64)[usable], time[usable], number[usable]))

    def finish(
        self, place: Place, *, origin: int = 0, middle: float | None = None, unit: str = ""
    ) -> tuple[pd.DataFrame, list[str]]:
        """Return the counters, and a note on values left out.

        `origin` is the file's time 0 in epoch ns; times absurdly far from `middle` are left out. Counters
        without a unit in their name have `unit`.
        """
        if not self._pieces:
            return counters.EMPTY, []
        series, time, value = (np.concatenate(part) for part in zip(*self._pieces, strict=True))
        usable = np.abs(time + float(origin)) <= LATEST_NS
        if middle is not None:
            usable &= np.abs(time - middle) <= ABSURD
        lost = self._lost + int((~usable).sum())
        notes: list[str] = [Text("counter_values_left_out", values=lost)] if lost else []
        named = [
            (*place(process), text(name), text(argument), counters.unit_of(argument, name) or unit)
            for process, name, argument in self._series
        ]
        columns = dict(zip(counters.SERIES, zip(*named, strict=True), strict=True)) if named else {}
        of_series = {name: pd.Categorical(np.array(texts, object)) for name, texts in columns.items()}
        texts_of_rows: dict[str, Any] = {name: texts[series[usable]] for name, texts in of_series.items()}
        return counters.build(
            texts_of_rows | {"time_ns": time[usable] + origin, "value": value[usable]}
        ), notes


def number_of(value: Any) -> float:
    """Return a value of a counter; NaN if it is not a number or a decimal text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        return np.nan
    try:
        return float(value[:40] if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return np.nan
