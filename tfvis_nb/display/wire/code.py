"""The code in a page: files, the time of each line, and the stacks of events.

``js/model/wire/code.ts`` reads it. Only data used by the stacks of events is sent, and whole texts only of
the user's own files.
"""

import copy
import re
from typing import Literal, NotRequired, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.events.unattributed import REASONS, WAITING, reasons, waiting_stages
from tfvis_nb.analysis.programs.hlo_module import without_sources
from tfvis_nb.analysis.source.sampled_time import all_sampled_time
from tfvis_nb.analysis.source.source_lines import event_figures, waiting_figures
from tfvis_nb.core.labels import printable
from tfvis_nb.core.metadata import CODE
from tfvis_nb.core.stacks import FILES, PHASE, PHASES, StackTable, event_stacks
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.tracings import TRACING
from tfvis_nb.display.wire.container import WireColumn, pack
from tfvis_nb.display.wire.lane_times import number_column, optional_column
from tfvis_nb.display.wire.string_table import number_texts, stored_texts
from tfvis_nb.texts import Text

_MOST_TEXT = 1 << 19
"""Maximum total characters of all files; of later files, only the lines on stacks are sent."""
_FIGURES = {
    "device_ns": "device",
    "host_ns": "host",
    "copy_bytes": "copied",
    "events": "events",
    "sampled_ns": "sampled",
}
_TOTALS = ("file", "line", "phase", *_FIGURES.values())
_COMPUTED = (
    *("_cache", "findings", "functions", "hlo_ops", "out_of_memory", "overview", "program_memory"),
    *("python_lines", "source_lines"),
)
"""Cached attributes of a trace that may depend on its code."""
_MOST_NAME = 200
_CELL = re.compile(r"Cell \[(\d+)\]$")
_DEFINITION = re.compile(r"^(?:async +)?(?:def|class) +(\w+)", re.MULTILINE)
TEXTS = ("code_function", "code_text")
"""The columns of texts that `code` returns."""


class SourceFile(TypedDict):
    """A file of code, by its unique name."""

    name: str
    own: bool  # Whether it is the user's, not a package's
    text: str | None  # All of it; None if only lines on stacks are sent
    # Edited after its code was loaded, or older than a cell that defines the same functions
    mark: Literal["edited", "older"] | None
    note: str | None  # The mark in a sentence


class Totals(TypedDict):
    """Times of some events in ns, and bytes."""

    device: int
    host: int
    copied: int
    events: int
    sampled: int  # The part of host that is known from samples of Python


class Unattributed(Totals):
    """Totals of the events without a line, by one of `REASONS`."""

    reason: str


class CodeHeader(TypedDict):
    """The code behind the events."""

    files: list[SourceFile]
    phases: list[str]
    lines: NotRequired[list[list[int]]]  # Of the columns of `line_totals`
    unattributed: NotRequired[list[Unattributed]]


def code(
    trace: Trace, rows: np.ndarray, *, totals: bool
) -> tuple[CodeHeader | None, dict[str, WireColumn], list[pa.Array]]:
    """Return the header, the columns, and the texts of `TEXTS`; None and empty without stacks.

    `rows` are the events in the order of the wire; `totals` adds the time of each line in the whole trace.
    """
    table, stack = trace.stacks, event_stacks(trace)
    used = np.zeros(0, np.int64)
    if table is not None:
        lines = _frames(table, all_sampled_time(trace).lines if totals else None)
        used = _with_callers(table, stack, np.isin(table.stacks["frame"], lines))
    if table is None or not len(used):
        return None, {}, [pa.array([], pa.large_string())] * len(TEXTS)
    caller, frame = (table.stacks[name].to_numpy()[used] for name in ("caller", "frame"))
    frames, of_stack = np.unique(frame, return_inverse=True)
    described = table.frames.take(pa.array(frames))
    files, place = _files(table, described["file"].to_numpy())
    file = place[described["file"].to_numpy()]
    here = np.searchsorted(used, stack[rows])
    header: CodeHeader = {"files": files, "phases": list(PHASES)}
    if totals:
        totals_of = line_totals(trace)
        header["lines"] = totals_of.assign(file=place[totals_of["file"]]).to_numpy(np.int64).tolist()
        header["unattributed"] = unattributed(trace)
    # The text of a complete file includes its lines.
    whole = np.array([each["text"] is not None for each in files])[file]
    texts = described["text"].combine_chunks() if whole.size else pa.array([], pa.string())
    columns = {
        "code_caller": WireColumn(
            (np.arange(len(used)) - np.where(caller < 0, -1, np.searchsorted(used, caller))).astype("u4")
        ),
        "code_frame": number_column(of_stack, len(frames)),
        "code_file": number_column(file, len(files)),
        "code_line": WireColumn(described["line"].to_numpy().clip(0).astype("u4")),
        "code_stack": optional_column(np.minimum(here, len(used) - 1), stack[rows] >= 0),
        "code_phase": WireColumn(event_phases(trace)[rows].astype("u1")),
    }
    functions = described["function"].combine_chunks()
    return header, columns, [functions, pa.array(np.where(whole, "", texts.fill_null("").to_numpy(False)))]


