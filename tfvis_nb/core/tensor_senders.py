"""Find the op that made each tensor received from another device."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.executions import Executions
from tfvis_nb.core.text_rows import text_rows, texts_of

_TRANSFERRED = r"^(?:edge_\d+_)?(?P<node>.+)$"


def executor_rows(events: pd.DataFrame) -> np.ndarray:
    """Return the events run by an executor (int64), whose labels list inputs."""
    kind, lane = (events[name].astype(object).to_numpy() for name in ("kind", "lane"))
    return np.flatnonzero((kind == "op") | ((kind == "collective") & (lane == "collective")))


class Moves(NamedTuple):
    """Received or copied tensors, ordered by time."""

    event: np.ndarray
    node: np.ndarray  # number of the node that made it, -1 if unknown
    to: np.ndarray  # number of the destination device
    channel: np.ndarray  # number of its step, device and tensor


class NumberedEvents:
    """The columns of an event table as numbers, to look up the executions of nodes."""

    def __init__(self, events: pd.DataFrame) -> None:
        self.events = events
        encoded = texts_of(events["name"]).dictionary_encode()
        self.names: pa.Array = encoded.dictionary
        self.name = encoded.indices.to_numpy().astype(np.int64)
        self.executor = executor_rows(events)
        self.received = np.flatnonzero(events["kind"] == "transfer")
        self.copied = np.flatnonzero(events["kind"] == "memcpy")
        self.step = events["step"].to_numpy(np.int64)
        self.devices = pd.Index(
            pd.concat(
                [
                    pd.Series(events[name].cat.categories, dtype=object)
                    for name in ("device", "source", "destination")
                ]
            ).unique()
        )
        self.device = self._device_numbers("device")
        self.task = events["task"].cat.codes.to_numpy(np.int64)
        self.start = events["start_ns"].to_numpy()
        self.end = self.start + events["duration_ns"].to_numpy()
        self.here = self.executions(self.step, self.device)
        self.anywhere = self.executions(self.step, np.full(len(events), -1))

    def executions(self, step: np.ndarray, device: np.ndarray) -> Executions:
        """Return the executions of nodes by the step, or another number, and device of each event."""
        ran = self.executor
        ready = self.column("compute_end_ns", self.end)[ran]
        return Executions(self.key(step[ran], device[ran], self.name[ran]), ready, self.start[ran], ran)

    def _device_numbers(self, column: str) -> np.ndarray:
        indices = self.devices.get_indexer(self.events[column].cat.categories)
        numbers: np.ndarray = np.append(indices.astype(np.int64), -1)[self.events[column].cat.codes]
        return numbers

    def key(self, step: np.ndarray, where: np.ndarray, name: np.ndarray) -> np.ndarray:
        """Number triples of step, device or task, and name; -1 means anywhere or nothing."""
        width = max(len(self.devices), int(self.task.max(initial=0)) + 1) + 1
        key: np.ndarray = (step * width + where + 1) * (len(self.names) + 1) + name + 1
        return key

    def column(self, name: str, otherwise: np.ndarray) -> np.ndarray:
        """Return times, with `otherwise` in place of missing ones."""
        column = self.events[name]
        return np.where(column.notna(), column.to_numpy(np.int64, na_value=0), otherwise)

    def moves(self) -> Moves:
        """Return all received or copied tensors."""
        event = np.sort(np.concatenate([self.received, self.copied]))
        encoded = texts_of(text_rows(self.events["tensor"], event)).dictionary_encode()
        tensor = encoded.indices.to_numpy().astype(np.int64)
        made_by = pc.struct_field(pc.extract_regex(encoded.dictionary, _TRANSFERRED), "node")
        named = self.device_of("destination")[event]
        to = np.where(named >= 0, named, self.device[event])
        channel = (self.step[event] * len(self.devices) + to) * (len(encoded.dictionary) + 1) + tensor
        return Moves(event, numbers(made_by, self.names)[tensor], to, channel)

    def device_of(self, column: str) -> np.ndarray:
        """Return the device number in ``source`` or ``destination``; -1 if empty."""
        devices = self._device_numbers(column)
        blank = self.devices.get_indexer([""])[0]
        return np.where(devices == blank, -1, devices)

    def senders(self, moves: Moves) -> tuple[np.ndarray, np.ndarray]:
        """Return the op that made each transferred tensor, -1 if unknown, and the transfer.

        If a tensor moved as often as it was made, the k-th transfer has the k-th value. (The producer may be
        iterations ahead, so the latest value before a transfer is not always the one that moved.)
        """
        known = moves.node >= 0
        rows, node, channel = moves.event[known], moves.node[known], moves.channel[known]
        when = self.column("scheduled_ns", self.start)[rows]
        origin = self.device_of("source")[rows]
        key = self.key(self.step[rows], origin, node)
        source = self.here.latest(key, when)
        later = self.here.find(key, self.end[rows])
        source = np.where(source >= 0, source, later)
        elsewhere = ~self.here.has(key)
        anywhere = self.key(self.step[rows], np.full(len(rows), -1), node)
        source = np.where(elsewhere, self.anywhere.find(anywhere, self.end[rows]), source)
        paired = self.here.paired(key, channel, self.start[rows])
        source = np.where(paired >= 0, paired, source)
        return source, rows


def numbers(texts: pa.Array, names: pa.Array) -> np.ndarray:
    """Return the index of each text in `names`; -1 if missing or null (int64)."""
    indices = pc.index_in(texts.cast(names.type), names, skip_nulls=True).fill_null(-1)
    of_texts: np.ndarray = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return of_texts
