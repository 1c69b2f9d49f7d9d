"""The arguments that make a ``session.run`` record itself."""

import importlib
from typing import Any

from tfvis_nb.texts import Text


def full_trace() -> tuple[Any, Any]:
    """Return ``RunOptions`` that request everything, and an empty ``RunMetadata`` to be filled."""
    config_pb2 = _messages()
    options = config_pb2.RunOptions(
        trace_level=config_pb2.RunOptions.FULL_TRACE, output_partition_graphs=True
    )
    return options, config_pb2.RunMetadata()


def run_metadata(message: bytes) -> Any:
    """Return the ``RunMetadata`` that a message was serialised from."""
    return _messages().RunMetadata.FromString(message)


def _messages() -> Any:
    return tensorflow_module("tensorflow.core.protobuf.config_pb2")


def tensorflow_module(name: str) -> Any:
    """Import a module of TensorFlow, and TensorFlow with it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise ImportError(Text("no_tensorflow")) from None
