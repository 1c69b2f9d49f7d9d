"""Traces of the large collection that were recorded on H200s."""

from pathlib import Path

import tfvis_nb as tv
from tests.real_traces import SHARED

H200 = SHARED / "h200"


def read_h200(names: list[str]) -> tv.Trace:
    paths: list[Path] = [H200 / name for name in names]
    return tv.read_trace(paths if len(paths) > 1 else paths[0])
