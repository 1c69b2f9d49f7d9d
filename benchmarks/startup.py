"""How much longer `import tfvis_nb` and `%load_ext tfvis_nb` take than `import pandas`, which both need."""

from __future__ import annotations

import statistics
import subprocess
import sys

from benchmarks.table import Row, show

RUNS = 7
EXTRA = 0.5
"""Seconds that either may take beyond pandas."""

STATEMENTS = {
    "import pandas": "import pandas",
    "import tfvis_nb": "import tfvis_nb",
    # IPython runs before the extension is loaded, so its own start does not count.
    "%load_ext tfvis_nb": "shell.run_line_magic('load_ext', 'tfvis_nb')",
}
SHELL = "from IPython.testing.globalipapp import start_ipython; shell = start_ipython(); "


def seconds(statement: str) -> float:
    """Time `statement` takes in a Python process of its own."""
    before = SHELL if "shell" in statement else ""
    code = (
        f"{before}import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout.splitlines()[-1])


def main() -> None:
    """Measure and print."""
    taken: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(RUNS + 1):
        for name, statement in STATEMENTS.items():
            taken[name].append(seconds(statement))
    # The first round fills the disk cache.
    middle = {name: statistics.median(runs[1:]) for name, runs in taken.items()}
    pandas = middle.pop("import pandas")
    show(
        f"Starting (median of {RUNS} processes)",
        [
            Row(
                name,
                f"{each:.2f} s",
                f"import pandas {pandas:.2f} s",
                f"{each / pandas:.2f}x",
                f"<= {EXTRA} s more",
                each - pandas <= EXTRA,
            )
            for name, each in middle.items()
        ],
    )


if __name__ == "__main__":
    main()
