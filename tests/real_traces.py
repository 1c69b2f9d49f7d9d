"""Paths of real traces: small ones next to the tests, the large collection next to the repository."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tfvis_nb import Trace, read_trace

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2] / "shared" / "traces"

SAMPLES = sorted(path for path in DATA.iterdir() if path.is_file() and path.suffix != ".md")
"""The small traces."""

_SUFFIXES = (".pb", ".pb.xz", ".pbtxt", ".v0", ".v1", ".v2", ".v3")
_SAMPLE = {
    # RunMetadata by age, and what its rows are of: one task or several, CPU or GPU, ranks.
    "run_metadata_run_step99_tag_train.pbtxt",
    "gpu_tf221_dist.pb.xz",
    "horovod_rank1_step3.pb.xz",
    "local_mlp_step1.pb",
    # An XSpace of each profiler.
    "cpu_jax.xplane.pb",
    "cpu_tf221_keras_fit.xplane.pb.xz",
    "gpu_tf218_function.xplane.pb.xz",
    # Each other form.
    "horovod_timeline.json.xz",
    "kineto_rank0.json.xz",
    "pickle_tf115_python2_protocol1.pickle",
    "tf2_host.trace.json",
    "tftracer_session.pickle.gz",
    "timeline_tf115_distributed.json",
}
"""The small traces with which a test of every trace runs by default: one of each form and age."""
_LARGE_SAMPLE = {
    SHARED / "h200" / name for name in ("dist_ps_2gpuworkers_step1.pb", "keras_fit_gpu.xplane.pb")
}
"""Likewise of the large collection: several tasks, a profile."""
_WITHOUT_STEPS = ("graph.pbtxt", "partition_graphs_only", "hvd_rank0_init2.pb")


def all_files() -> list[Path]:
    """Return every sample, and every file of the large collection."""
    return sorted(path for path in DATA.iterdir() if path.is_file()) + sorted(
        path for path in SHARED.rglob("*") if path.is_file()
    )


def step_stats_files() -> list[Path]:
    """Return all files with a RunMetadata or StepStats that has rows."""
    return [
        path
        for path in all_files()
        if path.name.endswith(_SUFFIXES)
        and ".xplane." not in path.name
        and not any(part in path.name for part in _WITHOUT_STEPS)
    ]


def xspace_files() -> list[Path]:
    """Return all files with a sound XSpace."""
    return [path for path in all_files() if ".xplane.pb" in path.name and "corrupt" not in path.name]


def real_trace(source: Path | Sequence[Path]) -> Trace:
    """Return a trace shared by all tests of a process, with its cached results; tests must not change it."""
    return _kept(source if isinstance(source, Path) else tuple(source))


@lru_cache(maxsize=48)
def _kept(source: Path | tuple[Path, ...]) -> Trace:
    return read_trace(source if isinstance(source, Path) else list(source))


def name_of(path: Path) -> str:
    """Return a short name of a file of `step_stats_files` or `xspace_files`."""
    return str(path.relative_to(DATA if DATA in path.parents else SHARED))


def in_collection(value: object) -> bool:
    """Return whether `value` is a file of the large collection."""
    return isinstance(value, Path) and _is_shared(value)


@cache
def _is_shared(path: Path) -> bool:
    return SHARED in path.parents


def outside_sample(value: object) -> bool:
    """Return whether `value` is one of the many files of the collection that only ``--extent=all`` tests."""
    return isinstance(value, Path) and in_collection(value) and value not in _LARGE_SAMPLE


def each(paths: Iterable[Path]) -> list[ParameterSet]:
    """Return parameters for a test of all traces; those outside the sample are marked thorough."""
    return [
        pytest.param(
            path,
            id=name_of(path),
            marks=[pytest.mark.thorough] if path.parent == DATA and path.name not in _SAMPLE else [],
        )
        for path in paths
    ]
