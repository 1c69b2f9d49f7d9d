"""Why GPU rows may be missing: whether TensorFlow can open and use CUPTI, their source.

TensorFlow opens the library when it first profiles, and reports only in its log that it could not.
"""

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tfvis_nb.kinds import DEVICE
from tfvis_nb.texts import Text

DRIVER = Path("/proc/driver/nvidia")
"""The version of NVIDIA's driver and its GPUs."""

_MAPS = Path("/proc/self/maps")
_STATUS = Path("/proc/self/status")
_CAP_SYS_ADMIN = 21
_TOOLKITS = ("/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64")


class Fault(NamedTuple):
    """A fault in one line, and the command that fixes it."""

    what: Text
    mend: str

    def __str__(self) -> str:
        return f"{self.what}: {self.mend}"


def gpus() -> int:
    """Count the GPUs of this machine according to NVIDIA's driver; 0 without the driver."""
    folder = DRIVER / "gpus"
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def library(major: str) -> tuple[Path | None, str]:
    """Open CUPTI for the CUDA version `major`, like TensorFlow.

    Return the path of the library and ``""``, or None and the reason why it cannot be opened.
    """
    loaded = _loaded()
    if loaded is not None:
        return loaded, ""
    name = f"libcupti.so.{major}"
    why = ""
    # TensorFlow's wheels first search NVIDIA's wheels next to them.
    for path in (*(str(path) for path in _beside(name)), name):
        try:
            ctypes.CDLL(path)
        except OSError as error:
            why = str(error)
        else:
            return _loaded() or Path(path), ""
    return None, why


def _loaded() -> Path | None:
    """Return the path of the CUPTI library open in this process."""
    try:
        maps = _MAPS.read_text(errors="replace")
    except OSError:  # only Linux has /proc
        return None
    match = re.search(r"(/\S*/libcupti\.so[.\d]*)$", maps, re.MULTILINE)
    return Path(match[1]) if match else None


def _beside(name: str) -> Iterator[Path]:
    for folder in sys.path:
        yield from sorted(Path(folder or ".").glob(f"nvidia/*/lib/{name}"))


def missing(major: str, why: str) -> Fault:
    """Describe the fix for a CUPTI that cannot be opened."""
    what = Text("cupti_not_opened", major=major, reason=why)
    for folder in _TOOLKITS:
        if Path(folder, f"libcupti.so.{major}").is_file():
            return Fault(what, f"export LD_LIBRARY_PATH={folder}:$LD_LIBRARY_PATH")
    # Since CUDA 13, NVIDIA's package names contain no version.
    package = "nvidia-cuda-cupti" + (f"-cu{major}" if major.isdecimal() and int(major) < 13 else "")
    return Fault(what, f"pip install {package}")


def restricted() -> Fault | None:
    """Return a fault if the driver lets only administrators profile and this process has no such rights."""
    try:
        parameters = (DRIVER / "params").read_text(errors="replace")
    except OSError:
        return None
    if not re.search(r"^RmProfilingAdminOnly:\s*1\b", parameters, re.MULTILINE) or _administrator():
        return None
    return refused("RmProfilingAdminOnly is 1 in /proc/driver/nvidia/params")


def refused(why: str) -> Fault:
    """Describe the fix for a driver that lets only administrators profile."""
    option = "options nvidia NVreg_RestrictProfilingToAdminUsers=0"
    return Fault(
        Text("profiling_restricted", reason=why),
        f"echo '{option}' | sudo tee /etc/modprobe.d/nvidia-profiling.conf && sudo reboot"
        "  # of a container instead: docker run --cap-add SYS_ADMIN",
    )


def _administrator() -> bool:
    try:
        status = _STATUS.read_text(errors="replace")
    except OSError:
        return os.geteuid() == 0
    match = re.search(r"^CapEff:\s*([0-9a-fA-F]+)", status, re.MULTILINE)
    return bool(match and int(match[1], 16) >> _CAP_SYS_ADMIN & 1)


def cuda_major() -> str:
    """Return the major version of the CUDA that TensorFlow was built for, "" if none."""
    from tensorflow.python.platform import build_info

    return str(build_info.build_info.get("cuda_version", "")).partition(".")[0]


def fault() -> Fault | None:
    """Find out why TensorFlow in this process gets nothing from CUPTI; None if nothing is wrong."""
    major = cuda_major()
    if not major:
        return None
    path, why = library(major)
    return missing(major, why) if path is None else restricted()


def note_of(kinds: set[str], devices: set[str]) -> Text | None:
    """Explain why a recording with these kinds and devices lacks rows of an existing GPU.

    None if there are such rows, there is no GPU, or nothing is wrong: the code may have used only the CPU.
    """
    if kinds & {*DEVICE} or not (any("GPU:" in device for device in devices) or _eager_gpus()):
        return None
    cause = fault()
    return None if cause is None else Text("gpu_rows_missing", fault=cause)


def _eager_gpus() -> bool:
    """Whether TensorFlow uses a GPU; asking does not initialise one."""
    from tensorflow.python.eager import context

    eager: Any = context.context()
    if eager._context_handle is None:  # noqa: SLF001
        return False
    return bool(eager.list_logical_devices("GPU"))
