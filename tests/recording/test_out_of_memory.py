"""Recordings that end because memory ran out: TensorFlow's message, and kept data."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.texts import figures_of
from tfvis_nb.analysis import live_at_failure
from tfvis_nb.core.metadata import LIVE_AT_FAILURE, OUT_OF_MEMORY, table_of
from tfvis_nb.recording.allocation_errors import live_buffers, parsed

pytestmark = pytest.mark.tensorflow

tf1 = tf.compat.v1
EDGE = 1 << 21
"""A square matrix with this edge, of float32, takes 16 TiB."""
ASKED = EDGE * EDGE * 4


@tf.function  # type: ignore[untyped-decorator] # tensorflow has no types
def scores(rows: Any) -> Any:
    with tf.name_scope("net/dense"):
        kept = tf.nn.relu(rows)
        return tf.reduce_sum(tf.matmul(kept, kept, transpose_b=True, name="scores"))


def line_of(code: str) -> int:
    """Return the line of this file that holds some code."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if code in line and "line_of" not in line)


@tf.function  # type: ignore[untyped-decorator] # tensorflow has no types
def constant() -> Any:
    return tf.reduce_sum(tf.ones([EDGE, EDGE]))


@tf.function  # type: ignore[untyped-decorator] # tensorflow has no types
def array() -> Any:
    return tf.numpy_function(lambda: np.ones([EDGE, 2 * EDGE]), [], tf.float64)


def failed(run: Any, kind: Any = tf.errors.ResourceExhaustedError, **options: Any) -> tuple[Any, Any]:
    with pytest.raises(kind) as caught, tv.trace(**options) as recorded:
        run()
    return recorded, caught.value


def test_an_eager_op() -> None:
    rows = tf.ones([EDGE, 1])

    def run() -> None:
        tf.matmul(tf.nn.relu(rows), rows, transpose_b=True)

    recorded, error = failed(run)
    found = recorded.out_of_memory.iloc[0]
    assert "[Op:MatMul]" in error.message
    assert (found["op"], found["node"], found["requested_bytes"]) == ("MatMul", "", ASKED)
    assert (found["shape"], found["dtype"], found["allocator"]) == (f"[{EDGE}, {EDGE}]", "float32", "cpu")
    assert found["line"] == line_of("tf.matmul(tf.nn.relu(rows)")
    assert recorded.events["name"][found["event"]] == "MatMul"
    assert "Relu" in set(recorded.events["name"])
    assert 0 < found["free_bytes"] < ASKED
    assert found["fitting_rows"] == EDGE * int(found["free_bytes"]) // ASKED
    assert recorded.findings["id"][0] == "out_of_memory.larger"
    assert len(figures_of(recorded.notes, "ended_out_of_memory")) == 1


def test_variables_and_tensors_that_are_held() -> None:
    kept = tf.Variable(tf.ones([700, 1000]), name="net/kept")
    held = [tf.ones([600, 1000]), tf.constant("text")]
    recorded, _ = failed(lambda: scores(tf.ones([EDGE, 1])))
    live = live_at_failure(recorded)
    rows = live[live["name"].isin(["net/kept", "float32 [600, 1000]"])]
    assert rows[["op", "layer", "bytes"]].to_numpy().tolist() == [
        ["VarHandleOp", "net", 4 * kept.shape.num_elements()],
        ["", "", 4 * held[0].shape.num_elements()],
    ]
    assert live["bytes"].is_monotonic_decreasing


def test_a_function() -> None:
    recorded, _ = failed(lambda: scores(tf.ones([EDGE, 1])))
    found = recorded.out_of_memory.iloc[0]
    assert (found["node"], found["op"], found["layer"]) == ("net/dense/scores", "MatMul", "net/dense")
    assert (found["function"], found["line"]) == ("scores", line_of('name="scores"'))
    assert recorded.events["name"][found["event"]] == "net/dense/scores"


def test_a_constant_that_does_not_fit() -> None:
    """TensorFlow calls the value of the constant invalid."""
    recorded, _ = failed(constant, tf.errors.InvalidArgumentError)
    found = recorded.out_of_memory.iloc[0]
    assert (found["node"], found["op"], found["requested_bytes"]) == ("ones", "Fill", ASKED)
    assert found["line"] == line_of("tf.reduce_sum(tf.ones([EDGE, EDGE]))")
    assert 0 < found["free_bytes"] < ASKED


