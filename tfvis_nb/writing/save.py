"""Writes a trace to a file; the suffix chooses the format."""

from collections.abc import Sequence
from pathlib import Path

from tfvis_nb.core.options import near
from tfvis_nb.core.output_path import whole, writable
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text, text_of

SUFFIXES = {
    ".html": "the timeline, in one page that opens offline",
    ".json": "a Chrome trace, for Perfetto and chrome://tracing",
    ".json.gz": "the same, compressed",
    ".parquet": "the event table, which read_trace reads back",
    ".pb": "TensorFlow's own: RunMetadata, one file a session run; XSpace of a profile, as .xplane.pb",
}
"""Suffix to what is written."""

PROFILE = ".xplane"
"""What stands before the suffix of a profile."""


def suffix_of(path: Path) -> str:
    """Return the format suffix of a file's name, in lower case."""
    two = "".join(path.suffixes[-2:]).lower()
    return two if two in SUFFIXES else path.suffix.lower()


def check_target(path: Path) -> None:
    """Raise ValueError unless a trace can be written to `path`: before the work, not after it."""
    suffix = suffix_of(path)
    if suffix not in SUFFIXES:
        hint = near(suffix, SUFFIXES) or "."
        known = ", ".join(SUFFIXES)
        raise ValueError(Text("unknown_suffix", path=str(path), suffix=suffix, hint=hint, known=known))
    try:
        writable(path)
    except OSError as error:
        raise ValueError(text_of(error)) from None


def save(trace: Trace, path: Path) -> list[Path]:
    """Write `trace` to `path` in the format of its suffix (see `SUFFIXES`), and return the files written.

    That is `path`, but for ``NAME.pb``: several session runs are ``NAME.step0.pb``, ``NAME.step1.pb`` and so
    on, and a profile is ``NAME.xplane.pb``, the name by which TensorBoard knows it. ValueError if there is no
    such format, no file can be written there, or the trace has no message of TensorFlow's to write.
    """
    check_target(path)
    suffix = suffix_of(path)
    if suffix == ".html":
        trace.to_html(path)
    elif suffix.startswith(".json"):
        trace.to_chrome_trace(path)
    elif suffix == ".parquet":
        trace.to_parquet(path)
    else:
        return _save_messages(trace, path)
    return [path]


def _save_messages(trace: Trace, path: Path) -> list[Path]:
    if not trace.sources and not trace.profiles:
        raise ValueError(Text("no_messages_to_write", path=str(path)))
    stem = path.name[: -len(path.suffix)].removesuffix(PROFILE)
    written = _numbered(path.with_name(stem), ".step", path.suffix, trace.sources)
    return written + _numbered(path.with_name(stem), ".part", PROFILE + path.suffix, trace.profiles)


def _numbered(base: Path, number: str, suffix: str, messages: Sequence[bytes]) -> list[Path]:
    """Write each message to a file of its own; a lone one needs no number."""
    paths = []
    for index, message in enumerate(messages):
        paths.append(base.with_name(f"{base.name}{f'{number}{index}' if len(messages) > 1 else ''}{suffix}"))
        with whole(paths[-1]) as file:
            file.write_bytes(message)
    return paths
