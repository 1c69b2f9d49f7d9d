"""Activities and categories of events in ``tfvis_nb/core/palette.json``, which the front end also reads.

``activities`` are in order: if several happen at the same time, the first one counts. Each has a label and
colours for light and dark pages, and in ``print`` one whose grey differs from those of its neighbours.
``categories`` are the kinds of events with their activities, in order of their numbers, which datasets store:
new ones are added at the end. ``parts``, ``memory`` and ``changes`` are whatever else has a colour.
"""

import json
from pathlib import Path

_PALETTE = json.loads((Path(__file__).parent / "palette.json").read_text(encoding="utf-8"))
_ENTRIES: dict[str, dict[str, str]] = _PALETTE["activities"] | _PALETTE["parts"]

ACTIVITIES: tuple[str, ...] = tuple(_PALETTE["activities"])
"""All activities, the one that counts first."""

CATEGORIES: tuple[str, ...] = tuple(_PALETTE["categories"])
"""The kind and the activity of events, such as ``op launch``, in order of their numbers."""

LABELS = {name: entry["label"] for name, entry in _ENTRIES.items()}
"""Names of activities in legends."""

COLOURS = {name: entry["light"] for name, entry in _ENTRIES.items()}
"""The colour of an activity on a light page, as ``#rrggbb`` or ``#rrggbbaa``."""


def activity_colours(theme: str) -> dict[str, str]:
    """Return the colour of each activity of events in a theme: ``light``, ``dark`` or ``print``."""
    return {
        name: _PALETTE["print"][name] if theme == "print" else _ENTRIES[name][theme] for name in ACTIVITIES
    }
