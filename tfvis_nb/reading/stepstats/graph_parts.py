"""The graphs and other parts of a RunMetadata except the step; everything stays serialised."""

from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.protobuf.wire import Data, WireField
from tfvis_nb.texts import Text, text_of

PARTITION_GRAPHS = 3
_FUNCTION_GRAPHS = 4
_KEPT = {2: "cost_graph", _FUNCTION_GRAPHS: "function_graphs", 5: "session_metadata"}
_MOST_GRAPHS = 100_000
_MOST_BYTES = 1 << 26
"""Limit for a message without its partition graphs: a graph before optimisation may contain weights."""


class GraphParts:
    """Collects the graphs of one RunMetadata.

    Attributes
    ----------
    left_out
        The names of fields that are not kept.
    damage
        Why the first damaged message was left out; empty if there is none.
    """

    def __init__(self) -> None:
        self.left_out: set[str] = set()
        self.damage = ""
        self._partitions: list[bytes] = []
        self._of_functions: list[bytes] = []
        self._rest = bytearray()

    @property
    def graphs(self) -> list[bytes]:
        """The partition graphs: TensorFlow repeats those of functions in them, which may also occur alone."""
        return self._partitions or self._of_functions

    @property
    def rest(self) -> bytes:
        """A RunMetadata with everything else: costs, session, functions before and after optimisation."""
        return bytes(self._rest)

    def take(self, data: Data, part: WireField, message: str) -> None:
        """Keep a field of a RunMetadata with the bytes `data`; DamageError if there are too many graphs."""
        if part.number == PARTITION_GRAPHS:
            self._add(self._partitions, data, part, message)
        elif part.number not in _KEPT or part.wire_type != wire.LENGTH:
            self.left_out.add(_KEPT.get(part.number, "unknown fields"))
        elif len(self._rest) + part.end - part.position > _MOST_BYTES:
            self.left_out.add(_KEPT[part.number])
        elif part.number == _FUNCTION_GRAPHS:
            self._function(data, part, message)
        else:
            self._rest += data[part.position : part.end]

    def _function(self, data: Data, part: WireField, message: str) -> None:
        try:
            parts = list(wire.fields(data, part.start, part.end))
        except wire.DamageError as damage:
            self.damage = self.damage or text_of(damage)
            return
        kept = bytearray()
        for graph in parts:
            if graph.number == 1 and graph.wire_type == wire.LENGTH:
                self._add(self._of_functions, data, graph, message)
            else:
                kept += data[graph.position : graph.end]
        if kept:
            self._rest += wire.delimited(_FUNCTION_GRAPHS, bytes(kept))

    def _add(self, graphs: list[bytes], data: Data, part: WireField, message: str) -> None:
        if len(graphs) >= _MOST_GRAPHS:
            raise wire.DamageError(part.position, Text("too_many_graphs", most=_MOST_GRAPHS), message)
        graphs.append(bytes(data[part.start : part.end]))