def code_bytes(trace: Trace) -> bytes:
    """Write the code of a large trace, whose events are not in the browser, to a container."""
    header, columns, texts = code(trace, np.zeros(0, np.int64), totals=True)
    numbers, strings = number_texts(texts)
    named = {name: WireColumn(number) for name, number in zip(TEXTS, numbers, strict=True)} if header else {}
    return pack({"count": 0, "code": header}, columns | named | stored_texts(strings))


def without_code(trace: Trace) -> Trace:
    """Return the trace without stacks, lines, texts of files, and tracings."""
    part = copy.copy(trace)
    part.stacks = None
    part.programs = {name: without_sources(proto) for name, proto in trace.programs.items()}
    if part.nested is not None and TRACING in part.nested.column_names:
        part.nested = part.nested.drop_columns([TRACING])
    code = ["file", "line", "function", "text"]
    part.metadata = {
        subject: rows.drop(columns=code, errors="ignore").reindex(columns=rows.columns).astype(rows.dtypes)
        for subject, rows in part.metadata.items()
        if subject not in CODE
    }
    for name in _COMPUTED:
        vars(part).pop(name, None)
    return part


def event_phases(trace: Trace) -> np.ndarray:
    """Return the index in `PHASES` of each event plus 1, or 0 if its phase is unknown (int64)."""
    if trace.nested is None or PHASE not in trace.nested.column_names:
        return np.zeros(len(trace.events), np.int64)
    names = trace.nested[PHASE].to_pandas()
    return pd.Categorical(names, categories=PHASES).codes.astype(np.int64) + 1


def _frames(table: StackTable, lines: pd.DataFrame | None) -> np.ndarray:
    """Return a frame of each sampled line, -1 if there is none."""
    if lines is None or lines.empty:
        return np.zeros(0, np.int64)
    files = table.files["name"].to_pylist()
    places = zip(table.frames["file"].to_pylist(), table.frames["line"].to_pylist(), strict=True)
    frame = {(files[file], line): row for row, (file, line) in enumerate(places)}
    return np.array(
        [frame.get(place, -1) for place in zip(lines["file"], lines["line"], strict=True)], np.int64
    )


