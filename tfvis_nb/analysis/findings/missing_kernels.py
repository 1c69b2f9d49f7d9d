"""A GPU worked, but the profiler recorded nothing of it, mostly because it could not load CUPTI."""

import math

from tfvis_nb.analysis.findings.finding import OBSERVATION, Finding
from tfvis_nb.analysis.findings.rule import NOT_KNOWN, Figures, Measurement, Rule, Texts
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_CASES = {
    "gpu_rows_missing": "recording",
    "profile_without_kernels": "profile",
    "gpu_ops_without_kernels": "run",
}
"""Notes that report it, the most certain first, and their subjects."""
_CAUSES = {
    "recording": "its notes have the reason and the command that fixes it",
    "profile": "the profiler could not load CUPTI, had no permission to use it, or ran with"
    " device_tracer_level=0",
    "run": "it was traced below FULL_TRACE, or TensorFlow could not load CUPTI",
}
_FOLDER = (
    "If CUPTI cannot be loaded, add the folder of libcupti.so, such as /usr/local/cuda/extras/CUPTI/lib64, to"
    " LD_LIBRARY_PATH before the program starts. docs/troubleshooting.md has more."
)


def _note(trace: Trace) -> Text | None:
    notes = [note for note in trace.notes if isinstance(note, Text) and note.id in _CASES]
    return min(notes, key=lambda note: [*_CASES].index(note.id), default=None)


def _find(trace: Trace) -> list[Finding]:
    note = _note(trace)
    if note is None:
        return []
    start = trace.events["start_ns"]
    ends = start + trace.events["duration_ns"]
    span = (int(start.min()), int(ends.max())) if len(start) else (0, 0)
    case = f"missing_kernels.{_CASES[note.id]}"
    return [Finding(case, math.nan, {}, NO_STEP, *span, [], OBSERVATION)]


def _word(key: str, _figures: Figures) -> Texts:
    case = key.rpartition(".")[2]
    text = (
        f"A GPU worked, but the {case} has none of its kernels: {_CAUSES[case]}. Figures of that GPU are"
        " missing, and other findings are about the host alone."
    )
    first = "Trace with FULL_TRACE, and run" if case == "run" else "Run"
    advice = f"{first} tfvis-nb doctor, which checks CUPTI and the permission to profile."
    return Texts("GPU kernels were not recorded", text, advice, _FOLDER)


def _measure(trace: Trace) -> Measurement:
    return Measurement(NOT_KNOWN, NOT_KNOWN, {"missing": _note(trace) is not None})


def _summarise(figures: Figures) -> str:
    return (
        "A GPU worked, but its kernels were not recorded."
        if figures["missing"]
        else "No kernels are known to be missing."
    )


RULE = Rule("missing kernels", {}, _find, _word, _measure, _summarise, whole=True)
