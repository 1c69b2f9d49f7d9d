"""The frameworks to record: TensorFlow, JAX, or whichever the code imports."""

import importlib
import importlib.util
from collections.abc import Sequence

from tfvis_nb.recording.options import FRAMEWORKS
from tfvis_nb.texts import Text

_ABSENT = {"tensorflow": "no_tensorflow", "jax": "no_jax"}


def to_record(framework: str | None) -> Sequence[str]:
    """Return the frameworks to record; a requested one is imported.

    Raises
    ------
    ImportError
        If it is not installed, or none is. The message names the extra.
    """
    if framework is None:
        if not any(map(_is_installed, FRAMEWORKS)):
            raise ImportError(Text("no_framework"))
        return FRAMEWORKS
    try:
        importlib.import_module(framework)
    except ModuleNotFoundError as error:
        if error.name != framework:
            raise
        raise ImportError(Text(_ABSENT[framework])) from None
    return (framework,)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # blocked, or without a spec
        return False
