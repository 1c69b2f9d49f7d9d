"""Paths of a dataset's parts: names from traces and paths are percent-encoded in folder names."""

import hashlib
import os
from collections.abc import Sequence
from urllib.parse import quote

from tfvis_nb.reading.sources.files import DATASET
from tfvis_nb.texts import Text

FORMAT, MANIFEST = DATASET
DETAILS = "details"
"""The format file, the folder of the entries of sources, and that of data only needed for reading back."""

_LONGEST = 180
"""Maximum bytes of an encoded name; file systems allow 255 including the key in front."""
_HASH = 12
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def key_of(source: str) -> str:
    """Return the base name of a source's files: a hash of its path or URL.

    >>> key_of("/logs/step1.pb")
    '975909898d08df3345c5'
    """
    return _hash(source)[:20]


def part_path(table: str, key: str, run: str, task: str, steps: Sequence[int]) -> str:
    """Return the path, in the dataset, of a source's part of a table for a task.

    >>> part_path("events", "9e2e", "../a b", "/job:worker/replica:0/task:1", [3, 5])
    'events/run=..%2Fa%20b/task=%2Fjob%3Aworker%2Freplica%3A0%2Ftask%3A1/steps=3-5/9e2e.parquet'
    """
    span = f"{min(steps)}-{max(steps)}" if len(steps) else "none"
    return f"{part_folder(table, run, task)}steps={span}/{key}.parquet"


def part_folder(table: str, run: str, task: str) -> str:
    """Return the folder of the parts of a table for a task of a run."""
    return f"{table}/run={_quoted(run)}/task={_quoted(task)}/"


def unwritable(folder: object, error: OSError) -> OSError:
    """Return the error for a dataset that cannot be written."""
    # Arrow's own words are longer.
    reason = (os.strerror(error.errno) if error.errno else " ".join(str(error).split())).lower()
    return type(error)(Text("dataset_unwritable", path=str(folder), reason=reason))


def as_unicode(name: str) -> str:
    r"""Return the name of a file, which need not be Unicode, with escapes for its other bytes.

    >>> print(as_unicode("caf\u00e9 \udcff"))
    café \udcff
    """
    return name.encode("utf-8", "backslashreplace").decode()


def brief_name(name: str) -> str:
    """Return a name that fits a folder name: very long ones are cut and end in a hash.

    So does the name by which readers of hive partitions mean null.

    >>> brief_name("train/2026_01_31"), len(brief_name("x" * 1000))
    ('train/2026_01_31', 180)
    """
    name = as_unicode(name)
    if name != _HIVE_NULL and len(_quoted(name)) <= _LONGEST:
        return name
    end = f"~{_hash(name)[:_HASH]}"
    cut = name[: _LONGEST - len(end)]
    while len(_quoted(cut)) > _LONGEST - len(end):
        cut = cut[:-1]
    return cut + end


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
