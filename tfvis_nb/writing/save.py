"""Write a trace to a file in the format of its suffix."""

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfvis_nb.core.options import near
from tfvis_nb.core.output_path import whole, writable
from tfvis_nb.core.plain_files import is_plain
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text, text_of

SUFFIXES = {
    ".html": "the timeline, in one page that opens offline",
    ".svg": "a picture for papers, as vectors",
    ".pdf": "the same as a page of its size",
    ".png": "the same in pixels",
    ".json": "a Chrome trace, for Perfetto and chrome://tracing",
    ".json.gz": "the same, compressed",
    ".parquet": "the event table, which read_trace reads back",
    ".pb": "TensorFlow's own: RunMetadata, one file a session run; XSpace of a profile",
    ".pickle": "a pickle of RunMetadata, one file a session run, which tfvis and tftracer load",
    ".pb.gz": "such a message, compressed",
    ".pickle.gz": "such a pickle, compressed",
}
"""Suffix to a description of the format."""

PICKLE = ".pickle"
_PACKED = ".gz"
MESSAGES = (".pb", PICKLE, f".pb{_PACKED}", f"{PICKLE}{_PACKED}")
"""Suffixes of TensorFlow's own messages, which only traces that keep their messages can be written as."""

PICTURES = (".svg", ".pdf", ".png")
"""Suffixes of pictures."""

PROFILE = ".xplane"
"""Precedes the suffix of a profile's file name."""


def suffix_of(path: Path) -> str:
    """Return the format suffix of a file's name, in lower case."""
    two = "".join(path.suffixes[-2:]).lower()
    return two if two in SUFFIXES else path.suffix.lower()


def check_target(path: Path) -> None:
    """Raise ValueError unless a trace can be written to `path`, to check before the work."""
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

    That is `path`, except for several messages: session runs become ``NAME.step0.pb``, ``NAME.step1.pb`` and
    so on, and a profile recorded with them becomes ``NAME.xplane.pb``, the name that TensorBoard expects.
    ValueError if there is no such format, no file can be written there, or the trace has no message to write.
    """
    check_target(path)
    suffix = suffix_of(path)
    if suffix == ".html":
        trace.to_html(path)
    elif suffix in PICTURES:
        write_picture(trace, path)
    elif suffix.startswith(".json"):
        trace.to_chrome_trace(path)
    elif suffix == ".parquet":
        trace.to_parquet(path)
    else:
        return _save_messages(trace, path)
    return [path]


def write_picture(trace: Trace, path: Path, **options: Any) -> None:
    """Write a picture in the format of its suffix; ImportError without the required extra."""
    suffix = suffix_of(path)
    if suffix == ".svg":
        trace.to_svg(path, **options)
    elif suffix == ".pdf":
        trace.to_pdf(path, **options)
    else:
        trace.to_png(path, **options)


def message_file(message: bytes, suffix: str, *, is_profile: bool) -> tuple[str, bytes]:
    """Return the complete suffix of a file with a message, and its content.

    ValueError for pickling an ``XSpace``.
    """
    content = message
    if _is_pickle(suffix):
        if is_profile:
            raise ValueError(Text("profile_in_pickle"))
        # Imports the decoder, which %load_ext should not wait for.
        from tfvis_nb.reading.pickles.run_metadata import pickled

        content = pickled(message)
    if suffix.lower().endswith(_PACKED):
        content = gzip.compress(content, mtime=0)
    return (PROFILE if is_profile else "") + suffix, content


def _is_pickle(suffix: str) -> bool:
    return suffix.lower().removesuffix(_PACKED) == PICKLE


def _save_messages(trace: Trace, path: Path) -> list[Path]:
    if not trace.sources and not trace.profiles:
        raise ValueError(Text("no_messages_to_write", path=str(path)))
    ending = path.name[-len(suffix_of(path)) :]
    whole_stem = path.name.removesuffix(ending)
    stem = whole_stem.removesuffix(PROFILE)
    # The pickle of session runs recorded with a profile does not include the profile.
    profiles = [] if trace.sources and _is_pickle(ending) else trace.profiles
    named = [
        (f".step{number}" * (len(trace.sources) > 1 or stem != whole_stem), source, False)
        for number, source in enumerate(trace.sources)
    ]
    named += [
        (f".part{number}" * (len(profiles) > 1), profile, True) for number, profile in enumerate(profiles)
    ]
    contents = [message_file(message, ending, is_profile=is_profile) for _, message, is_profile in named]
    # A single one has the given name, because a file with another name may exist.
    paths = [path]
    if len(named) > 1:
        paths = [
            path.with_name(f"{stem}{number}{suffix}")
            for (number, *_), (suffix, _) in zip(named, contents, strict=True)
        ]
        check_free(paths)
    for target, (_, content) in zip(paths, contents, strict=True):
        with whole(target) as file:
            file.write_bytes(content)
    return paths


def check_free(paths: Sequence[Path]) -> None:
    """Raise ValueError if there is something else than a trace at a path that the user did not name."""
    from tfvis_nb.reading import EmptyTraceError, TraceFormatError, read_trace

    for path in paths:
        if not os.path.lexists(path):
            continue
        try:
            if is_plain(path):
                read_trace(path)
                continue
        except EmptyTraceError:
            continue
        except (OSError, TraceFormatError):
            pass
        raise ValueError(Text("step_in_the_way", path=str(path)))