@pytest.mark.parametrize("run", [array, lambda: np.ones([EDGE, 2 * EDGE])])
def test_an_array_of_numpy(run: Any) -> None:
    recorded, _ = failed(lambda: (tf.ones([3]), run()), (tf.errors.ResourceExhaustedError, MemoryError))
    found = recorded.out_of_memory.iloc[0]
    assert (found["requested_bytes"], found["shape"]) == (4 * ASKED, f"[{EDGE}, {2 * EDGE}]")
    assert found["fitting_rows"] == EDGE * int(found["free_bytes"]) // (4 * ASKED)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends() -> None:
    before = threading.excepthook
    with tv.trace() as recorded:
        threads = [threading.Thread(target=scores, args=(tf.ones([EDGE, 1]),)) for _ in range(2)]
        for thread in threads:
            thread.start()
            thread.join()
        tf.ones([3])
    assert threading.excepthook is before
    found = recorded.out_of_memory
    assert found[["node", "requested_bytes"]].to_numpy().tolist() == [["net/dense/scores", ASKED]]
    assert len(figures_of(recorded.notes, "thread_out_of_memory")) == 1
    assert not figures_of(recorded.notes, "ended_out_of_memory")


@pytest.mark.parametrize("earlier", [0, 1])
def test_a_session_run(earlier: int, tmp_path: Path) -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        rows = tf1.placeholder(tf.float32, [None, 1])
        kept = tf.nn.relu(tf.random.uniform([500, 500]), name="enc/kept")
        with tf1.control_dependencies([kept]):
            big = tf.matmul(rows, rows, transpose_b=True, name="dense/big")
        fetches = [tf.reduce_sum(big), kept]

        def run() -> None:
            for size in [4] * earlier + [EDGE]:
                session.run(fetches, {rows: np.ones([size, 1], np.float32)})

        recorded, _ = failed(run)
    assert len(recorded.steps) == earlier
    again = tv.read_trace(recorded.to_parquet(tmp_path / "t.parquet"))
    found = again.out_of_memory.iloc[0]
    assert (found["node"], found["op"], found["event"]) == ("dense/big", "MatMul", -1)
    assert (found["line"], found["layer"]) == (line_of('name="dense/big"'), "dense")
    live = live_at_failure(again)
    assert live["bytes"].max() == pytest.approx(500 * 500 * 4, rel=0.01)
    assert set(live["line"]) == {f"tests/recording/test_out_of_memory.py:{line_of('enc/kept')}"}


def test_without_code() -> None:
    recorded, _ = failed(lambda: scores(tf.ones([EDGE, 1])), source=False)
    assert recorded.metadata[OUT_OF_MEMORY][["file", "text"]].isna().all(axis=None)
    assert recorded.out_of_memory["requested_bytes"].tolist() == [ASKED]


def test_an_error_that_the_program_survives_ends_nothing() -> None:
    with tv.trace() as recorded:
        try:
            tf.fill([1 << 42], 1.0)
        except tf.errors.ResourceExhaustedError:
            tf.ones([3])
    assert OUT_OF_MEMORY not in recorded.metadata


def test_other_errors_are_no_such() -> None:
    def run() -> None:
        tf.ones([3])
        raise tf.errors.ResourceExhaustedError(None, None, "received message larger than max")

    recorded, _ = failed(run)
    assert OUT_OF_MEMORY not in recorded.metadata


