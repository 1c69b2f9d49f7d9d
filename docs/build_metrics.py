"""Write docs/metrics.md: the template with tables of all metrics and thresholds, as the code defines them.

``python docs/build_metrics.py`` writes the page, ``--check`` fails if it is not up to date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.metrics import MODULES, definitions
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO

_DOCS = Path(__file__).parent
PAGE = _DOCS / "metrics.md"
TEMPLATE = _DOCS / "templates" / "metrics.md"


def page() -> str:
    """Return the page as it has to be.

    Raises
    ------
    ValueError
        If the template lacks an analysis, or has one that does not exist.
    """
    template = TEMPLATE.read_text(encoding="utf-8")
    named = re.findall(r"\{\{ figures (\w+) \}\}", template)
    if sorted(named) != sorted(MODULES):
        raise ValueError(f"{TEMPLATE} has tables of {sorted(named)}; the analyses are {sorted(MODULES)}")
    text = re.sub(r"\{\{ figures (\w+) \}\}", lambda match: _definitions(match[1]), template)
    return text.replace("{{ thresholds }}", _thresholds())


def _definitions(name: str) -> str:
    rows = [(f"`{column}`", text) for column, text in definitions(name).items()]
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
    """Write the page, or check it; return the exit status."""
    parser = argparse.ArgumentParser(description="Write docs/metrics.md.")
    parser.add_argument("--check", action="store_true", help="fail if the page is not up to date")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        sys.stderr.write("docs/metrics.md is not up to date: run make docs\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
