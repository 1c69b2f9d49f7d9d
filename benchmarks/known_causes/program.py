"""What a program states of itself, read from its source without importing it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

PROGRAMS = Path(__file__).parent / "programs"
MARK = "# <<CAUSE"
VARIANTS = ("slow", "fixed")


class Program(NamedTuple):
    """A program, as it describes itself."""

    name: str
    cause: frozenset[str]
    """Ids of findings, or their parts before a dot; none if the program is healthy."""
    also: frozenset[str]
    """Ids of other findings that are true of the program or of its twin, from their source."""
    lines: tuple[int, ...]
    what: dict[str, Any] | None
    why_not: str
    """Why the repair cannot be replayed, if `what` is None."""
    steps: int
    warm: int
    """Steps before the first recorded one; 0 records a cold start."""
    every: int
    """The cause appears in each n-th step: the mean step counts, otherwise the lower quartile."""
    tasks: int
    """Processes that run together, each recorded."""
    backend: str
    """The backend of Keras, in a process that starts without TensorFlow; empty for TensorFlow."""

    @property
    def file(self) -> Path:
        """The program's source."""
        return PROGRAMS / f"{self.name}.py"

    @property
    def places(self) -> tuple[str, ...]:
        """The marked lines, as ``file:line``."""
        return tuple(f"{self.file.name}:{line}" for line in self.lines)

    def is_cause(self, finding: str) -> bool:
        """Whether a finding's id is one of the cause's, or a case of one."""
        return _is_one_of(finding, self.cause)

    def is_also(self, finding: str) -> bool:
        """Whether a finding's id is one of those that are true beside the cause, or a case of one."""
        return _is_one_of(finding, self.also)

    def what_at(self, places: Iterable[str]) -> dict[str, Any]:
        """Return the repair as arguments of ``what_if``, with the marked lines in place of ``<<CAUSE``."""
        what = self.what or {}
        return what | {"lines": dict.fromkeys(places, what["lines"]["<<CAUSE"])} if "lines" in what else what

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is planted, so that both variants are the same."""
        return not self.cause

    @property
    def is_of_loop(self) -> bool:
        """Whether the cause lies between the steps, so that its repair is of the loop."""
        return "between_steps" in self.cause

    @property
    def is_measured_only(self) -> bool:
        """Whether it belongs to the third that is not looked at while mending."""
        return int(hashlib.sha256(self.name.encode()).hexdigest(), 16) % 3 == 0


def load(name: str) -> Program:
    """Read a program's statements.

    Raises
    ------
    ValueError
        If a statement is missing.
    """
    source = (PROGRAMS / f"{name}.py").read_text()
    found: dict[str, Any] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            target = node.targets[0].id
            if target in ("CAUSE", "ALSO", "WHAT", "WHY_NOT", "STEPS", "WARM", "EVERY", "TASKS", "BACKEND"):
                found[target] = ast.literal_eval(node.value)
    lines = tuple(number for number, line in enumerate(source.splitlines(), 1) if line.endswith(MARK))
    cause = frozenset(found.get("CAUSE", {None}) or ())
    if None in cause:
        raise ValueError(f"{name}.py states no CAUSE: add the ids of its findings")
    if bool(cause) != bool(lines):
        raise ValueError(f"{name}.py has {len(lines)} lines that end with {MARK}")
    what = found.get("WHAT")
    if cause and what is None and not found.get("WHY_NOT"):
        raise ValueError(f"{name}.py states neither WHAT nor WHY_NOT")
    return Program(
        name,
        cause,
        frozenset(found.get("ALSO", ())),
        lines,
        what,
        found.get("WHY_NOT", ""),
        found.get("STEPS", 25),
        found.get("WARM", 5),
        found.get("EVERY", 1),
        found.get("TASKS", 1),
        found.get("BACKEND", ""),
    )


def _is_one_of(finding: str, ids: frozenset[str]) -> bool:
    return finding in ids or finding.rpartition(".")[0] in ids


def names() -> list[str]:
    """Return the names of all programs."""
    return sorted(file.stem for file in PROGRAMS.glob("*.py") if file.stem != "__init__")
