"""Options of a timeline, with the same names in Python, in widgets and in exported pages."""

from collections.abc import Mapping
from typing import Any, get_args

import traitlets

from tfvis_nb.core.display_options import ColorBy, GroupBy
from tfvis_nb.core.options import refuse_unknown
from tfvis_nb.texts import Text, text_of

GROUP_BY, COLOR_BY = get_args(GroupBy), get_args(ColorBy)
MIN_HEIGHT = 160
MAX_HEIGHT = 4000

DEFAULTS: dict[str, Any] = {"height": 560, "group_by": "device", "color_by": "kind", "lane_filter": ""}
"""Option name to its default; ``height`` is in CSS pixels."""


def validate_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of `DEFAULTS`, overridden by those given.

    TypeError names similar options if one is unknown, ValueError its valid values.
    """
    refuse_unknown(options, DEFAULTS)
    return {name: validate_option(name, options.get(name, default)) for name, default in DEFAULTS.items()}


def validate_option(name: str, value: Any) -> Any:
    """Return an option's value in its canonical form, or raise ValueError with the valid values."""
    if name == "height":
        if isinstance(value, bool) or not isinstance(value, int) or not MIN_HEIGHT <= value <= MAX_HEIGHT:
            raise ValueError(Text("height_out_of_range", value=value, low=MIN_HEIGHT, high=MAX_HEIGHT))
        return value
    if name == "lane_filter":
        if not isinstance(value, str):
            raise ValueError(Text("lane_filter_no_text", value=value))
        return value
    choices = GROUP_BY if name == "group_by" else COLOR_BY
    choice = value.lower() if isinstance(value, str) else value
    if choice not in choices:
        raise ValueError(Text("no_such_value", name=name, value=value, choices=", ".join(map(repr, choices))))
    return choice


class Height(traitlets.Int[int, int]):
    """The height of a widget, in CSS pixels."""

    def validate(self, obj: Any, value: Any) -> Any:  # noqa: ARG002 - as traitlets calls it
        """Return the height, or raise TraitError with the valid values."""
        try:
            return validate_option("height", value)
        except ValueError as error:
            raise traitlets.TraitError(text_of(error)) from error
