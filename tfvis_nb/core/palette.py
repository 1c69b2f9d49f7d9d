"""The colours: ``tfvis_nb/core/palette.json``, which the front end reads as well.

It has the categories of events, the activities that steps are broken down into, and changes, by name. Each
has a label and a colour for light and for dark pages, or the colours of the category that it is ``like``.
Categories also have one for print, where greys must differ.
"""

import json
from pathlib import Path

_PALETTE: dict[str, dict[str, dict[str, str]]] = json.loads(
    (Path(__file__).parent / "palette.json").read_text(encoding="utf-8")
)
_CATEGORIES, _ACTIVITIES = _PALETTE["categories"], _PALETTE["activities"]

CATEGORY_LABELS = {name: category["label"] for name, category in _CATEGORIES.items()}
"""Names of event categories in legends: all categories, in the order of their numbers."""

LABELS = {name: activity["label"] for name, activity in _ACTIVITIES.items()}
"""Names of activities in legends."""

COLOURS = {name: category["light"] for name, category in _CATEGORIES.items()} | {
    name: _CATEGORIES.get(activity.get("like", ""), activity)["light"]
    for name, activity in _ACTIVITIES.items()
}
"""The colour of a category or an activity on a light page, as ``#rrggbb`` or ``#rrggbbaa``."""


def category_colours(theme: str) -> dict[str, str]:
    """Return the colour of each category in a theme: ``light``, ``dark`` or ``print``."""
    return {name: category[theme] for name, category in _CATEGORIES.items()}
