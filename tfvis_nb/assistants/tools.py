"""The tools that answer questions about open traces, each in Markdown, JSON or a picture of limited size.

JSON answers hold texts of a trace as strings, Markdown has them escaped or in code spans: whatever a trace
says is quoted. Docstrings of tools are what assistants read about them.
"""

import json
import shutil
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO

import pyarrow as pa
from pydantic import Field

from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.assistants.roots import Roots
from tfvis_nb.core.labels import one_line
from tfvis_nb.core.markup import markdown_text
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading import read_trace
from tfvis_nb.session import open_session
from tfvis_nb.sql.connection import kept_connection, select
from tfvis_nb.sql.limits import ROWS, SECONDS, cell
from tfvis_nb.sql.views import schemas
from tfvis_nb.texts import Text
from tfvis_nb.writing.report import brief, compared, compared_findings, report

MOST_OPEN = 8
BRIEF_BYTES, ANSWER_BYTES, VALUE_BYTES = 3000, 32_000, 2000
"""Limits on the answer of `open_trace`, on the rows of other answers, and on a value in them."""
PICTURE_BYTES = 1_000_000

_SQLITE = b"SQLite format 3\0"
_LINE_COLUMNS = "file, line, function, text, phase, reason, device_ns, host_ns, network_ns, events, first"
_NEIGHBOURS = """
SELECT edges.kind AS edge, event, name, op, events.kind, task, device, lane, step, start_ns, duration_ns
FROM edges JOIN events ON event = edges.{other} WHERE edges.{own} = {event} ORDER BY event
"""
_MOST_NEIGHBOURS, _MOST_FRAMES, _LINE_BYTES, _PATH_ROWS = 20, 8, 300, 8
_DPI = 150

TraceId = Annotated[str, Field(description="Id of an open trace, such as t1, from open_trace.")]
Changes = Annotated[
    dict[str, float | str],
    Field(description="Name or pattern to the factor of its time, hidden (overlapped) or gpu (moved there)."),
]
Limit = Annotated[int, Field(ge=1, le=1000, description="Rows of a page; the size of an answer is limited.")]
Offset = Annotated[int, Field(ge=0, description="Rows to skip, to get the next page.")]


_NO_CHANGES: dict[str, float | str] = {}


