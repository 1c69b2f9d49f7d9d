"""Device memory profiles of JAX: their sums by line, and the difference of two."""

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from tensorflow.tsl.profiler.protobuf import profile_pb2

import tfvis_nb as tv
from tfvis_nb.analysis import device_memory, why_not
from tfvis_nb.display.tabs import memory

pytestmark = pytest.mark.tensorflow


def kept_small() -> Any:
    return jnp.ones((300, 7))


def kept_large() -> Any:
    return [jnp.ones((500, 11)), jnp.ones((500, 12))]


def totals(data: bytes) -> tuple[Counter[str], Counter[str]]:
    """Return bytes and buffers by function of this file, "" for all, with TensorFlow's protobuf class."""
    profile = profile_pb2.Profile.FromString(gzip.decompress(data))
    texts = profile.string_table
    functions = {one.id: one for one in profile.function}
    locations = {one.id: one for one in profile.location}
    types = [texts[one.unit] for one in profile.sample_type]
    sizes, counts = Counter[str](), Counter[str]()
    for sample in profile.sample:
        names = {""}
        for number in sample.location_id:
            for line in locations[number].line:
                function = functions[line.function_id]
                if texts[function.filename] == __file__:
                    names.add(texts[function.name])
        for name in names:
            sizes[name] += sample.value[types.index("bytes")]
            counts[name] += sample.value[types.index("count")]
    return sizes, counts


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two profiles, the second with more arrays."""
    folder = tmp_path_factory.mktemp("profiles")
    paths = [folder / "before.prof", folder / "after.prof"]
    held = [kept_small()]
    jax.profiler.save_device_memory_profile(str(paths[0]))
    held += kept_large()
    jax.profiler.save_device_memory_profile(str(paths[1]))
    return paths


def by_function(tree: Any, column: str) -> Counter[str]:
    rows = tree[tree["frame"].str.contains("(test_memory_profile.py:", regex=False)]
    found = Counter[str]()
    for frame, value in zip(rows["frame"], rows[column], strict=True):
        found[frame.partition(" ")[0]] += int(value)
    return found


def test_sums_are_those_of_tensorflows_class(profiles: list[Path]) -> None:
    for path in profiles:
        sizes, counts = totals(path.read_bytes())
        tree = device_memory(tv.read_trace(path))
        assert (tree["total_bytes"][0], tree["buffers"][0]) == (sizes.pop(""), counts.pop(""))
        assert by_function(tree, "total_bytes") == sizes
        assert by_function(tree, "buffers") == counts
        assert tree["self_bytes"].sum() == tree["total_bytes"][0]
        assert tree["before_bytes"].isna().all()


def test_the_difference_of_two(profiles: list[Path]) -> None:
    before, after = map(tv.read_trace, profiles)
    tree = device_memory(after, before)
    (earlier, _), (later, _) = (totals(path.read_bytes()) for path in profiles)
    change = by_function(tree, "change_bytes")
    assert change["kept_large"] == later["kept_large"] == (500 * 11 + 500 * 12) * 4
    assert change["kept_small"] == 0
    assert tree["change_bytes"][0] == later[""] - earlier[""]
    back = device_memory(before, after)
    assert by_function(back, "change_bytes")["kept_large"] == -later["kept_large"]


def test_a_parquet_file_keeps_the_profile(profiles: list[Path], tmp_path: Path) -> None:
    trace = tv.read_trace(profiles[1])
    again = tv.read_trace(trace.to_parquet(tmp_path / "t.parquet"))
    assert device_memory(again).equals(device_memory(trace))
    assert why_not(device_memory(tv.read_trace(profiles[0]), tv.Trace(trace.events))).id == "no_device_memory"


def test_the_tab_has_a_flame_graph(profiles: list[Path]) -> None:
    before, after = map(tv.read_trace, profiles)
    assert not memory.why_none(after)
    blocks: list[Any] = [*memory.blocks(after, before)]
    shown = {block["title"]: block for block in blocks}
    (graph,) = shown["Device memory"]["graphs"]
    assert sum(graph["parts"][0]["self_ns"]) == device_memory(after)["total_bytes"][0]
    assert any(label.startswith("kept_large") for label in graph["labels"])
    lines = [row[0] for row in shown["Device memory by line"]["rows"]]
    assert any(str(line).startswith("kept_large") for line in lines)


def test_a_profile_with_impossible_numbers() -> None:
    profile = profile_pb2.Profile(string_table=["", "space", "bytes", "allocations", "count", "a\n\u202eb"])
    for kind, unit in ((1, 2), (3, 4)):
        profile.sample_type.add(type=kind, unit=unit)
    profile.location.add(id=1).line.add(function_id=1, line=-4)
    profile.location.add(id=2).line.add(function_id=9)
    profile.function.add(id=1, name=5, filename=1000)
    for values in ([2**63 - 1, 2**63 - 1], [2**63 - 1], [-5, -5], []):
        profile.sample.add(location_id=[1, 2, 3], value=values)
    tree = device_memory(tv.read_trace(profile.SerializeToString()))
    assert tree["total_bytes"][0] == tree["self_bytes"].sum() == 2**62
    assert tree["frame"][1] == "a \u202eb (:0)"
