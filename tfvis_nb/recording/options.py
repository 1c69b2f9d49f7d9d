"""Options of a recording."""

from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from tfvis_nb.core.options import near
from tfvis_nb.texts import Text

Level = Literal["software", "hardware", "full"]
Mode = Literal["auto", "session", "profiler"]
DeviceLevel = Literal[0, 1, 2]
Framework = Literal["tensorflow", "jax"]

LEVELS = {"software": 1, "hardware": 2, "full": 3}
"""Level name to its number in TensorFlow's ``RunOptions.TraceLevel``."""


MODES = get_args(Mode)
"""Modes of recording: whatever the code runs, only session runs, or only the profiler."""

DEVICE_LEVELS = get_args(DeviceLevel)
"""How much a profile records of devices: nothing, kernels and copies, or everything the device tracer
offers."""

FRAMEWORKS = get_args(Framework)
"""The frameworks that can be recorded."""


class RecordingOptions(TypedDict, total=False):
    """Options of `tfvis_nb.trace`."""

    mode: Mode
    level: Level
    partition_graphs: bool
    steps: bool
    source: bool
    sampling: bool
    python: bool
    shapes: bool
    device_level: DeviceLevel
    framework: Framework | None


@dataclass(frozen=True)
class TraceOptions:
    """Options of a recording.

    `level` ``"software"`` records only ops, ``"hardware"`` also GPU kernels and copies, ``"full"`` also
    transfers between the tasks of a cluster. `partition_graphs` keeps the executed graphs, one per device.
    `mode` is one of `MODES`, `framework` one of `FRAMEWORKS`, or None for those that run. With `steps`, only
    events in steps are kept. `source` keeps the Python stacks of ops, and the user's code in them. `sampling`
    samples the line of Python that runs, and notes pauses of the garbage collector. `python`, `shapes` and
    `device_level` control the profile: Python calls, shapes of op inputs, and the level of detail for
    devices. TypeError or ValueError names an invalid option.
    """

    level: str = "full"
    partition_graphs: bool = True
    mode: str = "auto"
    steps: bool = False
    source: bool = True
    sampling: bool = True
    python: bool = False
    shapes: bool = False
    device_level: int = 1
    framework: str | None = None

    def __post_init__(self) -> None:
        for name in ("partition_graphs", "steps", "source", "sampling", "python", "shapes"):
            if getattr(self, name) not in (True, False):
                raise TypeError(Text("flag_not_bool", name=name, flag=getattr(self, name)))
        known_values = {
            "level": LEVELS,
            "mode": MODES,
            "device_level": DEVICE_LEVELS,
            "framework": (*FRAMEWORKS, None),
        }
        for name, known in known_values.items():
            value, choices = getattr(self, name), [str(one) for one in known if one is not None]
            if value not in known:
                raise ValueError(
                    Text(
                        "unknown_trace_option",
                        name=name,
                        value=value,
                        hint=near(str(value), choices) or ".",
                        choices=", ".join(choices),
                    )
                )
        if self.framework == "jax" and self.mode == "session":
            raise ValueError(Text("jax_without_sessions"))

    @property
    def trace_level(self) -> int:
        """The number of `level` in ``RunOptions.TraceLevel``."""
        return LEVELS[self.level]

    @property
    def profiler_levels(self) -> dict[str, int]:
        """The levels of a profile, by the names in ``tf.profiler.experimental.ProfilerOptions``."""
        return {
            "host_tracer_level": 3 if self.shapes else 2,
            "python_tracer_level": int(self.python),
            "device_tracer_level": self.device_level,
        }
