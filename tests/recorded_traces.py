"""The recorded traces that tests run on: those that come along, and a larger collection where there is one."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent


def recorded(*patterns: str) -> list[Path]:
    """Files of tests/data, and of ../shared/traces where there is one, that match; never none."""
    folders = [ROOT / "tests" / "data", ROOT.parent / "shared" / "traces"]
    found = [path for folder in folders for pattern in patterns for path in sorted(folder.glob(pattern))]
    assert found, f"no recorded trace matches {patterns}"
    return found
