"""Findings in all real traces: the known ones, and none that the figures do not support."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.reading.test_collection import EMPTY, FILES, REFUSED, expected
from tests.real_traces import SHARED, each, name_of, real_trace
from tfvis_nb.analysis import why_not

pytestmark = pytest.mark.slow

COMMUNICATION = "communication"
CPU_OPS = "cpu_ops"
VARIABLES = "copies.variables"
INPUT_ONCE = "input_bound.first"
INPUT_OF_ONE = "input_bound.one"
LAUNCHES = "launch_bound"
SMALL = "small_kernels"
CONTEXT = ("idle_device", "between_steps", "first_step", "host_compute")
"""Rules whose findings follow from figures that `tests.analysis.test_overview` checks in every trace."""

FOUND = {
    # Input, once or at every step.
    "h200/input_bound_tf2_gpu.xplane.pb": ["input_bound.all"],
    "cpu_tf215_input.xplane.pb.xz": ["input_bound.all"],
    "cpu/local_conv_tfdata_step0.pb": [INPUT_OF_ONE],
    "hvd/estimator_tf115_dnn_train_step0.pb": [INPUT_OF_ONE],
    "*tf2_host.trace.json": [INPUT_OF_ONE],
    "third-party/sagemaker-debugger/utils_*.trace.json": [INPUT_OF_ONE],
    "cpu/xspace_keras_fit_cpu.xplane.pb": [INPUT_ONCE],
    "cpu_tf221_keras_fit.xplane.pb.xz": [INPUT_ONCE],
    # Steps.
    "h200/mlp_60steps.tar.xz": [LAUNCHES, "slow_steps.more_work"],
    # Devices.
    "h200/deep4000.pb.xz": [LAUNCHES],
    "h200/inception_step1.pb.xz": [LAUNCHES],
    "h200/inception_tf2_60steps_gpu.xplane.pb.xz": [LAUNCHES, SMALL],
    "h200/lstm_while_v2_step0.pb": [LAUNCHES],
    "*/mlp_step?.*": [LAUNCHES],
    "h200/mlp_init.pb": [LAUNCHES],
    "gpu_tf2??_mlp.pb.xz": [LAUNCHES],
    "*keras_fit_gpu.xplane.pb": [LAUNCHES, SMALL],
    "h200-tf218/tffunction_train_gpu.xplane.pb": [LAUNCHES, SMALL],
    "gpu_tf218_function.xplane.pb.xz": [LAUNCHES, SMALL],
    "*run_meta.v[23]": [LAUNCHES],
    "timeline_tf10_gpu.json": [LAUNCHES],
    "third-party/ikhlestov/GPU_timeline_01.json": [LAUNCHES],
    "third-party/kittibox/timeline_01.json": ["autotuning", LAUNCHES],
    "h200/mixed_sparse_embedding_step?.pb": [CPU_OPS, LAUNCHES],
    "h200-tf218/mixed_sparse_embedding_step?.pb": [LAUNCHES, CPU_OPS],
    "gpu_tf221_mixed.pb.xz": [CPU_OPS, LAUNCHES],
    "h200/two_logical_gpus_step?.pb": [VARIABLES, LAUNCHES],
    "h200-tf218/two_logical_gpus_step?.pb": [LAUNCHES, VARIABLES],
    "gpu_tf221_two_logical.pb.xz": [VARIABLES, LAUNCHES],
    "gpu_tf218_two_logical.pb.xz": [LAUNCHES, VARIABLES],
    "h200/mlp_software_trace.pb": ["missing_kernels.run"],
    # Tasks. Of one rank alone, and of equal ones, the time at collectives.
    "h200/straggler_ps_3gpuworkers_step0.pb": ["straggler.end"],
    "h200/mwms_straggler_worker?.xplane.pb": [COMMUNICATION],
    "gpu_tf221_worker?.xplane.pb.xz": [COMMUNICATION],
    "*dist_ps_2gpuworkers_step?.*": [COMMUNICATION],
    "gpu_tf2??_dist.pb.xz": [COMMUNICATION],
    "cpu/dist_inproc_collective_reduce.pb": [COMMUNICATION],
    "cpu/dist_inproc_monitored_refvar_while_step0.pb": [COMMUNICATION],
    "cpu_tf221_collective.pb.xz": [COMMUNICATION],
    "cpu_tf221_dist_while.pb.xz": [COMMUNICATION],
    "cpu_tf1*.pb.xz": [COMMUNICATION],
    "horovod_rank0_step3.pb.xz": [COMMUNICATION],
    "timeline_tf115_distributed.json": [COMMUNICATION],
    "hvd/hvd*_rank0_step[1-9]*.pb": [COMMUNICATION],
    "hvd/hvd_rank1_step?.pb": [COMMUNICATION],
    "hvd/hvd115_rank1_step3.pb": [COMMUNICATION],
    "hvd/hvd_collectives_rank1_step?.pb": [COMMUNICATION],
    "hvd/hvd_rank0_init4.pb": [COMMUNICATION],
    "hvd/tf1*_dist_worker1_step3.pb": [COMMUNICATION],
    "hvd/tf115_distsync_worker0_step3.pb": [COMMUNICATION],
    "horovod_timeline.json.xz": ["straggler.collective", COMMUNICATION],
    "hvd/hvd_straggler_timeline.json": ["straggler.collective", COMMUNICATION],
    # Rank 1 is late to the broadcast of the variables and in the first step only.
    "hvd/hvd_timeline.json": [COMMUNICATION],
    "kineto_rank0.json.xz": [COMMUNICATION],
    "third-party/kineto/sampled_rank-0.json.gz": [COMMUNICATION],
    "third-party/tf-encrypted/single_host_timeline_client.json": [COMMUNICATION],
}
"""Trace to the ids of its findings but those of `CONTEXT`, problems first. Nothing is found in any other."""

TOGETHER = {
    "h200/mwms_straggler_worker{}.xplane.pb": ["straggler.collective", COMMUNICATION],
    "hvd/hvd_straggler_rank{}_step3.pb": ["straggler.collective"],
    "hvd/hvd_straggler_rank{}_step2.pb": ["straggler.collective"],
    "hvd/hvd115_straggler_rank{}_step3.pb": ["straggler.collective"],
    "hvd/hvd_rank{}_step3.pb": [COMMUNICATION],
    "hvd/hvd115_rank{}_step3.pb": [COMMUNICATION],
    "hvd/hvd_collectives_rank{}_step1.pb": ["straggler.collective", COMMUNICATION],
    "hvd/tf115_distsync_worker{}_step3.pb": [],
}
"""The same of what several tasks of one run recorded, read together."""

TRACES = [path for path in FILES if not expected(path, REFUSED) and not expected(path, EMPTY)]


def _check(trace: tv.Trace, ids: list[str]) -> None:
    """Findings are those, and each has its evidence in the trace."""
    table = trace.findings
    assert [found for found in table["id"] if found.partition(".")[0] not in CONTEXT] == ids
    if why_not(table):
        assert not (trace.events["step"] >= 0).any()
        return
    assert table["share"].dropna().between(0, 1).all()
    assert table["title"].is_unique
    first, last = trace.events["start_ns"].min(), trace.steps["end_ns"].max()
    for row in table.to_dict("records"):
        assert first <= row["start_ns"] < row["end_ns"] <= last
        assert all(0 <= event < len(trace.events) for event in row["events"])
        assert row["text"].endswith(".")
        assert row["advice"].endswith((".", "?"))
        assert row["step"] in {-1, *trace.steps["step"]}


@pytest.mark.parametrize("path", each(TRACES))
def test_findings_of_one_trace(path: Path) -> None:
    matching = [pattern for pattern in FOUND if fnmatchcase(name_of(path), pattern)]
    assert len(matching) < 2
    _check(real_trace(path), FOUND[matching[0]] if matching else [])


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        pytest.param(names, ids, id=pattern, marks=pytest.mark.collection(*names))
        for pattern, ids in TOGETHER.items()
        for names in [[pattern.format(number) for number in (0, 1)]]
    ],
)
def test_findings_of_several_tasks(names: list[str], ids: list[str]) -> None:
    _check(real_trace([SHARED / name for name in names]), ids)


@pytest.mark.collection("INDEX.md")
def test_every_trace_with_expected_findings_exists() -> None:
    names = [name_of(path) for path in TRACES]
    assert [pattern for pattern in FOUND if not any(fnmatchcase(name, pattern) for name in names)] == []
