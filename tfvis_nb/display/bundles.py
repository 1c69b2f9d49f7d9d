"""The built front end: its bundles, which are read where a widget or a page is made."""

from __future__ import annotations

from pathlib import Path

_STATIC = Path(__file__).parents[1] / "static"


def bundle_path(name: str) -> Path:
    """Where the bundle ``widget.js`` or ``page.js`` is, or is to be."""
    return _STATIC / name


def bundle(name: str) -> str:
    """Read a bundle; FileNotFoundError names the command that builds it."""
    path = bundle_path(name)
    if not path.is_file():
        raise FileNotFoundError(
            f"the front end is not built: {path} is missing. "
            "In a checkout of the source run `npm ci && npm run build`; an installed package brings it along."
        )
    return path.read_text(encoding="utf-8")
