"""Half a file is reported as truncated in all formats; other damage is not."""

from pathlib import Path

import pytest

import tfvis_nb as tv
from tfvis_nb.reading.protobuf import schema
from tfvis_nb.reading.sources.unpacking import unpack
from tfvis_nb.texts import Text, catalogue, text_of

FILES = {
    "local_mlp_step1.pb": "a binary RunMetadata",
    "gpu_tf221_mlp.pb.xz": "an xz file",
    "tftracer_session.pickle.gz": "a gzip file",
    "cpu_jax.xplane.pb": "an XSpace of the TensorFlow or JAX profiler",
    "pickle_tf221.pickle": "a pickle",
    "pickle_tf115_python2_protocol1.pickle": "a pickle",
    "run_metadata_run_step99_tag_train.pbtxt": "a text RunMetadata",
}


def refusal(content: bytes) -> Text:
    with pytest.raises(tv.TraceFormatError) as caught:
        tv.read_trace(content)
    return text_of(caught.value)


def ends_early(content: bytes, what: str, byte: int) -> bool:
    """Whether a file is refused because it ends early."""
    return refusal(content).startswith(f"{len(content)} bytes: {Text('ends_early', what=what, byte=byte)}")


@pytest.mark.parametrize(("name", "what"), FILES.items())
def test_half_a_file_ends_early(data: Path, name: str, what: str) -> None:
    content = (data / name).read_bytes()
    half = len(content) // 2
    assert ends_early(content[:half], what, half)


def test_half_a_pickle_of_protocol_0_and_half_a_table(data: Path, tmp_path: Path) -> None:
    pickled = bytes(unpack((data / "pickle_tf115_python2_protocol0.pickle.xz").read_bytes(), ""))
    assert ends_early(pickled[:5000], "a pickle", 5000)
    table = tv.read_trace(data / "local_mlp_step1.pb").to_parquet(tmp_path / "a.parquet").read_bytes()
    assert ends_early(table[:5000], "a Parquet file", 5000)


def test_damage_inside_a_whole_file_is_no_end(data: Path) -> None:
    step = schema.message_class("StepStats")()
    step.dev_stats.add(device=b"/cpu:0").node_stats.add(node_name=b"a", all_start_micros=70)
    content: bytes = step.SerializeToString()
    # The last field of the last row says that it is longer than it is.
    inside = content.replace(b"\x0a\x01a", b"\x0a\x7fa")
    for damaged in (inside, b"\x0a\x05abcde", b"\xff" * 40):
        assert refusal(damaged).id == "message_damaged"
        assert refusal(damaged).figures["damage"].id == "in_message_at_byte"
    text = (data / "run_metadata_run_step99_tag_train.pbtxt").read_bytes()
    assert refusal(text.replace(b'device: "', b'device: oops "', 1)).id == "text_message_damaged"
    assert refusal(b'[{"ph" oops]').id == "json_damaged"


def test_every_message_names_the_same_formats(data: Path) -> None:
    for content in (
        b"<!DOCTYPE html>",
        b"\x7a\x03abc",
        b"\xff" * 40,
        (data / "local_mlp_step1.pb").read_bytes()[:5000],
        (data / "cpu_jax.xplane.pb").read_bytes()[:3000],
    ):
        assert refusal(content).endswith(catalogue()["readable_formats"])
