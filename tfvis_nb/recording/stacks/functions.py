"""The functions that TensorFlow creates or calls during a recording."""

import gc
from collections.abc import Iterable
from typing import Any

from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.stacks.graph_nodes import graph_of


class SeenFunctions:
    """Keeps functions between `watch` and `end`, because their graphs know the stacks of their ops.

    The user's code may release them before the recording ends.
    """

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self._called_graphs: dict[int, Any] = {}
        self._replacements = Replacements()

    def watch(self) -> None:
        """Start keeping functions."""
        from tensorflow.python.client.session import BaseSession
        from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction

        self._replacements.put(AtomicFunction, "__init__", self._making)
        self._replacements.put(AtomicFunction, "call_flat", self._calling)
        self._replacements.put(BaseSession._Callable, "__call__", self._calling_session)  # noqa: SLF001

    def end(self) -> None:
        """Put TensorFlow's own methods back."""
        self._replacements.undo()

    def graphs(self) -> dict[str, Any]:
        """Return the graphs of functions by name, including the functions that they call."""
        return _with_called(self._seen.values())

    def session_graphs(self) -> list[Any]:
        """Return the graphs of sessions that ran callables, like Keras in TensorFlow 1."""
        return list(self._called_graphs.values())

    def _making(self, original: Any) -> Any:
        def init(function: Any, *args: Any, **kwargs: Any) -> None:
            original(function, *args, **kwargs)
            self._seen[id(function)] = function

        return init

    def _calling(self, original: Any) -> Any:
        def call_flat(function: Any, *args: Any) -> Any:
            self._seen[id(function)] = function
            return original(function, *args)

        return call_flat

    def _calling_session(self, original: Any) -> Any:
        def call(made: Any, *args: Any, **kwargs: Any) -> Any:
            graph = made._session.graph  # noqa: SLF001
            self._called_graphs[id(graph)] = graph
            return original(made, *args, **kwargs)

        return call


def graphs_of_functions() -> dict[str, Any]:
    """Return the graphs of all existing functions by name, which takes long."""
    return _with_called(_living())


def pipeline_graphs() -> list[Any]:
    """Return the graphs of existing tf.data functions; most were created before the recording."""
    functions = [one for one in _living() if is_pipeline(name_of(one))]
    return [graph for graph in map(graph_of, functions) if graph is not None]


def _living() -> list[Any]:
    from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction

    return [one for one in gc.get_objects() if type(one) is AtomicFunction]


def _with_called(functions: Iterable[Any]) -> dict[str, Any]:
    """Return the graphs of functions, and of those that they call, by name."""
    graphs: dict[str, Any] = {}
    ahead = list(functions)
    while ahead:
        function = ahead.pop()
        graph, name = graph_of(function), name_of(function)
        if graph is None or name in graphs:
            continue
        graphs[name] = graph
        ahead += getattr(graph, "_functions", {}).values()
    return graphs


def is_pipeline(name: str) -> bool:
    """Whether a function name belongs to tf.data."""
    return name.startswith("__inference_Dataset_")


def name_of(function: Any) -> str:
    """Return the name under which TensorFlow runs a function."""
    name = getattr(function, "name", "")
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)