CONSTANT = (
    "Cannot parse tensor from proto: goo.gle/debugonly \ndtype: {}\ntensor_shape {{\n  dim {{\n    size: {}\n"
    "  }}\n  dim {{\n    size: 2\n  }}\n}}\nhalf_val: 1\n\n\t [[{{{{node c}}}}]]"
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "OOM when allocating tensor with shape[64,9,9] and type half on /device:GPU:0 by allocator bfc",
            {"shape": "[64, 9, 9]", "dtype": "float16", "requested_bytes": 64 * 81 * 2},
        ),
        (
            "Out of memory while trying to allocate 68852648264 bytes.\n\t [[{{node cluster/xla_run}}]]",
            {"requested_bytes": 68852648264, "node": "cluster/xla_run", "shape": None},
        ),
        ("Out of memory while trying to allocate 1.50GiB.", {"requested_bytes": 3 << 29}),
        ("failed to allocate memory\n\t [[{{node mul}}]]", {"node": "mul", "requested_bytes": None}),
        (
            "OOM when allocating tensor with shape[100,4096]",
            {"shape": "[100, 4096]", "requested_bytes": None},
        ),
        ("OOM when allocating tensor with shape[] and type float", {"shape": "[]", "requested_bytes": 4}),
        (f"OOM when allocating tensor with shape[{2**62},8] and type int8", {"requested_bytes": None}),
        ("OOM when allocating temporary tensor with shape[8] and type int8", {"requested_bytes": 8}),
        (
            "OOM when allocating tensor of shape [3,4] and type float\n\t [[{{node big}}]]",
            {"shape": "[3, 4]", "requested_bytes": 48, "node": "big"},
        ),
        (
            "Failed copying input tensor from /GPU:0 in order to run Mul: Dst tensor is not initialized.",
            {"op": None, "requested_bytes": None},
        ),
        (CONSTANT.format("DT_HALF", "9 "), {"shape": "[9, 2]", "requested_bytes": 36, "node": "c"}),
        (CONSTANT.format("DT_HALF", "-1 "), None),
        (CONSTANT.format("DT_STRING", "9 "), None),
        (CONSTANT.format("DT_HALF", "9 ").replace("half_val", "tensor_content"), None),
        (CONSTANT.format("DT_HALF", f"{2**62} "), None),
        ("Resource exhausted: Too many open files", None),
    ],
)
def test_messages(message: str, expected: dict[str, Any] | None) -> None:
    found = parsed(message)
    assert (found is None) == (expected is None)
    assert {name: (found or {})[name] for name in expected or {}} == (expected or {})


PIECES = st.sampled_from(
    [
        *(
            "OOM when allocating tensor with shape[",
            "9" * 99,
            ",",
            "]",
            " and type float on /a by allocator b",
        ),
        *("Current usage from device: /d, allocator: e\n", "  1.5GiB from c\n", "  . from", "{{node ", "}}"),
        *("Out of memory while trying to allocate ", "1.2.3", " bytes", "PiB", "[Op:", "\n", " "),
        *("Cannot parse tensor from proto: dtype: DT_INT8\n", "tensor_shape {\n", "dim {\n size: 9\n}"),
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=12).map("".join))
def test_any_message(message: str) -> None:
    found, live = parsed(message), live_buffers(message)
    assert len(table_of(OUT_OF_MEMORY, [found or {}])) == 1
    assert table_of(LIVE_AT_FAILURE, live)["bytes"].ge(0).all()


BFC = """
import tensorflow as tf, tfvis_nb as tv
try:
    with tv.trace() as recorded:
        kept = tf.ones([1000, 1000])
        tf.tile(kept, [8, 8])
except tf.errors.ResourceExhaustedError:
    recorded.to_parquet("t.parquet")
"""


@pytest.mark.thorough
def test_an_allocator_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow waits for ten seconds for memory to become free."""
    monkeypatch.setenv("TF_CPU_ALLOCATOR_USE_BFC", "1")
    monkeypatch.setenv("TF_CPU_BFC_MEM_LIMIT_IN_MB", "64")
    subprocess.run([sys.executable, "-c", BFC], check=True, cwd=tmp_path, capture_output=True)
    recorded = tv.read_trace(tmp_path / "t.parquet")
    found = recorded.out_of_memory.iloc[0]
    assert (found["op"], found["requested_bytes"]) == ("Tile", 64 * 4_000_000)
    assert found["free_bytes"] + found["in_use_bytes"] == 64 << 20
    assert 0 < found["largest_free_bytes"] <= found["free_bytes"]
    assert found["fitting_rows"] == 8000 * int(found["largest_free_bytes"]) // (64 * 4_000_000)
    largest = live_at_failure(recorded).iloc[0]
    assert (largest["op"], largest["bytes"] >= 4_000_000) == ("Fill", True)
    assert found["in_use_bytes"] >= live_at_failure(recorded)["bytes"].sum()
