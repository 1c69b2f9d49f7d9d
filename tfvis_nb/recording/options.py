"""What can be asked of a recording."""

from __future__ import annotations

from dataclasses import dataclass

from tfvis_nb.unknown_options import near

LEVELS = {"software": 1, "hardware": 2, "full": 3}
"""The levels by name, each with its number in TensorFlow's ``RunOptions.TraceLevel``."""


@dataclass(frozen=True)
class TraceOptions:
    """What is asked of every traced run.

    Parameters
    ----------
    level
        ``"software"`` records the ops alone, ``"hardware"`` GPU kernels and copies
        too, ``"full"`` also what moves between the tasks of a cluster.
    partition_graphs
        Whether each run also returns the graphs it executed, one a device.

    Raises
    ------
    ValueError
        If there is no such level.

    Examples
    --------
    >>> from tfvis_nb.recording.options import TraceOptions
    >>> TraceOptions(level="software").trace_level
    1
    """

    level: str = "full"
    partition_graphs: bool = True

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(
                f"unknown trace level {self.level!r}{near(str(self.level), LEVELS) or '.'}"
                f" The levels are {', '.join(LEVELS)}"
            )

    @property
    def trace_level(self) -> int:
        """The number of `level` in ``RunOptions.TraceLevel``."""
        return LEVELS[self.level]
