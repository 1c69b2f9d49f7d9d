"""Find names of a trace in files made from it."""

import base64
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import tfvis_nb
from tfvis_nb import Trace, events
from tfvis_nb.anonymizing.names import is_kernel_part
from tfvis_nb.core.stacks import StackTable
from tfvis_nb.reading.parquet import KEY
from tfvis_nb.reading.protobuf.wire import LENGTH, DamageError, fields

_PART = re.compile(r'id="tfvis-([\w-]+)">([A-Za-z0-9+/=]*)<')
_PACKED = re.compile(r'"(eJ[A-Za-z0-9+/]{6,}=*)"')
"""Base64 of what zlib compressed."""
_NAME = re.compile(r"[^\W\d_]{4,}")
_HARDWARE = ("vendor", "model")
_PARTS = (
    *("_events", "nested", "graphs", "run_metadata", "notes", "sources", "profiles", "title", "step_labels"),
    *("clock_bounds", "stacks", "recorded_counters", "programs"),
)


def page_part(page: str, name: str) -> bytes:
    """A part of a page, unpacked."""
    return gzip.decompress(base64.b64decode(dict(_PART.findall(page))[name]))


def page_text(page: str) -> str:
    """Return all texts of a page, including packed ones."""
    parts = [gzip.decompress(base64.b64decode(data)) for _, data in _PART.findall(page)]
    return "\n".join([_PART.sub("", page), *(part.decode("latin-1") for part in parts)])


def file_text(path: Path) -> str:
    """Return all texts of a page, a Chrome trace or a table, including packed ones."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        head = table.schema.metadata[KEY].decode()
        packed = [zlib.decompress(base64.b64decode(text)) for text in _PACKED.findall(head)]
        return "\n".join([head, *map(str, _texts(table)), *(part.decode("latin-1") for part in packed)])
    return page_text(path.read_text(encoding="utf-8"))


def names_in(trace: Trace) -> set[str]:
    """Every run of at least four letters in the texts of a trace that may be a name.

    Names of kernels and of instructions of XLA that consist of public words are none.
    """
    parts = {name: value for name, value in vars(trace).items() if name in _PARTS}
    parts["metadata"] = [
        table.drop(columns=[*_HARDWARE], errors="ignore") for table in trace.metadata.values()
    ]
    names = {name for text in _texts(parts) for name in _NAME.findall(text)}
    kernels = trace.events["detail"][trace.events["lane"].astype(str).str.startswith("stream")].unique()
    words = {word for text in kernels for word in re.findall(r"[^\W_]+", text)}
    words |= {word for text in _texts(trace.programs) for word in re.findall(r"[^\W_]+", text)}
    public = {word for word in words if is_kernel_part(word)}
    mangled = "".join(text for text in kernels if text.startswith("_Z"))
    return {name for name in names if not any(name in word for word in public) and name not in mangled}


def survivors(names: Iterable[str], text: str) -> list[str]:
    """Names in a text, without the names of every page and of the list of public names."""
    return sorted(name for name in names if name in text and name not in _known())


@cache
def _known() -> str:
    """Return the texts of pages without names, public words, and texts of notes and findings."""
    columns = {"start_ns": [5], "duration_ns": [3], "kind": ["op"], "name": ["a"]}
    trace = Trace(events.build(columns))
    package = Path(tfvis_nb.__file__).parent
    own = [package / "texts.json", *(package / "anonymizing").glob("*names.*")]
    own += (package / "analysis").rglob("findings/*.py")
    own += (package / "analysis").rglob("overview/*.py")
    own += (package / "analysis").rglob("idle/*.py")
    pages = [trace.to_html(), tfvis_nb.show_dashboard(trace).to_html()]
    return "\n".join([*map(page_text, pages), *(path.read_text() for path in own)])


def _texts(value: Any) -> Iterator[str]:
    """Texts in tables, containers and serialised messages."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield from _texts_of_message(value)
    elif isinstance(value, pd.DataFrame):
        yield from _texts([value[name].unique().tolist() for name in value.select_dtypes(exclude="number")])
    elif isinstance(value, pa.Table):
        yield from _texts([_distinct(column) for column in value.columns])
    elif isinstance(value, StackTable):
        yield from _texts([value.files, value.frames])
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _texts(key)
            yield from _texts(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)


def _distinct(column: pa.ChunkedArray) -> list[Any]:
    listed: list[Any] = (column if pa.types.is_nested(column.type) else column.unique()).to_pylist()
    return listed


def _texts_of_message(data: bytes) -> Iterator[str]:
    for field in fields(data):
        if field.wire_type != LENGTH:
            continue
        content = data[field.start : field.end]
        with suppress(UnicodeDecodeError):
            text = content.decode()
            if text.isprintable():
                yield text
        with suppress(DamageError):
            yield from _texts_of_message(content)
