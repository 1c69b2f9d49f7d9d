"""Write docs/metrics.md, a template with all metrics and thresholds of the code, and docs/glossary.md.

``python docs/build_metrics.py`` writes the pages, ``--check`` fails if one is not up to date.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.metrics import MODULES, definitions
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.fleet.analysis import MODULES as FLEET_MODULES

_DOCS = Path(__file__).parent
PAGE = _DOCS / "metrics.md"
TEMPLATE = _DOCS / "templates" / "metrics.md"
GLOSSARY = _DOCS.parent / "tfvis_nb" / "core" / "glossary.json"
_GLOSSARY_HEAD = (
    "# Glossary\n\nThe words of this documentation. The timeline shows the same explanations as tooltips.\n\n"
)


def pages() -> dict[Path, str]:
    """Return each page that is written here, with its text."""
    parts = json.loads(GLOSSARY.read_text(encoding="utf-8"))
    terms = sorted(item for part in parts.values() for item in part.items())
    glossary = f"{_GLOSSARY_HEAD}{_table(('term', 'meaning'), terms)}\n"
    return {PAGE: metrics(), _DOCS / "glossary.md": glossary}


def metrics() -> str:
    """Return the text of docs/metrics.md.

    Raises
    ------
    ValueError
        If the template lacks an analysis, or has one that does not exist.
    """
    template = TEMPLATE.read_text(encoding="utf-8")
    named = re.findall(r"\{\{ figures (\w+) \}\}", template)
    analyses = sorted([*MODULES, *FLEET_MODULES])
    if sorted(named) != analyses:
        raise ValueError(f"{TEMPLATE} has tables of {sorted(named)}; the analyses are {analyses}")
    text = re.sub(r"\{\{ figures (\w+) \}\}", lambda match: _definitions(match[1]), template)
    return text.replace("{{ thresholds }}", _thresholds())


def _definitions(name: str) -> str:
    if name in FLEET_MODULES:
        figures = importlib.import_module(f"tfvis_nb.fleet.analysis.{FLEET_MODULES[name]}").FIGURES
    else:
        figures = definitions(name)
    rows = [(f"`{column}`", text) for column, text in figures.items()]
    return _table(("metric", "definition"), rows)


def _thresholds() -> str:
    rows = [
        (f"`{name}.{constant}`", f"{threshold.value:g}", threshold.meaning)
        for name, rule in RULES.items()
        for constant, threshold in rule.thresholds.items()
    ]
    slow = "a step of at least this multiple of the median is slow, or has more work; also in the timeline"
    return _table(
        ("threshold", "value", "meaning"), [*rows, ("`SLOW_STEP_RATIO`", f"{SLOW_STEP_RATIO:g}", slow)]
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    cells = [head, *(tuple(cell.replace("|", r"\|") for cell in row) for row in rows)]
    first, *rest = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([first, "|" + "---|" * len(head), *rest])


def main() -> int:
    """Write the pages, or check them; return the exit status."""
    parser = argparse.ArgumentParser(description="Write docs/metrics.md and docs/glossary.md.")
    parser.add_argument("--check", action="store_true", help="fail if a page is not up to date")
    is_check = parser.parse_args().check
    stale = []
    for path, text in pages().items():
        if not is_check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(f"docs/{path.name}")
    if stale:
        sys.stderr.write(f"{', '.join(stale)}: not up to date; run make docs\n")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
