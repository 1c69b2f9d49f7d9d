"""Writing a trace to a file whose suffix says in which format."""

from __future__ import annotations

from pathlib import Path

from tfvis_nb._trace import Trace
from tfvis_nb.unknown_options import near

SUFFIXES = {
    ".html": "the timeline, in one page that opens offline",
    ".json": "a Chrome trace, for Perfetto and chrome://tracing",
    ".parquet": "the event table, which read_trace reads back",
    ".pb": "TensorFlow's own RunMetadata, one file a step",
}
"""Suffix to what is written."""


def check_target(path: Path) -> None:
    """Raise ValueError unless a trace can be written to `path`: before the work, not after it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tfvis_nb.saving import check_target
    >>> check_target(Path("step.htm"))
    Traceback (most recent call last):
    ...
    ValueError: cannot write 'step.htm': unknown suffix '.htm'; did you mean '.html'? \
The suffixes are .html, .json, .parquet, .pb
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        hint = near(suffix, SUFFIXES) or "."
        known = ", ".join(SUFFIXES)
        raise ValueError(
            f"cannot write {str(path)!r}: unknown suffix {suffix!r}{hint} The suffixes are {known}"
        )
    if not path.absolute().parent.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")


def save(trace: Trace, path: Path) -> list[Path]:
    """Write `trace` to `path` in the format of its suffix (see `SUFFIXES`).

    Returns
    -------
    list of pathlib.Path
        The files written. That is `path`, or for the ``.pb`` of several steps
        ``NAME.step0.pb``, ``NAME.step1.pb`` and so on.

    Raises
    ------
    ValueError
        If there is no such format or folder, or the trace has no ``RunMetadata`` to write.
    OSError
        If writing fails.
    """
    check_target(path)
    suffix = path.suffix.lower()
    if suffix == ".html":
        trace.to_html(path)
    elif suffix == ".json":
        trace.to_chrome_trace(path)
    elif suffix == ".parquet":
        trace.to_parquet(path)
    else:
        return _save_run_metadata(trace, path)
    return [path]


def _save_run_metadata(trace: Trace, path: Path) -> list[Path]:
    if not trace.sources:
        raise ValueError(f"cannot write {str(path)!r}: only a trace recorded here has RunMetadata to write")
    several = len(trace.sources) > 1
    paths = [
        path.with_name(f"{path.stem}.step{step}{path.suffix}") if several else path
        for step in range(len(trace.sources))
    ]
    for target, source in zip(paths, trace.sources, strict=True):
        target.write_bytes(source)
    return paths