class Tools:
    """The tools, and the traces that they have opened.

    Parameters
    ----------
    roots
        The folders below which traces may be.
    number
        How many traces were opened before, by earlier processes of the same server: their ids stay unused.
    """

    def __init__(self, roots: Roots, number: int = 0) -> None:
        self._roots = roots
        self._number = number
        self._traces: dict[str, Trace] = {}

    def open_trace(
        self,
        path: Annotated[
            str | list[str],
            Field(
                description="File of a trace: .pb, .xplane.pb, .parquet, .json.gz, .tfvis and others. A list"
                " of files is one run: its ranks, hosts or steps."
            ),
        ],
    ) -> str:
        """Open a trace and return its id, the headline, the main findings with advice, and the slowest lines.

        Start here. The other tools take the id. Up to 8 traces are open; one more closes the oldest.
        """
        self._number += 1
        trace = read_trace(self._contents([path] if isinstance(path, str) else path))
        new = f"t{self._number}"
        head = f"Trace {new}: {markdown_text(one_line(trace), 100)}\n\n"
        foot = f"\nreport, source and the other tools have more about trace {new}."
        closed = next(iter(self._traces), "") if len(self._traces) == MOST_OPEN else ""
        foot += f" Trace {closed} is closed.\n" if closed else "\n"
        answer = f"{head}{brief(trace, BRIEF_BYTES - len(head.encode()) - len(foot.encode()))}{foot}"
        self._traces.pop(closed, None)
        self._traces[new] = trace
        return answer

    def report(
        self,
        trace: TraceId,
        against: Annotated[str, Field(description="Id of another open trace to compare with.")] = "",
    ) -> str:
        """Return a report of at most 1,000 words: overview, findings with advice, slowest lines and notes."""
        return report(self._trace(trace), self._trace(against) if against else None)

    def table(
        self,
        trace: TraceId,
        name: Annotated[str, Field(description="Name of a table; an unknown one lists them all.")],
        where: Annotated[str, Field(description="Condition in SQL, such as op = 'MatMul'.")] = "",
        order_by: Annotated[str, Field(description="Columns in SQL, such as duration_ns DESC.")] = "",
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> str:
        """Return rows of a table of a trace: events, steps, lanes, transfers, kernels, idle_gaps, memory etc.

        Times are in ns, sizes in bytes. Events are numbered as in the timeline.
        """
        if name not in schemas():
            raise ValueError(Text("no_such_table", name=name, names=", ".join(sorted(schemas()))))
        return self._page(trace, name, where=where, order_by=order_by, limit=limit, offset=offset)

    def sql(
        self,
        trace: TraceId,
        query: Annotated[str, Field(description="One SELECT of DuckDB's SQL; also SHOW TABLES, DESCRIBE x.")],
        against: Annotated[
            str, Field(description="Id of another open trace: its tables are a.events etc., the trace's b.")
        ] = "",
    ) -> str:
        """Return the rows of a SELECT over the tables of a trace, within 30 s. It cannot reach files."""
        traces = self._trace(trace), self._trace(against) if against else None
        rows = select(kept_connection(*traces), query, seconds=SECONDS, rows=ROWS + 1)
        return _rows(rows, "Add LIMIT and OFFSET, or sum the rows up with GROUP BY.", ROWS)

    def source(
        self,
        trace: TraceId,
        file: Annotated[str, Field(description="Only lines of files whose path ends like this.")] = "",
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> str:
        """Return the lines of the user's code with their times on devices, the host and the network, in ns.

        The texts are those recorded in the trace. The most device time comes first, then host time. `first`
        is the first event of a line.
        """
        ending = file.replace("'", "''")
        where = f"ends_with(file, '{ending}')" if file else ""
        return self._page(trace, "source_lines", _LINE_COLUMNS, where=where, limit=limit, offset=offset)

    def event(
        self,
        trace: TraceId,
        event: Annotated[int, Field(ge=0, description="Number of the event, as in the timeline.")],
    ) -> str:
        """Return an event, the line that made it, and the events that it depends on or that depend on it."""
        opened = self._trace(trace)
        if event >= len(opened.events):
            raise ValueError(Text("no_such_event", event=event, events=len(opened.events)))
        connection = kept_connection(opened)
        facts = select(connection, f"SELECT * FROM events WHERE event = {event}", seconds=SECONDS)  # noqa: S608 - a number
        known = zip(facts.column_names, *_values(facts), strict=True)
        answer = quoted({name: value for name, value in known if value not in (None, "")})
        for name, own, other in (("producers", "target", "source"), ("consumers", "source", "target")):
            query = _NEIGHBOURS.format(own=own, other=other, event=event)
            rows = select(connection, query, seconds=SECONDS, rows=_MOST_NEIGHBOURS + 1)
            more = f"sql: SELECT {other} FROM edges WHERE {own} = {event}"  # noqa: S608 - likewise
            answer += f',\n"{name}":{_rows(rows, more, _MOST_NEIGHBOURS)}'
        stack = int(event_stacks(opened)[event])
        frames = opened.stacks.frames_of(stack) if opened.stacks is not None and stack >= 0 else []
        own_frames = [frame for frame in frames if frame.own][:_MOST_FRAMES]
        lines = [f"{frame.file}:{frame.line} {frame.text.strip()}" for frame in own_frames]
        answer += f',\n"source":{quoted([cell(line, _LINE_BYTES) for line in lines])}'
        return f'{{"event":{answer}}}'

    def compare(
        self,
        trace: TraceId,
        base: Annotated[str, Field(description="Id of the open trace to compare with.")],
    ) -> str:
        """Compare the steps of a trace with a base: the change, whether it is clear, its ops and findings."""
        pair = self._trace(trace), self._trace(base)
        return "\n".join([*compared(*pair), *compared_findings(*pair)])

    def what_if(
        self,
        trace: TraceId,
        ops: Changes = _NO_CHANGES,
        kernels: Changes = _NO_CHANGES,
        layers: Changes = _NO_CHANGES,
        lines: Changes = _NO_CHANGES,
        activities: Changes = _NO_CHANGES,
        on_time: Annotated[str, Field(description="A task or device that would not be late.")] = "",
        between_steps: Annotated[
            float | None, Field(description="Factor of the time between steps, except for input.")
        ] = None,
    ) -> str:
        """Predict the step if some work took longer or shorter, such as lines={"train.py:12": 0.5}.

        Names are op types, kernels, layers, lines as file:line, or activities: input, launch, communication,
        compile, h2d, d2h, d2d. Times are of a typical step, and of a round of the loop, in ns.
        """
        changes = {"ops": ops, "kernels": kernels, "layers": layers, "lines": lines, "activities": activities}
        predicted = self._trace(trace).what_if(
            **{name: changed or None for name, changed in changes.items()},
            on_time=on_time or None,
            between_steps=between_steps,
        )
        loop, path = predicted.typical_loop, predicted.path.head(_PATH_ROWS)
        answer = {
            "typical_step": predicted.typical._asdict(),
            "typical_loop": loop and loop._asdict(),
            "doubt": predicted.doubt,
            "drift": predicted.drift,
            "critical_path": path.to_dict("records"),
        }
        return quoted(cell(answer))

    def picture(
        self,
        trace: TraceId,
        time_range: Annotated[
            str, Field(description="Such as 10ms:25ms, counted from the first event.")
        ] = "",
        lanes: Annotated[str, Field(description="Only lanes whose names contain these words.")] = "",
    ) -> bytes:
        """Draw the timeline of a trace as a PNG: its lanes over time, with the names of long events."""
        drawn = self._trace(trace).to_png(
            dpi=_DPI, width="24 cm", time_range=time_range or None, lanes=lanes, theme="print"
        )
        if len(drawn) > PICTURE_BYTES:
            raise ValueError(Text("picture_too_large", size=len(drawn), most=PICTURE_BYTES))
        return drawn

    def _trace(self, name: str) -> Trace:
        if name not in self._traces:
            raise ValueError(Text("trace_not_open", trace=name, open=", ".join(self._traces) or "none"))
        return self._traces[name]

    def _page(
        self,
        trace: str,
        table: str,
        columns: str = "*",
        *,
        where: str = "",
        order_by: str = "",
        limit: int,
        offset: int,
    ) -> str:
        # On lines of their own, because a condition may end with a comment.
        parts = [f'SELECT {columns} FROM "{table}"']  # noqa: S608 - the connection reads nothing else
        parts += [f"WHERE {where}"] if where else []
        parts += [f"ORDER BY {order_by}"] if order_by else []
        parts += [f"LIMIT {limit + 1} OFFSET {offset}"]
        opened = self._trace(trace)
        rows = select(kept_connection(opened), "\n".join(parts), seconds=SECONDS)
        answer = _rows(rows, "Call again with offset={next}.", limit, offset)
        reason = "" if rows.num_rows else why_not(getattr(opened, table))
        return f'{answer[:-1]},"reason":{quoted(reason)}}}' if reason else answer

    def _contents(self, paths: list[str]) -> Iterator[BinaryIO | Trace]:
        """Yield each file or, if it is a session, its traces."""
        for path in paths:
            with self._roots.open(path) as file:
                is_session = file.read(len(_SQLITE)) == _SQLITE
                file.seek(0)
                yield from self._session(path, file) if is_session else [file]

    def _session(self, path: str, file: BinaryIO) -> list[Trace]:
        """Read the traces of a session, of a copy: SQLite opens files by name, and writes next to them."""
        if self._roots.has(f"{path}-wal"):
            raise ValueError(Text("session_in_use", path=path))
        with TemporaryFolder() as folder:
            copy = folder.path / "session.tfvis"
            with copy.open("wb") as target:
                shutil.copyfileobj(file, target)
            with open_session(copy) as session:
                return [session.read(number) for number in session.traces.index]


def quoted(value: Any) -> str:
    r"""Return a value as JSON whose strings show invisible characters and form no Markdown or HTML.

    Parsers of JSON return the strings unchanged.

    >>> print(quoted({"op": "![x](http://y)<b>\u202e"}))
    {"op":"![x]\u0028http:\/\/y)\u003cb>\u202e"}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    shown = "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)
    return shown.replace("](", "]\\u0028").replace("<", "\\u003c").replace("://", ":\\/\\/")


def _rows(table: pa.Table, more: str, most: int, offset: int = 0) -> str:
    """Return the first rows that fit into an answer, and how to get the others."""
    names = quoted(table.column_names)
    if len(names.encode()) > ANSWER_BYTES:
        raise ValueError(Text("too_many_columns", columns=table.num_columns))
    lines, size = [], 0
    for row in _values(table[:most]):
        lines.append(quoted(row))
        size += len(lines[-1].encode()) + 2
        if size > ANSWER_BYTES and len(lines) > 1:
            lines.pop()
            break
    answer = f'{{"columns":{names},"rows":[\n' + ",\n".join(lines) + "\n]"
    if len(lines) < table.num_rows:
        answer += f',"more":{quoted(more.replace("{next}", str(offset + len(lines))))}'
    return answer + "}"


def _values(table: pa.Table) -> list[list[Any]]:
    most = min(VALUE_BYTES, ANSWER_BYTES // max(table.num_columns, 1))
    columns = (column.to_pylist() for column in table)
    return [[cell(value, most) for value in row] for row in zip(*columns, strict=True)]
