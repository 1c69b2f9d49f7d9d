"""Pictures for papers: the content of their SVG, and the files made from it."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import tfvis_nb as tv
from tests.hostile_names import HOSTILE, hostile_trace
from tests.real_traces import SHARED, real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.core.palette import LABELS, activity_colours
from tfvis_nb.display.pictures.lettering import BOLD, FONT_SIZE, width_of
from tfvis_nb.display.pictures.picture import MOST_BYTES, alone, merged_boxes, ticks

SVG = "{http://www.w3.org/2000/svg}"
START = 10**18


def small_trace(**more: Any) -> Trace:
    columns = {
        "start_ns": [START, START, START + 40, START + 50],
        "duration_ns": [40, 100, 60, 10],
        "kind": ["op", "op", "kernel", "memcpy"],
        "op": ["MatMul", "Relu", "MatMul", "MemcpyH2D"],
        "name": ["model/dense/MatMul", "model/Relu", "model/dense/MatMul", "copy"],
        "device": ["/job:worker/task:1/device:GPU:0"] * 4,
        "task": ["/job:worker/task:1"] * 4,
        "lane": ["ops", "ops", "stream:13", "memcpy H2D"],
    }
    return Trace(events.build(columns | more), title="step")


def many_lanes(count: int) -> Trace:
    lanes = [f"stream:{number}" for number in range(count)]
    columns = {"start_ns": range(count), "duration_ns": [1] * count, "lane": lanes}
    return Trace(events.build(columns | {"kind": ["kernel"] * count}))


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)


def texts(root: ET.Element, group: str | None = None) -> list[str]:
    found = root if group is None else next(one for one in root if one.get("class") == group)
    return [node.text or "" for node in found.iter(f"{SVG}text")]


def boxes(root: ET.Element) -> dict[str, list[tuple[float, float, float, float]]]:
    """Left, top, width and height of the rectangles of each class of paths, from the left of the plot."""
    bars = next(one for one in root if one.get("class") == "bars")
    pattern = r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z"
    found = {}
    for path in bars.iter(f"{SVG}path"):
        numbers = re.findall(pattern, path.attrib["d"])
        assert "".join(path.attrib["d"].split("M")).count("z") == len(numbers)
        found[path.attrib["class"]] = [tuple(map(float, each)) for each in numbers]
    return found  # type: ignore[return-value]


def plot_width(root: ET.Element) -> float:
    bars = next(one for one in root if one.get("class") == "bars")
    left = float(re.findall(r"translate\(([\d.]+) ", bars.attrib["transform"])[0])
    return float(root.attrib["viewBox"].split()[2]) - left - 4


def test_bars_are_where_and_as_long_as_their_events() -> None:
    root = parsed(small_trace().to_svg())
    wide = plot_width(root)
    found = boxes(root)
    assert {name: len(rows) for name, rows in found.items()} == {
        "event launch": 2,
        "event device_compute": 1,
        "event h2d": 1,
    }
    (kernel,) = found["event device_compute"]
    assert kernel[0] == pytest.approx(0.4 * wide, abs=0.02)
    assert kernel[2] == pytest.approx(0.6 * wide, abs=0.02)
    first, second = found["event launch"]
    assert first[1] != second[1], "events that overlap are in two rows"
    height = float(root.attrib["viewBox"].split()[3])
    for left, top, width, tall in (box for rows in found.values() for box in rows):
        assert 0 <= left <= left + width <= wide + 0.05
        assert 0 <= top <= top + tall <= height


def test_labels_are_text() -> None:
    root = parsed(small_trace().to_svg(title="One step"))
    assert texts(root, "lanes") == ["worker 1 \u00b7 GPU:0", "ops", "stream 13", "copy H2D"]
    assert texts(root, "ruler") == ["0 ns", "20 ns", "40 ns", "60 ns", "80 ns", "100 ns"]
    assert texts(root, "legend")[:3] == [LABELS[one] for one in ("device_compute", "launch", "h2d")]
    assert {"MatMul", "Relu"} <= set(texts(root, "bars"))
    assert "One step" in texts(root)


@pytest.mark.parametrize("theme", ["light", "print", "dark"])
def test_a_theme_has_its_colours(theme: str) -> None:
    colours = activity_colours(theme)
    root = parsed(small_trace().to_svg(theme=theme))  # type: ignore[call-overload]
    fills = {path.get("class"): path.get("fill") for path in root.iter(f"{SVG}path") if path.get("class")}
    assert fills == {f"event {one}": colours[one] for one in ("launch", "device_compute", "h2d")}


def test_in_print_neighbouring_activities_differ_in_grey() -> None:
    def grey(colour: str) -> float:
        return sum(
            share * int(colour[at : at + 2], 16) / 255 for share, at in ((0.299, 1), (0.587, 3), (0.114, 5))
        )

    greys = {name: grey(colour) for name, colour in activity_colours("print").items()}
    for one, other in (
        ("host_compute", "device_compute"),
        ("launch", "device_compute"),
        ("device_compute", "h2d"),
        ("h2d", "d2h"),
        ("host_compute", "communication"),
        ("launch", "runtime"),
        ("device_compute", "input"),
    ):
        assert abs(greys[one] - greys[other]) > 0.2, (one, other)


def test_a_range_and_lanes_are_drawn_alone() -> None:
    root = parsed(small_trace().to_svg(time_range=(START + 40, START + 60), lanes="stream"))
    assert texts(root, "lanes") == ["worker 1 \u00b7 GPU:0", "stream 13"]
    assert texts(root, "ruler")[0] == "40 ns"
    ((left, _, width, _),) = boxes(root)["event device_compute"]
    assert [left, width] == pytest.approx([0, plot_width(root)], abs=0.02)


def test_a_range_of_any_size_is_drawn() -> None:
    assert small_trace().to_svg(time_range=(-(10**30), 10**30)) == small_trace().to_svg()


def test_many_short_events_are_as_high_as_their_share() -> None:
    starts = np.arange(100_000) * 1000
    table = events.build(
        {
            "start_ns": starts,
            "duration_ns": np.full(len(starts), 250),
            "kind": ["kernel"] * len(starts),
            "lane": ["stream:1"] * len(starts),
        }
    )
    text = Trace(table).to_svg()
    heights = [height for *_, height in boxes(parsed(text))["merged device_compute"]]
    assert heights == [pytest.approx(9 * 2 / 8, abs=0.01)] * len(heights)
    assert len(text) < 5000
    assert texts(parsed(text), "legend")[-1].startswith("low bars")


def test_lone_events_are_drawn_and_others_are_counted() -> None:
    left = np.array([0.0, 10.0, 10.2, 50.0])
    assert alone(left, left + 0.1, np.zeros(4, int), 1.0).tolist() == [True, False, False, True]
    made = merged_boxes(
        *(left, left + 0.1), np.zeros(4), np.full(4, 9.0), np.array([1, 1, 2, 1]), np.zeros(4, int), part=0.5
    )
    assert made.x.tolist() == [0, 10, 50]
    assert made.height.tolist() == pytest.approx([8 * 2 / 8, 8 * 3 / 8, 8 * 2 / 8])


def test_waiting_lies_over_the_head_of_a_transfer() -> None:
    trace = real_trace(Path(__file__).parents[2] / "data" / "gpu_tf221_dist.pb.xz")
    root = parsed(trace.to_svg())
    assert "waiting" in texts(root, "legend")
    heads = boxes(root)["waiting"]
    bars = {(left, top): width for left, top, width, _ in boxes(root)["event communication"]}
    assert heads
    assert all(bars[left, top] >= width for left, top, width, _ in heads)


def test_hostile_names_stay_text() -> None:
    trace = hostile_trace()
    odd = trace.events.assign(name=trace.events["name"] + "\ufffe")
    root = parsed(Trace(odd, title=trace.title).to_svg(title="\x00\u202e</svg>\ud800"))
    allowed = {"svg", "title", "rect", "path", "text", "g"}
    assert {node.tag.removeprefix(SVG) for node in root.iter()} == allowed
    assert not any(name.startswith("on") or "href" in name for node in root.iter() for name in node.attrib)
    assert "\ufffd\ufffd</svg>\ufffd" in texts(root)
    assert any(HOSTILE[0][:8] in text for text in texts(root, "lanes"))


@pytest.mark.parametrize("starts", [[5], [5, 9]])
def test_events_without_length_are_drawn_even_at_the_end(starts: list[int]) -> None:
    with raises_id(TypeError, "lanes_no_text", lanes=5):
        small_trace().to_svg(lanes=5)  # type: ignore[call-overload]
    lanes = [f"stream:{number}" for number in range(len(starts))]
    columns = {"start_ns": starts, "duration_ns": [0] * len(starts), "lane": lanes}
    root = parsed(Trace(events.build(columns | {"kind": ["kernel"] * len(starts)})).to_svg())
    assert len(texts(root, "lanes")) == len(starts) + 1


def test_an_empty_trace_is_drawn() -> None:
    assert texts(parsed(Trace(events.build({}, rows=0)).to_svg()), "legend") == ["no events"]


def test_lanes_beyond_the_most_are_counted() -> None:
    root = parsed(many_lanes(83).to_svg())
    assert texts(root, "legend")[-1] == "3 more lanes are not drawn"


def test_a_timeline_draws_its_filter_and_selected_time() -> None:
    widget = tv.show_timeline(small_trace(), lane_filter="stream", selection=(START + 40, START + 60))
    assert widget.to_svg() == small_trace().to_svg(lanes="stream", time_range=(START + 40, START + 60))


def test_annotations_are_drawn_at_their_targets() -> None:
    trace = small_trace()
    ops = ("/job:worker/task:1", "/job:worker/task:1/device:GPU:0", "ops")
    trace.annotations = [
        {"start_ns": START + 20, "name": "<mark>"},
        {"start_ns": START + 21, "end_ns": START + 45, "name": "range", "lanes": [ops]},
        {"event": 3, "name": "copied"},
        {"start_ns": START + 90, "name": "last"},
    ]

    def flags(svg: str) -> list[str]:
        groups = [one for one in parsed(svg) if one.get("class") == "flags"]
        return [node.text or "" for one in groups for node in one.iter(f"{SVG}title")]

    svg = tv.show_timeline(trace).to_svg(width="16 cm")
    assert flags(svg) == ["<mark>, range", "copied", "last"]
    root = parsed(svg)
    assert texts(root, "flags") == ["<mark>, range", "copied", "last"]
    assert not set(texts(root, "bars")) - set(texts(parsed(small_trace().to_svg()), "bars"))
    drawn = [path for one in root if one.get("class") == "annotations" for path in one.iter(f"{SVG}path")]
    (outline,) = [path.attrib["d"] for path in drawn if path.get("fill") == "none"]
    wide, left = plot_width(root), float(root.attrib["viewBox"].split()[2]) - 4 - plot_width(root)
    assert float(outline[1:].split(" ")[0]) == pytest.approx(left + 0.5 * wide, abs=0.02)
    assert flags(trace.to_svg(time_range=(START + 40, START + 60))) == ["range", "copied"]
    # Neither the copy nor the lane of the ops is drawn.
    assert flags(trace.to_svg(lanes="stream")) == ["<mark>", "last"]
    assert "annotations" not in trace.anonymized().to_svg()
    narrow = parsed(trace.to_svg(width="3 cm"))
    assert texts(narrow, "flags") == ["4"]


@pytest.mark.parametrize("letter", ["t", "W", "\u6f22"])
def test_names_of_tracks_are_cut_to_their_room(letter: str) -> None:
    svg = small_trace().to_svg(tracks={letter * 160: {"time_ns": [START], "value": [1]}})
    root = parsed(svg)
    (name,) = [text for text in texts(root, "tracks") if letter in text]
    left = float(root.attrib["viewBox"].split()[2]) - 4 - plot_width(root)
    widest = {"t": 0.4, "W": 1, "\u6f22": 1}[letter]
    assert name.endswith("\u2026")
    assert 8 + 9 * widest * len(name) <= left


@pytest.mark.parametrize("width", ["4 cm", 100])
def test_texts_of_a_small_picture_have_room(width: Any) -> None:
    names = ["ops", "stream:13", "memcpy H2D", "memcpy D2H"]
    trace = small_trace(lane=names, device=["/job:worker/task:1/device:GPU:0" + "0" * 60] * 4)
    root = parsed(trace.to_svg(width=width, title="x" * 300))
    right = float(root.attrib["viewBox"].split()[2])
    plot = right - 4 - plot_width(root)
    (title,) = root.findall(f"{SVG}text")
    assert re.fullmatch("x{5,}\u2026", title.text or "")
    lanes, legend = (next(one for one in root if one.get("class") == part) for part in ("lanes", "legend"))
    for node in (title, *lanes.iter(f"{SVG}text"), *legend.iter(f"{SVG}text")):
        is_bold = node.get("font-weight") == "bold"
        wide = width_of(node.text or "", FONT_SIZE * (BOLD if is_bold else 1))
        end = right if is_bold or node not in lanes else plot
        assert float(node.attrib["x"]) + wide <= end, node.text
    # What follows the colours is whole, in lines of their own.
    lines = list(legend.iter(f"{SVG}text"))[3:]
    assert " ".join(node.text or "" for node in lines).startswith("low bars: several events, as high as")
    assert len({node.attrib["y"] for node in lines}) == len(lines) > 1
    _, *found = texts(root, "lanes")
    assert len(set(found)) == len(names)
    assert [name[-1] for name in found] == ["s", "3", "D", "H"]


@pytest.mark.parametrize("height", [None, 100])
def test_names_of_low_lanes_do_not_touch(height: Any) -> None:
    lanes = ["ops", "stream:13", "memcpy H2D", "memcpy D2H"]
    root = parsed(small_trace(lane=lanes).to_svg(height=height))
    group = next(one for one in root if one.get("class") == "lanes")
    heading, *names = group.iter(f"{SVG}text")
    sizes = {float(node.get("font-size", FONT_SIZE)) for node in names}
    (size,) = sizes
    assert size == FONT_SIZE if height is None else 3 < size < FONT_SIZE
    baselines = [float(node.attrib["y"]) for node in (heading, *names)]
    apart = np.diff(baselines)
    assert apart[0] >= size
    assert apart[1:].min() >= 1.19 * size


def test_a_track_of_values_has_its_highest() -> None:
    bars = {"start_ns": [START], "end_ns": [START + 9], "name": ["a"]}
    losses = {"time_ns": [START, START + 9], "value": [2.5, 1.5], "unit": ["nats"] * 2}
    tracks = {"phases": bars, "loss": losses, "none": {"time_ns": [START], "value": [-2]}}
    drawn = texts(parsed(small_trace().to_svg(tracks=tracks)), "tracks")
    assert drawn == ["phases", "loss", "max 2.5 nats", "none", "max \N{MINUS SIGN}2"]
    # Part of a figure would be another figure.
    assert "2.5 nats" in texts(parsed(small_trace().to_svg(tracks=tracks, width="4 cm")), "tracks")
    tracks["loss"] = losses | {"unit": ["W" * 20] * 2}
    assert texts(parsed(small_trace().to_svg(tracks=tracks, width=100)), "tracks")[1:3] == ["loss", "none"]


def test_ticks_keep_their_distance_and_unit() -> None:
    for span in (3, 900, 12_345, 10**7, 10**12):
        found = ticks(0, span, 500)
        assert 2 <= len(found) <= 9
        assert len({tick.label.split(" ")[1] for tick in found}) == 1
        assert len({tick.label for tick in found}) == len(found)


@pytest.mark.thorough
@pytest.mark.collection(SHARED / "h200" / "inception_tf2_60steps_gpu.xplane.pb.xz")
def test_a_large_trace_stays_small() -> None:
    trace = real_trace(SHARED / "h200" / "inception_tf2_60steps_gpu.xplane.pb.xz")
    for width in ("16 cm", "200 cm"):
        assert len(trace.to_svg(width=width)) < MOST_BYTES
