"""Select the events of a change: by op, kernel, layer, line of code or activity."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate

import numpy as np
import pyarrow.compute as pc

from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.events.activity import ACTIVITIES, NUMBER, activity
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.analysis.source.sampled_time import all_sampled_time
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.core.categories import is_kind, map_categories
from tfvis_nb.core.options import near
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

_NOT_WORK = ("none", "runtime", "launch")
"""Activities of calling an op, as opposed to the op itself."""


def of_ops(trace: Trace, pattern: str) -> np.ndarray:
    """Return a mask of the events of ops of a type."""
    return map_categories(trace.events["op"], _matcher(pattern))


def of_kernels(trace: Trace, pattern: str) -> np.ndarray:
    """Return a mask of the kernels of a name."""
    match, runs = _matcher(pattern), kernel_runs(trace)
    mask = np.zeros(len(trace.events), bool)
    fits = {name: match(name) for name in runs["name"].unique()}
    mask[runs["event"].to_numpy()[runs["name"].map(fits).to_numpy(bool)]] = True
    return mask


def of_layers(trace: Trace, pattern: str) -> np.ndarray:
    """Return a mask of the events of a layer and its nested layers."""
    layer, _ = event_layers(trace)
    names = layer.dictionary.fill_null("")
    fits = pc.or_(pc.equal(names, pattern), pc.starts_with(names, f"{pattern}/"))
    fits = fits.to_numpy(zero_copy_only=False)
    if re.search(r"[*?[]", pattern):
        match = _matcher(pattern)
        fits = np.array([_within(match, name) for name in names.to_pylist()], bool)
    mask: np.ndarray = fits[np.asarray(layer.indices)]
    return mask


def of_lines(trace: Trace, pattern: str) -> np.ndarray:
    """Return a mask of the events of a line of code, such as ``train.py:12``, but `of_input_python`."""
    if trace.stacks is None:
        return np.zeros(len(trace.events), bool)
    fits = np.array([*map(line_matcher(pattern), trace.stacks.own_lines()), False])
    mask: np.ndarray = fits[event_stacks(trace)] & ~of_input_python(trace)
    return mask


def of_input_python(trace: Trace) -> np.ndarray:
    """Return a mask of calls of Python by the input pipeline whose time belongs to sampled lines.

    A generator runs in a PyFunc, which Keras makes in the call of ``model.fit``. The line of that call only
    waits for the lines of the generator.
    """
    sampled = all_sampled_time(trace).taken > 0
    mask: np.ndarray = sampled & (activity(trace) == NUMBER["preprocessing"])
    return mask


def path_activities(trace: Trace) -> np.ndarray:
    """Return the index in `ACTIVITIES` of which each event is part.

    An event nested in another on its thread is part of the higher of their activities, as in the breakdown.
    """
    numbers: np.ndarray = backtracker(trace).activity
    return np.where(np.isin(numbers, distinct_numbers(activity(trace))), numbers, 0)


def of_activities(trace: Trace, name: str) -> np.ndarray:
    """Return a mask of the events that are part of an activity."""
    if name not in ACTIVITIES[1:]:
        choices = ", ".join(ACTIVITIES[1:])
        raise ValueError(
            Text("no_such_activity", name=name, hint=near(name, ACTIVITIES[1:]), choices=choices)
        )
    mask: np.ndarray = path_activities(trace) == NUMBER[name]
    return mask


def work_of(trace: Trace, chosen: np.ndarray) -> np.ndarray:
    """Return a mask of the events that are the work of ops: their kernels, or else the ops themselves."""
    active, op = activity(trace), trace.events["op"].cat.codes.to_numpy()
    runs = np.zeros(len(trace.events["op"].cat.categories) + 1, bool)
    runs[op[locations(trace.events) == LOCATIONS.index("device")]] = True
    # A GPU op without kernels works on the host.
    on_host = (active == NUMBER["launch"]) & is_kind(trace.events, "op") & ~runs[op]
    work: np.ndarray = chosen & (on_host | ~np.isin(active, [NUMBER[name] for name in _NOT_WORK]))
    return work


def _within(match: Callable[[str], bool], layer: str) -> bool:
    parts = layer.split("/")
    return any(match("/".join(parts[:end])) for end in range(1, len(parts) + 1))


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test for names that equal the pattern, or match it with ``*`` and ``?`` as in file names."""
    fits = re.compile(translate(pattern)).match
    return lambda name: name == pattern or fits(name) is not None


def line_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test for lines of code, with or without the folder of their file."""
    match = _matcher(pattern)
    return lambda line: match(line) or match(re.sub(r".*/", "", line))


OF_OPS = ("ops", "layers", "lines")
"""Subjects whose events include more than the work of ops, such as launches."""

SELECTORS: Mapping[str, Callable[[Trace, str], np.ndarray]] = {
    "ops": of_ops,
    "kernels": of_kernels,
    "layers": of_layers,
    "lines": of_lines,
    "activities": of_activities,
}


def names_of(trace: Trace, subject: str) -> Iterable[str]:
    """Return the names in a trace that a change of a subject, a key of `SELECTORS`, can match."""
    match subject:
        case "ops":
            names = trace.events["op"].cat.categories.tolist()
        case "kernels":
            names = kernel_runs(trace)["name"].unique().tolist()
        case "layers":
            names = event_layers(trace)[0].dictionary.to_pylist()
        case "lines":
            stacks = np.unique(event_stacks(trace))
            lines = [] if trace.stacks is None else trace.stacks.own_lines()[stacks[stacks >= 0]].tolist()
            sampled = all_sampled_time(trace).lines
            lines += [f"{file}:{line}" for file, line in zip(sampled["file"], sampled["line"], strict=True)]
            names = [re.sub(r".*/", "", line) for line in lines]
        case _:
            names = [ACTIVITIES[number] for number in distinct_numbers(path_activities(trace)) if number]
    return [name for name in names if name]
