"""Compare the arguments of two tracings of a function."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tfvis_nb.core.tracings import LONGEST_TEXT, MOST_CHANGES

_MOST_COMPARED = 64
_MOST_PARTS = 256
"""How many earlier tracings, and parts of an argument, are compared."""


def nearest_changes(new: Any, earlier: Sequence[Any]) -> list[dict[str, str | None]]:
    """Return the changes from the most similar of several ``FunctionType``, the latest of which is last.

    Each is a `tfvis_nb.core.tracings.CHANGE`. Empty if there is no earlier one.
    """
    candidates = [changes(one, new) for one in reversed(earlier[-_MOST_COMPARED:])]
    if not candidates:
        return []
    nearest = min(candidates, key=len)[:MOST_CHANGES]
    # TensorFlow also distinguishes devices, strategies, and outer graphs.
    return nearest or [_change("", "context", None, None)]


def changes(old: Any, new: Any) -> list[dict[str, str | None]]:
    """Return the differences between the arguments of two ``FunctionType``."""
    before, after = (
        {name: one.type_constraint for name, one in kind.parameters.items()} for kind in (old, new)
    )
    differences = []
    for name in dict.fromkeys([*before, *after]):
        if name not in before or name not in after:
            texts = (_text(kinds[name]) if name in kinds else None for kinds in (before, after))
            differences.append(_change(name, "structure", *texts))
        else:
            differences += _differences(name, before[name], after[name])
    return differences


def _differences(name: str, old: Any, new: Any) -> Iterator[dict[str, str | None]]:
    before, after = (dict(itertools.islice(_leaves(kind, name), _MOST_PARTS)) for kind in (old, new))
    if list(before) != list(after):
        yield _change(name, "structure", _text(old), _text(new))
        return
    for path, kind in before.items():
        other = after[path]
        if kind == other:
            continue
        same = type(kind) is type(other)
        # A shape of unknown rank equals no other, not even itself.
        pairs = [(what, _part(kind, what), _part(other, what)) for what in ("shape", "dtype") if same]
        differing = [pair for pair in pairs if pair[1] != pair[2]]
        for what, first, second in differing or [("value", _text(kind), _text(other))]:
            yield _change(path, what, first, second)


def _leaves(kind: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of an argument (anything but Python containers), with their paths."""
    from tensorflow.core.function.trace_type import default_types

    if isinstance(kind, default_types.List):
        kind = kind.components_tuple
    if isinstance(kind, default_types.Attrs):
        kind = kind.named_attributes
    if isinstance(kind, default_types.NamedTuple):
        parts = [
            (f".{name}", one)
            for name, one in zip(kind.attribute_names, kind.attributes.components, strict=True)
        ]
    elif isinstance(kind, default_types.Dict):
        parts = [(f"[{key!r}]", one) for key, one in kind.mapping.items()]
    elif isinstance(kind, default_types.Tuple):
        parts = [(f"[{at}]", one) for at, one in enumerate(kind.components)]
    else:
        yield path, kind
        return
    if not parts:
        yield f"{path}[]", None
    for name, part in parts:
        yield from _leaves(part, path + name)


def _text(kind: Any) -> str:
    """Format an argument for the user: a value, or the shape and type of a tensor."""
    from tensorflow.core.function.trace_type import default_types

    if isinstance(kind, default_types.Literal):
        value = kind.value
        return repr(value[:LONGEST_TEXT] if isinstance(value, str | bytes) else value)
    if isinstance(kind, default_types.Weakref):
        return f"{type(kind._ref()).__name__} object"  # noqa: SLF001
    shape, dtype = _part(kind, "shape"), _part(kind, "dtype")
    return f"{dtype}{shape}" if shape is not None and dtype is not None else str(kind)


def _part(kind: Any, what: str) -> str | None:
    """Format the shape or the data type of a tensor argument; None for others."""
    value = getattr(kind, what, None)
    return None if value is None else str(getattr(value, "name", value))


def _change(argument: str, kind: str, before: str | None, after: str | None) -> dict[str, str | None]:
    texts = {"argument": argument, "kind": kind, "before": before, "after": after}
    return {name: text if text is None else text[:LONGEST_TEXT] for name, text in texts.items()}
