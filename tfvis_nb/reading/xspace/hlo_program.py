"""An XLA program in a profile: the op and the lines of code behind each instruction."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tfvis_nb.core.stacks import Frame
from tfvis_nb.reading.protobuf.to_arrow import handler
from tfvis_nb.reading.protobuf.wire import text

MOST_FRAMES = 256
"""How many innermost frames of a stack are kept."""

_INSTALLED = re.compile(
    r"(?:^|[/\\])(?:site|dist)-packages[/\\]|(?:^|[/\\])lib(?:64)?[/\\]python\d[\d.]*[/\\]|<(?:frozen|embedded)"
)
_CELL = re.compile(r".*[/\\]ipykernel_\d+[/\\](?P<number>\d+)\.py", re.DOTALL)
_NO_WORD = re.compile(r"\W")


class Instruction(NamedTuple):
    """The origin of an instruction.

    - `op_name`: The name of the op in TensorFlow or JAX, empty if unknown.
    - `frames`: The Python stack that made it, outermost frame first.
    - `cut`: Whether outer frames are missing or invalid.
    - `name`: Its own name, empty if only its origin is known.
    """

    op_name: str = ""
    frames: tuple[Frame, ...] = ()
    cut: bool = False
    name: str = ""


class Program:
    """One ``HloProto``. ValueError if its bytes are damaged; dangling references are left out."""

    def __init__(self, data: bytes) -> None:
        module = handler("HloProto", "hlo").list_to_record_batch([data]).column("hlo_module")
        self._index = module.field("stack_frame_index")
        computations = module.field("computations").values
        instructions = computations.field("instructions")
        self._offsets = instructions.offsets.to_numpy()
        self._instructions = instructions.values
        self._row_of_computation = {
            number: row for row, number in enumerate(computations.field("id").to_pylist())
        }
        self._roots = computations.field("root_id")
        self._rows = {
            text(name): row for row, name in enumerate(self._instructions.field("name").to_pylist())
        }

    def find(self, op: str, kernel: str) -> Instruction:
        """Return the origin of an instruction, given its name and that of its kernel.

        Only kernel names distinguish the instructions of a command buffer. Kernels of libraries have their
        own names; their origin is known if all library calls have the same one.
        """
        row = self._rows.get(op)
        if row is None:
            row = self._by_kernel.get(kernel)
        if row is not None:
            return self._instruction(row)
        return self._of_library if op.startswith("command_buffer") else Instruction()

    @cached_property
    def _by_kernel(self) -> dict[str, int]:
        return {_NO_WORD.sub("_", name): row for name, row in reversed(self._rows.items())}

    @cached_property
    def _of_library(self) -> Instruction:
        opcodes = self._instructions.field("opcode").to_pylist()
        calls = [row for row, opcode in enumerate(opcodes) if opcode == b"custom-call"]
        metadata = self._instructions.field("metadata").take(pa.array(calls, pa.int64())).to_pylist()
        origins = {tuple((one or {}).values()): row for one, row in zip(metadata, calls, strict=True)}
        instructions = {self._instruction(row) for row in origins.values()}
        names, stacks = {one.op_name for one in instructions}, {one.frames for one in instructions}
        return Instruction(
            names.pop() if len(names) == 1 else "",
            stacks.pop() if len(stacks) == 1 else (),
            any(one.cut for one in instructions),
        )

    def _instruction(self, row: int) -> Instruction:
        """Read an instruction; facts that it lacks may be in the instructions fused into it."""
        op_name, cut = "", False
        name = text(self._instructions.field("name")[row].as_py() or b"")
        for metadata in self._metadata(row):
            op_name = op_name or text(metadata["op_name"])
            frames, missing = self._frames(metadata)
            cut |= missing
            if frames:
                return Instruction(op_name, frames, cut, name)
        return Instruction(op_name, cut=cut, name=name)

    def _metadata(self, row: int) -> list[dict[str, Any]]:
        """Return the metadata of an instruction and of those it calls, results first."""
        rows = [row]
        for number in self._instructions.field("called_computation_ids")[row].as_py() or ():
            called = self._row_of_computation.get(number)
            if called is not None:
                inside = np.arange(self._offsets[called], self._offsets[called + 1])
                root = self._instructions.field("id").take(pa.array(inside)).to_numpy()
                is_root = root == self._roots[called].as_py()
                rows += [*inside[is_root].tolist(), *inside[~is_root][::-1][:MOST_FRAMES].tolist()]
        metadata = self._instructions.field("metadata").take(pa.array(rows, pa.int64())).to_pylist()
        return [one for one in metadata if one]

    def _frames(self, metadata: dict[str, Any]) -> tuple[tuple[Frame, ...], bool]:
        frames: list[Frame] = []
        number, cut = metadata["stack_frame_id"], False
        # A frame that is its own caller would cause an endless loop.
        seen = set()
        while number:
            frame = _row(self._index.field("stack_frames"), number)
            if frame is None or number in seen or len(frames) == MOST_FRAMES:
                cut = True
                break
            seen.add(number)
            place = _row(self._index.field("file_locations"), frame["file_location_id"]) or {}
            file = _row(self._index.field("file_names"), place.get("file_name_id", 0))
            function = _row(self._index.field("function_names"), place.get("function_name_id", 0))
            if file:
                frames.append(python_frame(file, place["line"], function or b""))
            cut |= not file
            number = frame["parent_frame_id"]
        if not frames and metadata["source_file"]:
            frames.append(python_frame(metadata["source_file"], metadata["source_line"], b""))
        return tuple(reversed(frames)), cut


def _row(column: pa.ListArray, number: int) -> Any:
    """Return the entry with a number, counting from 1; None if there is none."""
    return column.values[number - 1].as_py() if 0 < number <= len(column.values) else None


def python_frame(file: bytes, line: int, function: bytes) -> Frame:
    """Return a frame that JAX recorded with the path of its file."""
    name = text(file)
    own = _INSTALLED.search(name) is None
    if cell := _CELL.fullmatch(name):
        name = f"Cell {cell['number']}"
    return Frame(name, max(line, 0), text(function), own=own)
