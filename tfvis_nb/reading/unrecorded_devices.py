"""Detect ops on an unrecorded GPU or other accelerator, which would otherwise seem idle in the trace."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.core.categories import containing, is_kind, map_categories
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.kinds import DEVICE
from tfvis_nb.texts import Text, id_of

_ACCELERATOR = re.compile(r"device:(?!(?:XLA_)?CPU:|Horovod)(?P<type>\w+):\d+$")
_EXPLAINED = {
    "accelerator_ops_without_kernels",
    "gpu_ops_without_kernels",
    "gpu_rows_missing",
    "profile_without_kernels",
}
_NO_WORK = re.compile(
    r"^(|unknown|_Arg|_Retval|_(Host)?(Send|Recv)|_?(Ref)?(Enter|Exit|Merge|Switch|NextIteration)|LoopCond"
    r"|Less|LogicalAnd|NoOp|ControlTrigger|Const|Placeholder|Identity|IdentityN|StopGradient|Reshape|Squeeze"
    r"|ExpandDims|Shape|ShapeN|Size|Rank|Variable|VariableV2|VariableShape|VarHandleOp|VarIsInitializedOp"
    r"|ReadVariableOp|AssignVariableOp|Iterator\w*|TensorList\w*|Stack\w*|If|While|Case|\w*PartitionedCall"
    r"|\w*(Recv|Send|RecvTensor|RecvBuf))$"
)
"""Ops that launch no kernel: they pass tensors on, or work on the host."""


def unrecorded_device_notes(trace: Trace) -> list[str]:
    """Return a note for each task with ops on an accelerator in steps without its kernels or copies."""
    events = trace.events
    if any(id_of(note) in _EXPLAINED for note in trace.notes):
        return []
    worked = is_kind(events, "op")
    worked &= containing(events["device"], _ACCELERATOR)
    worked &= ~map_categories(events["op"], lambda op: _NO_WORK.match(op) is not None)
    worked &= (events["step"] != NO_STEP).to_numpy()
    recorded = is_kind(events, *DEVICE)
    task = events["task"].cat
    run = events["step"].to_numpy(np.int64) * (len(task.categories) + 1) + task.codes.to_numpy()
    lacking = worked & ~np.isin(run, distinct_numbers(run[recorded]))
    # Thread rows of a profiler name no device; its ops on a GPU come with kernels of that GPU.
    if not lacking.any():
        return []
    ran = events.loc[lacking, ["task", "step"]].astype({"task": str})
    types = map_categories(events["device"], lambda device: _type(str(device)))
    ran["type"] = types[lacking]
    groups = ran.groupby(["task", "type"])["step"]
    return [_note(str(task), str(kind), steps) for (task, kind), steps in groups]


def _type(device: str) -> str:
    match = _ACCELERATOR.search(device)
    return match["type"] if match else ""


def _note(task: str, kind: str, steps: pd.Series) -> Text:
    figures = {"task": task or Text("unknown_task"), "ops": len(steps), "steps": len(np.unique(steps))}
    if kind == "GPU":
        return Text("gpu_ops_without_kernels", **figures)
    return Text("accelerator_ops_without_kernels", type=kind, **figures)
