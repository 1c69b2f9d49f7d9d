"""The colours in ``tfvis_nb/core/palette.json``, which the front end also reads.

The file lists event categories, activities of the breakdown, and changes. Each has a label, and colours for
light and dark pages or those of the category that it is ``like``. Categories also have a colour for print,
where greys must differ.
"""

import json
from pathlib import Path

_PALETTE: dict[str, dict[str, dict[str, str]]] = json.loads(
    (Path(__file__).parent / "palette.json").read_text(encoding="utf-8")
)
_CATEGORIES, _ACTIVITIES = _PALETTE["categories"], _PALETTE["activities"]

CATEGORY_LABELS = {name: category["label"] for name, category in _CATEGORIES.items()}
"""Names of event categories in legends: all of them, in order of their numbers."""

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