def _with_callers(table: StackTable, stack: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """Return the stacks of events, those of sampled lines, and all their callers, in order."""
    used = np.append(sampled, False)
    used[stack[stack >= 0]] = True
    # Each round doubles the distance; the last index means no caller.
    farther = np.append(table.stacks["caller"].to_numpy(), -1)
    while (farther >= 0).any():
        used[farther[used]] = True
        farther = np.where(farther < 0, -1, farther[farther])
    return np.flatnonzero(used[:-1])


def _files(table: StackTable, file: np.ndarray) -> tuple[list[SourceFile], np.ndarray]:
    """Describe the files of frames, each name once, and return the index of each file in the table."""
    places: dict[tuple[str, str | None, bool], int] = {}
    names: dict[str, int] = {}
    described: list[SourceFile] = []
    place = np.full(table.files.num_rows, -1)
    left = _MOST_TEXT
    for number in np.unique(file).tolist():
        name, text, own, edited = (table.files[column][number].as_py() for column in FILES.names)
        sent = text if own and text is not None and len(text) <= left else None
        if (name, sent, edited) not in places:
            left -= len(sent or "")
            places[name, sent, edited] = len(described)
            names[name] = names.get(name, 0) + 1
            label = name if names[name] == 1 else f"{name} ({names[name]})"
            note = Text("code_file_edited", file=printable(name, _MOST_NAME)) if edited else None
            mark: Literal["edited"] | None = "edited" if edited else None
            described.append({"name": label, "own": own, "text": sent, "mark": mark, "note": note})
        place[number] = places[name, sent, edited]
    _mark_older_cells(described)
    return described, place


def _mark_older_cells(files: list[SourceFile]) -> None:
    """Mark cells with functions or classes that a later cell defines again."""
    cells = [(int(found[1]), file) for file in files if (found := _CELL.match(file["name"])) and file["text"]]
    later: dict[str, str] = {}
    for _, file in sorted(cells, key=lambda cell: -cell[0]):
        names = list(dict.fromkeys(_DEFINITION.findall(file["text"] or "")))
        if again := [name for name in names if name in later]:
            shown = ", ".join(again)
            file |= {
                "mark": "older",
                "note": Text("code_file_older", file=file["name"], names=shown, cell=later[again[0]]),
            }
        later |= {name: file["name"] for name in names if name not in later}


def line_totals(trace: Trace) -> pd.DataFrame:
    """Add up the events of each line of the user's code and phase, by the innermost frame of each event.

    Columns (int64): ``file`` (a row of ``trace.stacks.files``), ``line``, ``phase`` (see `event_phases`),
    ``device`` and ``host`` (self time, ns), ``copied`` (bytes), ``events``, ``sampled`` (the part of ``host``
    that is known from samples, ns).
    """
    if trace.stacks is None:
        return pd.DataFrame(columns=_TOTALS, dtype=np.int64)
    sampled, (frame, rows) = all_sampled_time(trace), _own_frames(trace, attributed=True)
    file, line = (trace.stacks.frames[name].to_numpy()[frame[rows]] for name in ("file", "line"))
    keys = {"file": file, "line": line.clip(0), "phase": event_phases(trace)[rows]}
    table = event_figures(trace, rows, sampled.taken).rename(columns=_FIGURES).assign(**keys)[list(_TOTALS)]
    of_samples = _frames(trace.stacks, sampled.lines)
    known, none = of_samples >= 0, dict.fromkeys(("phase", "device", "copied", "events"), 0)
    time = sampled.lines["sampled_ns"].to_numpy(np.int64)[known]
    file, line = (trace.stacks.frames[name].to_numpy()[of_samples[known]] for name in ("file", "line"))
    more = pd.DataFrame({"file": file, "line": line, "host": time, "sampled": time}).assign(**none)
    return pd.concat([table, more]).groupby(["file", "line", "phase"]).sum().reset_index().astype(np.int64)


def unattributed(trace: Trace) -> list[Unattributed]:
    """Add up the events without a line by reason, one of `REASONS`, with figures as in `line_totals`."""
    _, rows = _own_frames(trace, attributed=False)
    reason = reasons(trace, rows, event_stacks(trace)[rows])
    table = event_figures(trace, rows, all_sampled_time(trace).taken)[[*_FIGURES]].groupby(reason).sum()
    waits = waiting_figures(trace, np.arange(len(trace.events)))
    if any(waits.values()):
        waiting = pd.DataFrame([dict.fromkeys(_FIGURES, 0) | waits], index=[WAITING])[[*_FIGURES]]
        table = pd.concat([table, waiting]).groupby(level=0).sum()
    return [
        {
            "reason": one,
            "device": device,
            "host": host,
            "copied": copied,
            "events": events,
            "sampled": sampled,
        }
        for one in REASONS
        if one in table.index
        for device, host, copied, events, sampled in [map(int, table.loc[one])]
    ]


def _own_frames(trace: Trace, *, attributed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the innermost own frame of each event, -1 without one, and the events with or without one."""
    assert trace.stacks is not None
    frame = np.append(trace.stacks.own_frame(), -1)[event_stacks(trace)]
    frame[waiting_stages(trace)] = -1
    return frame, np.flatnonzero((frame >= 0) == attributed)
