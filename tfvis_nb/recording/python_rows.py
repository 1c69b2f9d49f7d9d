"""Rows for Python that no framework records: batches taken from iterators, Keras's callbacks, and savers.

Marks of the framework's profiler make these rows, only on the thread that records: other threads take
batches ahead of it, which nothing waits for. A row inside one of its own kind is left out.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from tfvis_nb.core.python_rows import CALLBACK, NEXT_BATCH, SAVING
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler.keras_steps import backend as keras_backend

PACKAGES = ("grain", "grain.python", "keras", "orbax.checkpoint", "torch")
"""The packages whose import adds classes."""

_SAVES = re.compile(r"save|save_weights|write")
_HOOKS = re.compile(r"on_(?:(?:train|test|predict)_)?(?:(?:batch|epoch)_)?(?:begin|end)")
_CALLBACK_LIST = "keras.src.callbacks.callback_list"
_NO_CALLBACKS = (
    ("keras.src.callbacks.callback", "Callback"),
    (_CALLBACK_LIST, "CallbackList"),
    ("tfvis_nb.recording.live.keras_batches", "Recording"),
)
"""The methods of the base class do nothing, a list of callbacks calls the others, and one of them records."""
_MOST_LOOKED_AT = 16
"""More batches that are ready are counted as so many."""


class _Calls(NamedTuple):
    """The methods of a class and its subclasses that are rows."""

    module: str
    owner: str
    methods: re.Pattern[str]
    kind: str
    label: str = ""
    """Names what a batch comes from; other rows are named by class and method."""


_NEXT = re.compile("__next__")
_CALLS = (
    _Calls("keras.src.callbacks.callback", "Callback", _HOOKS, CALLBACK),
    _Calls("keras.src.models.model", "Model", _SAVES, SAVING),
    _Calls("orbax.checkpoint", "CheckpointManager", _SAVES, SAVING),
    _Calls("orbax.checkpoint", "Checkpointer", _SAVES, SAVING),
    _Calls("grain._src.python.data_loader", "DataLoaderIterator", _NEXT, NEXT_BATCH, "Grain"),
    _Calls("grain._src.python.dataset.dataset", "DatasetIterator", _NEXT, NEXT_BATCH, "Grain"),
    _Calls("torch.utils.data.dataloader", "_BaseDataLoaderIter", _NEXT, NEXT_BATCH, "DataLoader"),
)
_SOURCES = {
    "ArrayDataAdapter": "arrays",
    "GeneratorDataAdapter": "generator",
    "GrainDatasetAdapter": "Grain",
    "PyDatasetAdapter": "PyDataset",
    "TFDatasetAdapter": "tf.data",
    "TorchDataLoaderAdapter": "DataLoader",
}
"""What Keras takes batches from, by its adapter."""


class PythonRows:
    """Makes the rows of the thread that creates it, while installed.

    Parameters
    ----------
    backend
        The backend of Keras whose rows are made.
    mark
        Starts a mark of the framework's profiler, which has ``set_metadata`` and ends with ``__exit__``.
    """

    def __init__(self, backend: str, mark: Callable[[str], Any]) -> None:
        self._backend = backend
        self._mark = mark
        self._thread = threading.get_ident()
        self._replacements = Replacements()
        self._covered: set[type] = set()
        self._open: set[str] = set()
        self._recording = False

    def install(self) -> None:
        """Start, or add the classes of packages imported since."""
        self._recording = True
        with_keras = keras_backend() == self._backend
        for calls in _CALLS:
            owner = getattr(sys.modules.get(calls.module), calls.owner, None)
            if owner is not None and (with_keras or not calls.module.startswith("keras.")):
                for one in _with_subclasses(owner):
                    self._cover(one, calls)
        if with_keras:
            self._put("keras.src.backend.jax.trainer", "JAXEpochIterator", "_get_iterator", self._taking)
            self._put(_CALLBACK_LIST, "CallbackList", "set_model", self._covering)

    def remove(self) -> None:
        """Restore all classes; iterators that go on make no more rows."""
        self._recording = False
        self._replacements.undo()
        self._covered.clear()
        self._open.clear()

    def _put(self, module: str, owner: str, name: str, make: Callable[[Any], Any]) -> None:
        found = getattr(sys.modules.get(module), owner, None)
        if found is not None and found not in self._covered and name in vars(found):
            self._covered.add(found)
            self._replacements.put(found, name, make)

    def _cover(self, owner: type, calls: _Calls) -> None:
        if owner in self._covered or (owner.__module__, owner.__name__) in _NO_CALLBACKS:
            return
        self._covered.add(owner)
        for name, method in [*vars(owner).items()]:
            if calls.methods.fullmatch(name) and isinstance(method, types.FunctionType):
                self._replacements.put(owner, name, functools.partial(self._around, calls))

    def _around(self, calls: _Calls, original: Any) -> Any:
        @functools.wraps(original)
        def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
            end = self._begin(calls.kind, calls.label or f"{type(owner).__name__}.{original.__name__}", owner)
            try:
                return original(owner, *args, **kwargs)
            finally:
                end()

        return call

    def _covering(self, original: Any) -> Any:
        """Cover callbacks whose classes were made during the recording."""

        def set_model(callbacks: Any, model: Any) -> Any:
            for callback in callbacks.callbacks if self._recording else ():
                for owner in type(callback).__mro__:
                    self._cover(owner, _CALLS[0])
            return original(callbacks, model)

        return set_model

    def _taking(self, original: Any) -> Any:
        def get_iterator(epochs: Any) -> Any:
            return self._taken(original(epochs), epochs.data_adapter)

        return get_iterator

    def _taken(self, batches: Iterable[Any], adapter: Any) -> Iterator[Any]:
        label = _SOURCES.get(type(adapter).__name__, type(adapter).__name__)
        iterator = iter(batches)
        while True:
            end = self._begin(NEXT_BATCH, label, adapter)
            try:
                batch = next(iterator)
            except StopIteration:
                return
            finally:
                end()
            yield batch

    def _begin(self, kind: str, label: str, owner: Any) -> Callable[[], None]:
        """Begin a row, and return what ends it."""
        if not self._recording or kind in self._open or threading.get_ident() != self._thread:
            return _nothing
        facts = _queue_facts(owner) if kind == NEXT_BATCH else {}
        self._open.add(kind)
        mark = self._mark(f"{kind}({label})")

        def end() -> None:
            self._open.discard(kind)
            if facts:
                mark.set_metadata(**facts)
            mark.__exit__(None, None, None)

        return end


def _nothing() -> None:
    """End no row."""


def _with_subclasses(owner: type) -> Iterator[type]:
    yield owner
    subclasses: list[type] = type.__subclasses__(owner)
    for one in subclasses:
        yield from _with_subclasses(one)


def _queue_facts(source: Any) -> dict[str, int]:
    """Return the number of workers, of batches that are ready, and of those that the queue may hold."""
    with suppress(Exception):  # attributes of other releases
        enqueuer = getattr(source, "enqueuer", None)
        if enqueuer is not None:
            queue = enqueuer.future_queue
            ready = sum(batch.ready() for batch in [*queue.queue][:_MOST_LOOKED_AT])
            return {"workers": source.py_dataset.workers, "ready": ready, "queue": queue.maxsize}
        loader = getattr(source, "_data_loader", None) or getattr(source, "_dataloader", None)
        options = getattr(loader, "multiprocessing_options", loader)
        workers = getattr(source, "_num_workers", getattr(options, "num_workers", 0))
        return {"workers": int(workers)} if workers else {}
    return {}
