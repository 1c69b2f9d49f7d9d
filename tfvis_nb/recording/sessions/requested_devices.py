"""The devices requested by a session's graph, because the graphs of a run only have the assigned ones."""

import threading
from typing import Any
from weakref import WeakKeyDictionary


class RequestedDevices:
    """Describes the graph of each session once per version."""

    def __init__(self, config_pb2: Any) -> None:
        self._config_pb2 = config_pb2
        self._known: WeakKeyDictionary[Any, tuple[int, bytes]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, graph: Any) -> bytes:
        """Return a serialised RunMetadata with the names, op types and devices of a ``tf.Graph``.

        They are stored as a function's graph before optimisation. Empty if the program requested no device.
        """
        with self._lock:
            version, described = self._known.get(graph, (-1, b""))
            if version != graph.version:
                version = graph.version
                described = self._described(graph)
                self._known[graph] = version, described
            return described

    def _described(self, graph: Any) -> bytes:
        every = [(op.name, op.type, op.device) for op in graph.get_operations()]
        if not any(device for _, _, device in every):
            return b""
        metadata = self._config_pb2.RunMetadata()
        before = metadata.function_graphs.add().pre_optimization_graph
        for name, op, device in every:
            before.node.add(name=name, op=op, device=device)
        described: bytes = metadata.SerializeToString()
        return described
