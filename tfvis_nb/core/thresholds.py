"""Thresholds that the analyses and the front end share: ``tfvis_nb/core/thresholds.json``.

Thresholds of a single analysis are in its module.
"""

import json
from pathlib import Path

_SHARED: dict[str, float] = json.loads(
    (Path(__file__).parent / "thresholds.json").read_text(encoding="utf-8")
)

SLOW_STEP_RATIO = _SHARED["slow_step_ratio"]
"""A step is slow if it takes at least this many times the median; the same goes for its devices' work."""
