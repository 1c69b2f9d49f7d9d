"""Where real traces are: small ones beside the tests, the large collection beside the repository."""

from __future__ import annotations

import zlib
from pathlib import Path

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2] / "shared" / "traces"

SAMPLES = sorted(path for path in DATA.iterdir() if path.is_file() and path.suffix != ".md")
"""The small traces."""

_SUFFIXES = (".pb", ".pb.xz", ".pbtxt", ".v0", ".v1", ".v2", ".v3")
_ALWAYS = {
    "inception_step1.pb.xz",
    "dist_ps_2gpuworkers_step1.pb",
    "keras_fit_gpu.xplane.pb",
    "inception_tf2_60steps_gpu.xplane.pb.xz",
}
"""Traces of the collection that are in every sample."""
_WITHOUT_STEPS = ("graph.pbtxt", "partition_graphs_only", "hvd_rank0_init2.pb")


def all_files() -> list[Path]:
    """Return every sample, and every file of the large collection."""
    return sorted(path for path in DATA.iterdir() if path.is_file()) + sorted(
        path for path in SHARED.rglob("*") if path.is_file()
    )


def step_stats_files() -> list[Path]:
    """Return every file that holds a RunMetadata or StepStats with rows."""
    return [
        path
        for path in all_files()
        if path.name.endswith(_SUFFIXES)
        and ".xplane." not in path.name
        and not any(part in path.name for part in _WITHOUT_STEPS)
    ]


def xspace_files() -> list[Path]:
    """Return every file that holds a sound XSpace."""
    return [path for path in all_files() if ".xplane.pb" in path.name and "corrupt" not in path.name]


def name_of(path: Path) -> str:
    """Return a short name of a file of `step_stats_files` or `xspace_files`."""
    return str(path.relative_to(DATA if DATA in path.parents else SHARED))


def in_collection(value: object) -> bool:
    """Tell whether `value` is a file of the large collection."""
    return isinstance(value, Path) and SHARED in value.parents


def outside_sample(value: object) -> bool:
    """Tell whether `value` is one of the five sixths of the collection that only ``--extent=all`` tests."""
    if not isinstance(value, Path) or not in_collection(value) or value.name in _ALWAYS:
        return False
    return zlib.crc32(name_of(value).encode()) % 6 != 0
