"""The names and facts that tf.data gives the events of its iterators."""

import re
from typing import Any

# Indexes count the elements of an outer stage, or number inputs that their datasets distinguish as well.
_INDEX = re.compile(r"\[\d+\]")
_ITERATOR = re.compile(r"Iterator::[A-Za-z]")
_FACT = re.compile(r"(?:^| )([A-Za-z_]{1,40})=(.*?)(?= [A-Za-z_]{1,40}=|$)", re.DOTALL)
# Stages that hand out elements prepared by other threads: their self time is spent waiting for them.
_AWAITING = re.compile(r"Prefetch|MapAndBatch|Parallel\w+")
_VERSION = re.compile(r"V\d+$")
_NUMBERED = re.compile(r"\w*Dataset\w*:\d+|.+/_\d+")
_DIGITS = re.compile(r"[0-9]{1,15}")


def stage_of(name: str) -> str:
    """Return the stages from the root to that of an iterator's event; empty for other events.

    >>> stage_of("Iterator::Root::Prefetch::Zip[1]::ForeverRepeat[12]::FromTensor")
    'Root::Prefetch::Zip::ForeverRepeat::FromTensor'
    >>> stage_of("IteratorGetNextOp::DoCompute")
    ''
    """
    return _INDEX.sub("", name).removeprefix("Iterator::") if _ITERATOR.match(name) else ""


def awaits(stage: str) -> bool:
    """Return whether a stage hands out elements prepared by other threads.

    >>> awaits("Root::Prefetch"), awaits("Root::Prefetch::Map")
    (True, False)
    """
    return _AWAITING.fullmatch(stage.rpartition("::")[2]) is not None


def facts_of(detail: str) -> dict[str, str]:
    """Return the facts in the text of an iterator's event, by name.

    >>> facts_of("name=MapDataset:1 shapes=[8,2] [8] parallelism=16")
    {'name': 'MapDataset:1', 'shapes': '[8,2] [8]', 'parallelism': '16'}
    """
    return dict(_FACT.findall(detail))


def integer(value: str | None) -> Any:
    """Return a fact as an integer, None if it is not one."""
    return int(value) if value is not None and _DIGITS.fullmatch(value) else None


def boolean(value: str | None) -> Any:
    """Return a fact as a boolean, None if it is not one.

    >>> boolean("true"), boolean("0"), boolean("so")
    (True, False, None)
    """
    return {"true": True, "1": True, "false": False, "0": False}.get(value or "")


def given_names(dataset: str) -> str:
    """Return the program's names for the parts of a dataset, without those of TensorFlow.

    >>> given_names("fused(decode,BatchDatasetV2:3)"), given_names("inject/prefetch_TakeDataset/_26")
    ('decode', '')
    """
    parts = dataset.removeprefix("fused(").removesuffix(")").split(",")
    return ", ".join(part for part in parts if not _NUMBERED.fullmatch(part))


def stage_label(stage: str, dataset: str) -> str:
    """Return the kind of a stage, with the names that the program gave its dataset.

    >>> stage_label("Root::Prefetch::ParallelMapV2", "decode"), stage_label("Root::Map", "MapDataset:1")
    ('ParallelMap(decode)', 'Map')
    """
    names = given_names(dataset)
    kind = _VERSION.sub("", stage.rpartition("::")[2])
    return f"{kind}({names})" if names else kind
