"""Edges between events: data and control edges, transfers, kernel launches."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.dataflow.function_runs import function_runs
from tfvis_nb.analysis.dataflow.graph_inputs import graph_inputs
from tfvis_nb.analysis.dataflow.label_inputs import Inputs, graph_nodes, inputs
from tfvis_nb.analysis.dataflow.recorded_links import recorded_links
from tfvis_nb.core.categories import containing, is_kind
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.core.executions import Executions
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.tensor_senders import NumberedEvents
from tfvis_nb.core.text_rows import text_rows, texts_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.kinds import DEVICE

KINDS = ("data", "control", "transfer", "launch", "flow")
"""Kinds of edges; see `edges`."""


@validate_input
def edges(trace: Trace) -> pd.DataFrame:
    """Return the unique edges between events of a trace, ordered by target: ``source``, ``target``, ``kind``.

    * ``data``, ``control``: from the op that made an input to the op that used it.
    * ``transfer``: from such an op to a received or copied tensor, and from there to the ops that used it.
    * ``launch``: from an op to the kernels and copies it launched, and from a collective to its phases in a
      Horovod timeline; ops of other ranks have a ``control`` edge to the phases that waited for them.

    * ``flow``: an arrow of a Chrome trace, from the bar in which it starts to the bar to which it leads.

    Edges are found by name within a step, and in a profile within a run of a function. The inputs of an op
    come from the label of its row and, if the trace has them, from graphs. Graphs of functions also lead
    through ops without events, which TensorFlow fused, removed or does not record. If a name ran several
    times, as in a loop, the latest execution that ended before its consumer started counts.
    """
    guessed = _Finder(trace).edges()
    recorded = recorded_links(trace)
    return _with_recorded(guessed, recorded) if len(recorded) else guessed


class _Finder(NumberedEvents):
    """The edges of a trace found so far."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace.events)
        self.trace = trace
        kind, lane = (self.events[name].astype(object).to_numpy() for name in ("kind", "lane"))
        self.launched = np.flatnonzero(
            is_kind(self.events, *DEVICE) | ((kind == "collective") & (lane != "collective"))
        )
        self._run = self.step
        self._made_here, self._made = self.here, self.anywhere
        self._found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def _add(self, source: np.ndarray, target: np.ndarray, kind: np.ndarray | int) -> None:
        known = source >= 0
        kinds = np.broadcast_to(np.asarray(kind, np.int64), source.shape)
        self._found.append((source[known], target[known], kinds[known]))

    def edges(self) -> pd.DataFrame:
        """Find all edges."""
        self._feed()
        self._launch()
        source, target, kind = phase_edges(self.events)
        self._add(source, target, np.where(kind == AWAITED, KINDS.index("control"), KINDS.index("launch")))
        source, target, kind = (np.concatenate(part) for part in zip(*self._found, strict=True))
        return _unique(source, target, kind)

    def _feed(self) -> None:
        """Link inputs with their producers, directly or through a transfer."""
        listed = inputs(texts_of(text_rows(self.events["detail"], self.executor)), self.names)
        row, given = graph_inputs(self.trace, self.executor)
        if len(row):
            listed = listed.joined(graph_nodes(row, given, self.names))
            self._number_runs()
        consumer = self.executor[listed.row]
        kind = np.where(listed.control, KINDS.index("control"), KINDS.index("data"))
        local = (listed.node >= 0) & self.anywhere.has(
            self.key(self.step[consumer], np.full(len(consumer), -1), listed.node)
        )
        producer = self._producer(consumer[local], listed.node[local])
        self._add(self._last(producer, listed.choice[local]), consumer[local], kind[local])
        remote = ~local & (listed.origin >= 0)
        arrived = self._arrivals(consumer, listed, remote)
        arrived |= self._fetched(consumer, listed, ~local & ~arrived)
        direct = remote & ~arrived
        self._add(self._producer(consumer[direct], listed.origin[direct]), consumer[direct], kind[direct])

    def _number_runs(self) -> None:
        """Number the runs of functions, because no input comes from another run of the same step."""
        number = function_runs(self.trace).number
        if (number >= 0).any():
            self._run, _ = pd.factorize(self.step * (number.max() + 2) + number)
            self._made_here = self.executions(self._run, self.device)
            self._made = self.executions(self._run, np.full(len(self.step), -1))

    def _producer(self, consumer: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the execution of `node` that each consumer used; on its own device if it ran there."""
        run, start = self._run[consumer], self.start[consumer]
        key = self.key(run, self.device[consumer], node)
        producer = self._made_here.find(key, start, start)
        other = np.flatnonzero(~self._made_here.has(key))
        key = self.key(run[other], np.full(len(other), -1), node[other])
        # Another task's clock may be behind, so a single execution counts even if it seems to start later.
        producer[other] = self._made.find(key, start[other])
        return producer

    def _last(self, producer: np.ndarray, choice: np.ndarray) -> np.ndarray:
        """Return the producers, of each choice only the last one."""
        several = np.flatnonzero((choice >= 0) & (producer >= 0))
        order = several[np.lexsort((self.end[producer[several]], choice[several]))]
        earlier = order[:-1][choice[order[1:]] == choice[order[:-1]]]
        last = producer.copy()
        last[earlier] = -1
        return last

    def _arrivals(self, consumer: np.ndarray, listed: Inputs, remote: np.ndarray) -> np.ndarray:
        """Link producer, transfer and consumer; return a mask of the inputs that arrived by a transfer.

            producer  --->  transfer of a tensor to a device  --->  consumer on that device

        The name of a tensor is that of the node that made it, with an edge number before or an output after
        it. An input is matched with all tensors of its node that moved to its device in its step; for each
        tensor, the latest transfer before the start of the consumer counts.
        """
        arrived = np.zeros(len(consumer), bool)
        moves = self.moves()
        if not len(moves.event):
            return arrived
        self._add(*self.senders(moves), KINDS.index("transfer"))
        wanted = pd.DataFrame(
            {"step": self.step[consumer], "to": self.device[consumer], "node": listed.origin}
        )[remote].rename_axis("input")
        channels = pd.DataFrame(
            {"step": self.step[moves.event], "to": moves.to, "node": moves.node, "channel": moves.channel}
        )
        channels = channels[channels["node"] >= 0].drop_duplicates()
        pairs = wanted.reset_index().merge(channels, on=["step", "to", "node"])
        number = pairs["input"].to_numpy()
        arrivals = Executions(moves.channel, self.end[moves.event], self.start[moves.event], moves.event)
        source = arrivals.find(pairs["channel"].to_numpy(), self.start[consumer[number]])
        arrived[number[source >= 0]] = True
        self._add(source, consumer[number], KINDS.index("transfer"))
        return arrived

    def _fetched(self, consumer: np.ndarray, listed: Inputs, asking: np.ndarray) -> np.ndarray:
        """Link copies with GPU ops of the same name that take an input in host memory.

        If a loop has as many copies as executions, they match one by one.
        """
        wanted, rows = np.flatnonzero(asking & (listed.node >= 0)), self.copied
        copies = Executions(
            self.key(self.step[rows], self.task[rows], self.name[rows]),
            self.end[rows],
            self.start[rows],
            rows,
        )
        target = consumer[wanted]
        key = self.key(self.step[target], self.task[target], listed.node[wanted])
        taker, _ = pd.factorize(self.key(self.step[target], self.device[target], self.name[target]))
        paired = copies.paired(key, taker * (len(self.names) + 1) + listed.node[wanted], self.start[target])
        source = np.where(paired >= 0, paired, copies.find(key, self.start[target]))
        self._add(source, target, KINDS.index("transfer"))
        arrived = np.zeros(len(consumer), bool)
        arrived[wanted[source >= 0]] = True
        return arrived

    def _launch(self) -> None:
        """Link kernels with the op that launched them: the latest of its name that had started."""
        ran, rows = self.executor, self.launched
        begun = self.column("compute_start_ns", self.start)[ran]
        ops = Executions(self.key(self.step[ran], self.task[ran], self.name[ran]), begun, begun, ran)
        when = self.column("scheduled_ns", self.start)[rows]
        key = self.key(self.step[rows], self.task[rows], self.name[rows])
        self._add(ops.find(key, when), rows, KINDS.index("launch"))


def _with_recorded(guessed: pd.DataFrame, recorded: pd.DataFrame) -> pd.DataFrame:
    """Add recorded edges; launches found by name stay only where none was recorded."""
    linked = recorded.loc[recorded["kind"] != "flow", "target"]
    known = guessed["target"].isin(linked) & (guessed["kind"] == "launch")
    both = [guessed[~known], recorded]
    source, target = (
        np.concatenate([part[name].to_numpy() for part in both]) for name in ("source", "target")
    )
    kind = np.concatenate([part["kind"].cat.set_categories(KINDS).cat.codes for part in both])
    return _unique(source, target, kind.astype(np.int64))


def _unique(source: np.ndarray, target: np.ndarray, kind: np.ndarray) -> pd.DataFrame:
    keep = source != target
    source, target, kind = source[keep], target[keep], kind[keep]
    order = np.lexsort((kind, source, target))
    source, target, kind = source[order], target[order], kind[order]
    new = np.ones(len(order), bool)
    new[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1]) | (kind[1:] != kind[:-1])
    return pd.DataFrame(
        {
            "source": source[new].astype(np.int64),
            "target": target[new].astype(np.int64),
            "kind": pd.Categorical.from_codes(
                kind[new].astype(np.int8), dtype=pd.CategoricalDtype(list(KINDS))
            ),
        }
    )


LAUNCHED, AWAITED = 0, 1
"""Kinds of edges: an op handed over its tensor, or a phase could not start without it."""


def phase_edges(events: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return source, target and kind of the edges to the phases of a Horovod timeline.

    The kind is `LAUNCHED` or `AWAITED`. An op and the phases of its tensor have the same name and step. The
    op of the rank that wrote the timeline has edges to each phase during which it ran. Ops of other ranks
    have edges to the negotiation, or if there is none to the communication, which waited for them.
    """
    none = np.zeros(0, np.int64)
    is_phase = containing(events["device"], HOROVOD)
    if not is_phase.any():
        return none, none, none
    lane = events["lane"].astype(object).to_numpy()
    start = events["start_ns"].to_numpy()
    end = start + events["duration_ns"].to_numpy()
    task = events["task"].cat.codes.to_numpy(np.int64)
    tensor, _ = number_rows(events["step"], events["name"])
    tasks = int(task.max(initial=0)) + 1

    def latest(sources: np.ndarray, of_task: np.ndarray, phases: np.ndarray, when: np.ndarray) -> np.ndarray:
        """Return for each phase the last source of its tensor that had started; -1 if there is none."""
        began = start[sources]
        known = Executions(tensor[sources] * tasks + task[sources], began, began, sources)
        return known.latest(tensor[phases] * tasks + of_task, when)

    parts = []
    ops = np.flatnonzero(~is_phase & (events["kind"] == "collective").to_numpy())
    phases = np.flatnonzero(is_phase & (lane != "rank ready"))
    waiting = phases[_waits_for_ranks(events, phases, lane)]
    for number in np.unique(task[ops]).tolist():
        for kind, those in (
            (LAUNCHED, phases[task[phases] == number]),
            (AWAITED, waiting[task[waiting] != number]),
        ):
            source = latest(ops, np.full(len(those), number), those, end[those])
            # An op ends with the last of its phases.
            related = (source >= 0) & (end[source] >= start[those])
            parts.append((source[related], those[related], kind))
    negotiated = np.flatnonzero(is_phase & (lane == "negotiate"))
    moved = np.flatnonzero(is_phase & (lane == "collective"))
    source, first = np.unique(latest(negotiated, task[moved], moved, start[moved]), return_index=True)
    parts.append((source[source >= 0], moved[first[source >= 0]], AWAITED))
    return (
        np.concatenate([none, *(source for source, _, _ in parts)]),
        np.concatenate([none, *(target for _, target, _ in parts)]),
        np.concatenate([none, *(np.full(len(source), kind) for source, _, kind in parts)]),
    )


def _waits_for_ranks(events: pd.DataFrame, phases: np.ndarray, lane: np.ndarray) -> np.ndarray:
    """Return the phases that wait for ops of other ranks: negotiation, or else communication."""
    negotiated = events.loc[phases[lane[phases] == "negotiate"], ["step", "name"]]
    known = pd.MultiIndex.from_frame(negotiated)
    here = pd.MultiIndex.from_frame(events.loc[phases, ["step", "name"]])
    waits: np.ndarray = (lane[phases] == "negotiate") | ((lane[phases] == "collective") & ~here.isin(known))
    return waits
