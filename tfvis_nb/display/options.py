"""What a user can set of a timeline, with the same names in Python, in the widget and in an exported page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfvis_nb.core.options import refuse_unknown

GROUP_BY = ("device", "kind", "none")
COLOR_BY = ("kind", "op", "device")
MIN_HEIGHT = 160
MAX_HEIGHT = 4000

DEFAULTS: dict[str, Any] = {"height": 560, "group_by": "device", "color_by": "kind", "lane_filter": ""}
"""Option name to its default; ``height`` is in CSS pixels."""


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in what is left out and refuse what is not an option.

    Parameters
    ----------
    options
        Some of `DEFAULTS`, with other values.

    Returns
    -------
    dict
        Every option.

    Raises
    ------
    TypeError
        If an option is unknown, naming those it may have been meant for.
    ValueError
        If a value is not one the option can have, naming those it can.

    Examples
    --------
    >>> from tfvis_nb.display.options import checked_options
    >>> checked_options({"height": 300})["group_by"]
    'device'
    >>> checked_options({"colour_by": "op"})
    Traceback (most recent call last):
        ...
    TypeError: unknown option 'colour_by'; did you mean 'color_by'? The options are height, group_by, ...
    """
    refuse_unknown(options, DEFAULTS)
    return {name: checked(name, options.get(name, default)) for name, default in DEFAULTS.items()}


def checked(name: str, value: Any) -> Any:
    """Return an option's value in its canonical form, or raise ValueError saying what it can be."""
    if name == "height":
        if isinstance(value, bool) or not isinstance(value, int) or not MIN_HEIGHT <= value <= MAX_HEIGHT:
            raise ValueError(
                f"height is {value!r}; it is a number of pixels from {MIN_HEIGHT} to {MAX_HEIGHT}"
            )
        return value
    if name == "lane_filter":
        if not isinstance(value, str):
            raise ValueError(f"lane_filter is {value!r}; it is a text that the lanes shown contain")
        return value
    choices = GROUP_BY if name == "group_by" else COLOR_BY
    word = value.lower() if isinstance(value, str) else value
    if word not in choices:
        raise ValueError(f"{name} is {value!r}; it can be {', '.join(map(repr, choices))}")
    return word
