"""Kinds of events in ``tfvis_nb/kinds.json``, which the front end also reads.

``activity`` lists all kinds with the activity that most of their events have. Their order is part of the
stored numbers, so new ones are added at the end. The other lists name the kinds with something in common.
"""

import json
from collections.abc import Mapping
from pathlib import Path

_REGISTRY = json.loads((Path(__file__).parent / "kinds.json").read_text(encoding="utf-8"))

USUAL_ACTIVITY: Mapping[str, str] = _REGISTRY["activity"]
"""The activity that most events of each kind have."""

KINDS: tuple[str, ...] = tuple(USUAL_ACTIVITY)
"""All kinds."""

DEVICE: tuple[str, ...] = tuple(_REGISTRY["device"])
"""Kinds that tracers of devices record."""

KERNELS: tuple[str, ...] = tuple(_REGISTRY["kernels"])
"""Kinds of kernels; a collective may be an op instead."""

COPIES: tuple[str, ...] = tuple(kind for kind in DEVICE if kind not in KERNELS)
"""Kinds that a device's copy engine runs."""

MOVING: tuple[str, ...] = tuple(_REGISTRY["moving"])
"""Kinds with a source and a destination."""

NETWORK: tuple[str, ...] = tuple(_REGISTRY["network"])
"""Kinds of communication between tasks."""

NODES: tuple[str, ...] = tuple(_REGISTRY["nodes"])
"""Kinds that are named after the nodes that an executor ran."""

HOST: tuple[str, ...] = tuple(_REGISTRY["host"])
"""Kinds that occupy a thread of the host."""
