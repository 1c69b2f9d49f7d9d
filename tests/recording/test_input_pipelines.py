"""Recorded tf.data pipelines: their stages have the names, buffers and choices of AUTOTUNE."""

import time

import pytest
import tensorflow as tf

import tfvis_nb as tv

pytestmark = pytest.mark.tensorflow


def test_a_pipeline_with_interleave_cache_shuffle_and_autotune() -> None:
    auto = tf.data.AUTOTUNE
    dataset = (
        tf.data.Dataset.range(4, name="files")
        .interleave(lambda _: tf.data.Dataset.range(50), cycle_length=2, num_parallel_calls=auto, name="read")
        .cache(name="kept")
        .shuffle(16, name="mixed")
        .map(lambda number: tf.fill([100_000], number), num_parallel_calls=auto, name="double")
        .batch(8, name="batches")
        .prefetch(auto, name="ready")
    )
    with tv.trace() as recording:
        for batch in dataset.take(20):
            tf.reduce_sum(batch)
            # While the program does something else, buffers fill.
            time.sleep(0.002)
    table = recording.input_pipeline
    names = set(",".join(table["dataset"]).replace("fused(", "").replace(")", "").split(","))
    assert {"read", "kept", "mixed", "double", "batches", "ready"} <= names
    by_stage = table.drop_duplicates("dataset").set_index("dataset")
    interleave = table[table["stage"].str.contains(r"::ParallelInterleave\w*$")].iloc[0]
    assert (interleave["dataset"], interleave["autotune"]) == ("read", True)
    assert interleave["parallelism"] >= 1
    assert interleave["deterministic"]
    assert by_stage["buffered_mean"]["mixed"] > 0
    ready = table[table["stage"].str.endswith("::Prefetch")].iloc[0]
    assert ready["autotune"]
    assert ready["buffer_limit"] >= 1
    assert interleave["interleave_depth"] == 0
    assert table["buffered_bytes"].max() >= 10**6
    root = table[table["depth"] == 0].iloc[0]
    assert root["cpu_budget"] >= 1
    assert root["ram_budget_bytes"] > 0
    assert root["ram_usage_bytes"] > 0
    assert root["algorithm"] == "DEFAULT"
    assert table["bottleneck"].sum() == 1
