"""A dataset of as many ranks as wanted, of one ingested profile: its files are linked under other names."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import tfvis_nb as tv
from tfvis_nb import TraceDataset
from tfvis_nb.fleet.dataset import manifest
from tfvis_nb.fleet.dataset.layout import MANIFEST, part_path
from tfvis_nb.fleet.dataset.manifest import Entry


def ranks(folder: Path, profile: Path, count: int) -> TraceDataset:
    """Ingest a profile as that of rank 0 and give its files to `count` ranks, all with the same events."""
    source = folder / "job" / "rank0"
    source.mkdir(parents=True)
    (source / profile.name).symlink_to(profile)
    dataset = tv.open_traces(folder / "dataset")
    done = dataset.ingest(source.parent, progress=False)
    if done.read != 1:
        raise SystemExit(f"the profile was not ingested: {dataset.problems.to_dict('records')}")
    (first,) = manifest.read(dataset.path).entries
    for rank in range(1, count):
        _link(dataset.path, first, rank)
    return tv.open_traces(dataset.path)


def _link(folder: Path, first: Entry, rank: int) -> None:
    recorded = next(iter(first.tasks.values()))
    task = f"/job:worker/replica:0/task:{rank}"
    source = first.source.replace("rank0", f"rank{rank}")
    entry = Entry(**{**asdict(first), "source": source, "tasks": {task: recorded}, "parts": {}})
    parts = {}
    for path, size in first.parts.items():
        table = path.partition("/")[0]
        new = path.replace(first.key, entry.key)
        if "/task=" in path:
            new = part_path(table, entry.key, entry.run, task, entry.steps)
        (folder / new).parent.mkdir(parents=True, exist_ok=True)
        os.link(folder / path, folder / new)
        parts[new] = size
    text = json.dumps({**asdict(entry), "parts": parts})
    (folder / MANIFEST / f"{entry.key}.json").write_text(text, encoding="utf-8")
