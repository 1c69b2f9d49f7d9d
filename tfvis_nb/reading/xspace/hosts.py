"""Merge profiles of several hosts of one run into one `Trace`, with a task for each host."""

from collections.abc import Sequence
from itertools import count

from tfvis_nb import events as event_table
from tfvis_nb.clocks.alignment import aligned
from tfvis_nb.core.labels import natural
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.concat import merge, with_steps
from tfvis_nb.reading.tasks import under_task
from tfvis_nb.reading.xspace.reader import RecordedHost
from tfvis_nb.texts import Text

_APART = 60_000_000_000
"""A minute in ns, the largest difference between clocks of hosts."""

_TASK = "/job:worker/replica:0/task:{}"


def runs(hosts: Sequence[RecordedHost]) -> list[list[RecordedHost]]:
    """Group hosts that were profiled at the same time; each group is one run, in the given order.

    Clocks of different hosts may differ by some seconds, so their times only need to be close. If a file does
    not record its time, only names distinguish other hosts from other profiles of the same host. Processes of
    the same task are of different jobs.
    """
    groups: list[list[RecordedHost]] = []
    for host in hosts:
        for group in groups:
            if all(_together(host, other) for other in group):
                group.append(host)
                break
        else:
            groups.append([host])
    return groups


def _together(one: RecordedHost, other: RecordedHost) -> bool:
    if one.task and one.task == other.task:
        return False
    others = bool(one.hostname) and bool(other.hostname) and one.hostname != other.hostname
    if all(one.window) and all(other.window):
        between = max(one.window[0], other.window[0]) - min(one.window[1], other.window[1])
        return between < (_APART if others else 0)
    return others


def merged(hosts: Sequence[RecordedHost]) -> Trace:
    """Merge the hosts of a run into one trace. A single host is not a task because its number is unknown."""
    if len(hosts) == 1:
        return hosts[0].trace
    # By what they say of themselves, so that the order of files does not matter.
    hosts = sorted(hosts, key=lambda host: (natural(host.hostname), natural(host.label), host.window))
    named = {host.task for host in hosts}
    free = (task for task in map(_TASK.format, count()) if task not in named)
    tasks = {id(host): host.task or next(free) for host in hosts}
    hosts.sort(key=lambda host: natural(tasks[id(host)]))
    trace = aligned(merge(_same_steps([under_task(host.trace, tasks[id(host)]) for host in hosts]), ""))
    for key, chosen in (
        ("hosts_named", [host for host in hosts if not host.task]),
        ("hosts_of_tasks", [host for host in hosts if host.task]),
    ):
        if chosen:
            names = (f"{host.label.rpartition('/')[2]} is {_short(tasks[id(host)])}" for host in chosen)
            trace.notes.insert(0, Text(key, hosts=", ".join(names)))
    return trace


def _short(task: str) -> str:
    return task.replace("/job:worker/replica:0/task:", "task ")


def _same_steps(traces: Sequence[Trace]) -> list[Trace]:
    """Give steps of the same name on all hosts the same number, ordered by start."""
    labels: dict[str, int] = {}
    began: dict[str, int] = {}
    keys: list[dict[int, str]] = []
    for trace in traces:
        seen: dict[str, int] = {}
        named = {}
        starts = trace.events.groupby("step")["start_ns"].min()
        for step in (number for number in starts.index.tolist() if number != event_table.NO_STEP):
            label = trace.step_labels.get(step, "")
            # Calls of one function have the same name; the first on one host is the first on all.
            seen[label] = seen.get(label, -1) + 1
            named[step] = f"{label}\0{seen[label]}"
            began[named[step]] = min(began.get(named[step], int(starts[step])), int(starts[step]))
        keys.append(named)
    for key in sorted(began, key=lambda key: began[key]):
        labels[key] = len(labels)
    return [
        with_steps(trace, {step: labels[key] for step, key in named.items()})
        for trace, named in zip(traces, keys, strict=True)
    ]
