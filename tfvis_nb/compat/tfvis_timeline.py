"""`Timeline` of tfvis and tftracer: scripts only need to change their import.

New code should use `tfvis_nb.trace` and `tfvis_nb.Trace`, which show more and need no extra arguments in
every ``session.run``.
"""

import re
import time
import warnings
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.communication_overlap import communicates
from tfvis_nb.analysis.events.lanes import busy, recorded_devices
from tfvis_nb.core.options import check_flags, only_known_options
from tfvis_nb.core.output_path import whole, writable
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text


class Timeline:
    """Traces one ``session.run``, draws it and measures its communication.

    Parameters
    ----------
    run_metadata
        A ``RunMetadata``, or anything else that `tfvis_nb.read_trace` reads; a ``with`` block
        makes a new one. A text is taken as `comm_op_name`, tfvis's first argument, with a DeprecationWarning.
    horovod
        Whether only Horovod's ops count as communication. Otherwise every collective and the ops named by
        `comm_op_name` do.
    comm_op_name
        The name or op type of ops that receive from other tasks; by default ``"RecvTensor"`` and
        ``"RecvBuf"``.

    Raises
    ------
    TypeError
        If an option is unknown, `horovod` is not True or False, or the first argument is a text although
        `comm_op_name` is given.

    Notes
    -----
    ``docs/migrating.md`` lists the differences from tfvis and tftracer.

    Examples
    --------
    >>> import tensorflow.compat.v1 as tf
    >>> from tfvis_nb import Timeline
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     total = tf.reduce_sum(tf.random.uniform([100, 100]), name="total")
    ...     with Timeline() as timeline:
    ...         value = session.run(total, **timeline.kwargs)
    >>> timeline.step_time() >= timeline.computation_time() > timeline.communication_time()
    True
    """

    @only_known_options
    def __init__(
        self, run_metadata: Any = None, horovod: bool = False, *, comm_op_name: str | None = None
    ) -> None:
        check_flags(horovod=horovod)
        if isinstance(run_metadata, str):
            if comm_op_name is not None:
                raise TypeError(Text("first_argument_no_run_metadata", run_metadata=run_metadata))
            warnings.warn(
                Text("positional_comm_op_name", run_metadata=run_metadata), DeprecationWarning, stacklevel=3
            )
            run_metadata, comm_op_name = None, run_metadata
        self.options: Any = None
        self.horovod = horovod
        self.comm_op_name = comm_op_name
        self._recorded = run_metadata
        self._unpickled: bytes | None = None
        self._read: tuple[Any, Trace] | None = None
        self._began = 0.0
        self._elapsed = 0.0

    def __enter__(self) -> Self:
        from tfvis_nb.recording.sessions.run_options import full_trace

        self.options, self.run_metadata = full_trace()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self._elapsed = time.perf_counter() - self._began

    @property
    def kwargs(self) -> dict[str, Any]:
        """Arguments with which ``session.run`` records into this timeline: ``run_metadata`` and ``options``.

        Raises
        ------
        RuntimeError
            Outside of a ``with`` block that gives them.
        """
        if self.options is None:
            raise RuntimeError(Text("nothing_to_record_into"))
        return {"run_metadata": self._recorded, "options": self.options}

    @property
    def run_metadata(self) -> Any:
        """The recorded or given message; a pickle's ``RunMetadata`` needs TensorFlow."""
        if self._recorded is None and self._unpickled is not None:
            from tfvis_nb.recording.sessions.run_options import run_metadata

            self._recorded = run_metadata(self._unpickled)
        return self._recorded

    @run_metadata.setter
    def run_metadata(self, value: Any) -> None:
        self._recorded, self._unpickled = value, None

    @property
    def trace(self) -> Trace:
        """The recording, as a `tfvis_nb.Trace`.

        Raises
        ------
        EmptyTraceError
            If no ``session.run`` was given `kwargs`.
        RuntimeError
            If there is no RunMetadata at all.
        """
        from tfvis_nb.reading import EmptyTraceError, read_trace

        # A block may use the same message for several runs: the last one counts.
        source = self._serialized() or self._recorded
        if source is None:
            raise RuntimeError(Text("nothing_recorded_yet"))
        known = self._read is not None and (
            self._read[0] is source or (isinstance(source, bytes) and self._read[0] == source)
        )
        if self._read is None or not known:
            try:
                self._read = source, read_trace(source)
            except EmptyTraceError:
                if self.options is None:
                    raise
                raise EmptyTraceError(Text("kwargs_not_passed")) from None
        return self._read[1]

    @only_known_options
    def visualize(
        self, output_file: str | Path | None = None, device_pattern: str | None = None
    ) -> str | None:
        """Write the timeline as one HTML page that opens offline.

        Parameters
        ----------
        output_file
            Where to write; None to get the text instead.
        device_pattern
            A regular expression: only devices whose recorded name has a match are shown.

        Returns
        -------
        str or None
            The page's text when `output_file` is None.

        Raises
        ------
        ValueError
            If no device matches.
        OSError
            If the file cannot be written.
        """
        trace = self.trace
        if device_pattern is not None:
            trace = self._only(trace, device_pattern)
        if output_file is None:
            return trace.to_html()
        # Code written for tfvis may use any suffix.
        with whole(writable(output_file)) as file:
            file.write_text(trace.to_html(), encoding="utf-8", newline="\n")
        return None

    @only_known_options
    def step_time(self, device_search_pattern: str | None = None) -> int:
        """Return the time from the first start to the last end, in microseconds.

        Parameters
        ----------
        device_search_pattern
            A text: only devices whose recorded name contains it count.

        Returns
        -------
        int
            0 when nothing matches.
        """
        return _span(*self._intervals(device_search_pattern))

    @only_known_options
    def iteration_time(self, device_search_pattern: str | None = None) -> int:
        """Return `step_time`, under tfvis's name."""
        return self.step_time(device_search_pattern)

    @only_known_options
    def communication_elapsed_time(
        self, device_search_pattern: str | None = None, exclude_pattern: str | None = None
    ) -> int:
        """Return the time from the first start of communication to its last end, in microseconds.

        Parameters
        ----------
        device_search_pattern
            A text: only devices whose recorded name contains it count.
        exclude_pattern
            A text: rows whose label contains it do not count.

        Returns
        -------
        int
            0 when nothing matches.
        """
        return _span(*self._intervals(device_search_pattern, exclude_pattern, communicating=True))

    @only_known_options
    def communication_time(
        self, device_search_pattern: str | None = None, exclude_pattern: str | None = None
    ) -> int:
        """Return how long any communication ran, in microseconds: overlapping times count once.

        Parameters are those of `communication_elapsed_time`.
        """
        return _union(*self._intervals(device_search_pattern, exclude_pattern, communicating=True))

    @only_known_options
    def computation_time(
        self, device_search_pattern: str | None = None, exclude_pattern: str | None = None
    ) -> int:
        """Return how long anything ran, communication included, in microseconds; overlaps count once.

        This is tfvis's and tftracer's measure; `tfvis_nb.analysis.communication_overlap` separates computing,
        hidden and exposed communication. Parameters are those of `communication_elapsed_time`.
        """
        return _union(*self._intervals(device_search_pattern, exclude_pattern))

    @property
    def wall_clock_elapsed(self) -> float:
        """How long the ``with`` block took, in seconds."""
        return self._elapsed

    @classmethod
    @only_known_options
    def from_pickle(
        cls, pickle_file_name: str | Path, *, horovod: bool = False, comm_op_name: str | None = None
    ) -> Self:
        """Read a timeline written by `to_pickle`, tfvis, tftracer or ``pickle.dump(run_metadata, file)``.

        Nothing named in the pickle is imported or called, and TensorFlow is not needed. `horovod` and
        `comm_op_name` are those of `Timeline`.

        Raises
        ------
        TraceFormatError
            When the file is not a pickle of one RunMetadata.
        """
        from tfvis_nb.reading.pickles.run_metadata import unpickled

        timeline = cls(horovod=horovod, comm_op_name=comm_op_name)
        timeline._unpickled = unpickled(Path(pickle_file_name))
        return timeline

    def to_pickle(self, pickle_file_name: str | Path) -> None:
        """Write a pickle of the RunMetadata, which tfvis, tftracer and `from_pickle` read.

        Raises
        ------
        RuntimeError
            If there is no RunMetadata.
        OSError
            If the file cannot be written.
        """
        from tfvis_nb.reading.pickles.run_metadata import pickled

        message = self._serialized()
        if message is None:
            raise RuntimeError(Text("no_run_metadata"))
        with whole(writable(pickle_file_name)) as file:
            file.write_bytes(pickled(message))

    def _serialized(self) -> bytes | None:
        """Return the bytes of the RunMetadata, None without one."""
        descriptor = getattr(self._recorded, "DESCRIPTOR", None)
        if str(getattr(descriptor, "full_name", "")).rpartition(".")[2] == "RunMetadata":
            return bytes(self._recorded.SerializeToString())
        return self._unpickled

    def _intervals(
        self,
        device_search_pattern: str | None,
        exclude_pattern: str | None = None,
        *,
        communicating: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and ends of the requested rows, in nanoseconds."""
        trace = self.trace
        events = trace.events
        chosen = np.ones(len(events), bool)
        if device_search_pattern:
            chosen &= _on_device(trace, device_search_pattern)
        if exclude_pattern is not None:
            chosen &= ~events["detail"].str.contains(exclude_pattern, regex=False).to_numpy(bool)
        if communicating:
            chosen &= self._communicates(events)
        start = events["start_ns"].to_numpy(np.int64)[chosen]
        return start, start + events["duration_ns"].to_numpy(np.int64)[chosen]

    def _communicates(self, events: pd.DataFrame) -> np.ndarray:
        if self.horovod:
            mask: np.ndarray = (
                (events["kind"] == "collective") & events["op"].astype(str).str.startswith("Horovod")
            ).to_numpy(bool)
            return mask
        if self.comm_op_name is None:
            return communicates(events)
        named = (events["name"] == self.comm_op_name) | (events["op"] == self.comm_op_name)
        return named.to_numpy(bool) | (events["kind"] == "collective").to_numpy()

    def _only(self, trace: Trace, device_pattern: str) -> Trace:
        from tfvis_nb.analysis.subset import subset

        names = recorded_devices(trace)
        pattern = re.compile(device_pattern)
        shown = {name: pattern.search(name) is not None for name in names.unique()}
        if not any(shown.values()):
            raise ValueError(
                Text("no_such_device", device_pattern=device_pattern, devices=", ".join(sorted(shown)))
            )
        return subset(trace, np.flatnonzero(names.map(shown).to_numpy(bool)))


@only_known_options
def timeline_visualize(
    run_metadata: Any, output_file: str | Path | None = None, device_pattern: str | None = None
) -> str | None:
    """Write the timeline of a RunMetadata, like the first version of tfvis; see `Timeline.visualize`.

    Examples
    --------
    >>> from tfvis_nb.compat.tfvis_timeline import timeline_visualize
    >>> text = b'''dev_stats { device: "/job:localhost/replica:0/task:0/cpu:0"
    ...   node_stats { node_name: "a" all_start_micros: 7 all_end_rel_micros: 2 } }'''
    >>> page = timeline_visualize(text)
    >>> page.startswith("<!doctype html>")
    True
    """
    return Timeline(run_metadata).visualize(output_file, device_pattern)


def _on_device(trace: Trace, text: str) -> np.ndarray:
    """Return whether the name of each event's device contains a text.

    A trace leaves out TensorFlow's lane ``memcpy`` of a GPU, which repeats the copies on its streams.
    """
    names = recorded_devices(trace)
    gpu, stream, _ = names.str.partition("/stream:").to_numpy(object).T
    is_copy = (stream != "") & (trace.events["kind"] == "memcpy").to_numpy(bool)
    names = names.mask(is_copy, names + "\n" + gpu + "/memcpy")
    return names.str.contains(text, regex=False).to_numpy(bool)


def _span(start: np.ndarray, end: np.ndarray) -> int:
    """Return the time from the first start to the last end, in microseconds."""
    return round(int(end.max() - start.min()) / 1000) if len(start) else 0


def _union(start: np.ndarray, end: np.ndarray) -> int:
    """Return how long at least one of the intervals lasts, in microseconds."""
    return round(int(busy(np.zeros(len(start), np.int64), start, end, 1)[0]) / 1000)
