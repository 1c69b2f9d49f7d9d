"""The exported file on its own: gestures, selection, hostile texts, broken parts, sandboxed frames."""

import html
import re
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, expect

from tests.browser.dashboard import COPIES
from tests.browser.timeline import OpenExported, Timeline
from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace, events
from tfvis_nb.core.format import format_duration

REPOSITORY = Path(__file__).parent.parent.parent
TRACE = REPOSITORY / "tests" / "data" / "local_mlp_step1.pb"
LOSS = "SparseSoftmaxCrossEntropyWithLogits"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_trace(TRACE).to_html(tmp_path_factory.mktemp("page") / "page.html")


def test_the_selection_of_python_is_shown_at_once(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(TRACE)
    event = trace.events[trace.events["op"] == LOSS].index[0]
    path = trace.to_html(tmp_path / "page.html", selection=[event])
    expect(exported(path).wait().title).to_have_text(trace.events.loc[event, "name"])


_NOTE_TOPS = """
window.tops = [];
const note = () => {
    const hosts = [...document.querySelectorAll('*')].filter(({ shadowRoot }) => shadowRoot);
    const box = hosts[0]?.shadowRoot.querySelector('[role=application]')?.getBoundingClientRect();
    if (box?.height) window.tops.push(box.top);
    requestAnimationFrame(note);
};
note();
"""


def test_lanes_keep_their_first_position(chromium: Browser, page_file: Path) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.add_init_script(_NOTE_TOPS)
        page.goto(page_file.as_uri())
        timeline = Timeline(page.locator("#tfvis-root")).wait()
        expect(timeline.root.get_by_title(real_trace(TRACE).overview["headline"])).to_be_visible()
        assert len({*page.evaluate("tops")}) == 1


def test_wheel_with_control_zooms_and_backspace_returns(exported: OpenExported, page_file: Path) -> None:
    timeline = exported(page_file).wait()
    event = most_central()
    before = timeline.place(event)
    timeline.page.mouse.move(before[0] - 60, before[1])
    timeline.page.keyboard.down("Control")
    timeline.page.mouse.wheel(0, -400)
    timeline.page.keyboard.up("Control")
    timeline.page.wait_for_function(
        "([host, event, x]) => Math.abs((host.tfvis.locate(event)?.x ?? Infinity) - x) > 20",
        arg=[timeline.host.element_handle(), event, before[0]],
    )
    timeline.lanes.focus()
    timeline.page.keyboard.press("Backspace")
    assert timeline.place(event) == pytest.approx(before, abs=1)


def test_range_is_summed_up_below_the_lanes(exported: OpenExported, page_file: Path) -> None:
    timeline = exported(page_file).wait()
    box = timeline.lanes.bounding_box()
    assert box
    mouse = timeline.page.mouse
    table = timeline.root.get_by_role("region", name="Selected range")
    mouse.move(box["x"] + 100, box["y"] + 30)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 50, steps=6)
    # What opens while a range is dragged would move the lanes away.
    expect(timeline.title).to_contain_text("selected")
    expect(table).to_have_count(0)
    mouse.up()
    rows = table.get_by_role("row").filter(has=timeline.page.get_by_role("cell"))

    def column(title: str) -> list[str]:
        heads = table.get_by_role("columnheader").all_inner_texts()
        return rows.locator(f"td:nth-child({heads.index(title) + 1})").all_inner_texts()

    expect(table.get_by_role("columnheader")).to_have_text(
        ["Op", "Count", "Total", "Self", "Mean", "p50", "p99", "Max", "Durations"]
    )
    counts = [int(text.replace(",", "")) for text in column("Count")]
    assert sum(counts) == int(timeline.expect_fact("Events").replace(",", "")) > 0
    expect(timeline.details.get_by_role("table", name="Time by op")).to_have_count(0)
    table.get_by_role("button", name="Count").click()
    assert [int(text.replace(",", "")) for text in column("Count")] == sorted(counts, reverse=True)

    # The longest event of a row is marked in its histogram, and the table stays.
    rows.first.get_by_role("button").click()
    expect(timeline.title).not_to_contain_text("selected")
    duration = timeline.expect_fact("Duration")
    expect(rows.first.get_by_role("img")).to_have_accessible_name(re.compile(f", selected {duration}$"))
    timeline.lanes.press("Escape")
    expect(table).to_have_count(0)


def test_table_of_a_range_is_copied_as_a_dataframe(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(TRACE)
    start = int(trace.events["start_ns"].min())
    path = trace.to_html(tmp_path / "page.html", selection=(start, start + 10_000_000))
    timeline = exported(path).wait()
    table = timeline.root.get_by_role("region", name="Selected range")
    timeline.page.evaluate(COPIES)
    copy = table.get_by_role("button", name="Copy: Selected range")
    copy.click()
    timeline.root.get_by_role("menuitem", name="as a DataFrame").click()
    timeline.page.wait_for_function("window.copied")
    timeline.page.evaluate("window.copied = ''")
    table.get_by_role("button", name="By name").click()
    copy.click()
    timeline.root.get_by_role("menuitem", name="as a DataFrame").click()
    timeline.page.wait_for_function("window.copied")
    found = eval(timeline.page.evaluate("window.copied"), {"pd": pd})
    events = trace.events[trace.events["start_ns"] < start + 10_000_000]
    wanted = events.groupby("name")["duration_ns"].agg(["count", "sum", "mean", "max"])
    figures = found.set_index("name").loc[wanted.index, ["count", "total_ns", "mean_ns", "max_ns"]]
    assert figures.to_numpy() == pytest.approx(wanted.to_numpy())
    for column, part in (("p50_ns", 0.5), ("p99_ns", 0.99)):
        ranks = events.groupby("name")["duration_ns"].quantile(part, interpolation="higher")
        assert found.set_index("name")[column][wanted.index].tolist() == ranks.tolist()
    timeline.details.get_by_role("button", name="Table").click()
    expect(table).to_have_count(0)


def test_a_range_is_summed_up_by_layer(exported: OpenExported, tmp_path: Path) -> None:
    names = ["net/fc/MatMul", "gradient_tape/net/fc/MatMul/MatMul_1", "net/conv/Conv2D", "plain"]
    times = {"start_ns": [0, 10, 20, 30], "duration_ns": [5, 7, 3, 1]}
    rows = {**times, "name": names, "lane": ["ops"] * 4, "kind": ["op"] * 4}
    trace = Trace(events.build(rows))
    timeline = exported(trace.to_html(tmp_path / "page.html", selection=(0, 100))).wait()
    table = timeline.root.get_by_role("region", name="Selected range")
    table.get_by_role("button", name="By layer").click()
    rows_of_table = table.get_by_role("table", name="Time by layer").locator("tbody tr")
    expect(rows_of_table).to_have_text(
        [re.compile(f"^{text}") for text in ("net/fc212 ns", "net/conv13 ns", "\\(no layer\\)11 ns")]
    )
    plain = Trace(events.build({**rows, "name": ["plain"] * 4}))
    exported(plain.to_html(tmp_path / "page.html", selection=(0, 100))).wait()
    expect(table.get_by_role("button", name="By lane")).to_be_visible()
    expect(table.get_by_role("button", name="By layer")).to_have_count(0)


def test_events_of_one_kind_share_a_row_and_a_name(exported: OpenExported, tmp_path: Path) -> None:
    """One op computes on the CPU and launches on the GPU: two activities of one kind."""
    table = events.build(
        {
            "start_ns": [0, 1000, 2000],
            "duration_ns": [300, 200, 100],
            "name": ["dense/MatMul"] * 3,
            "op": ["MatMul"] * 3,
            "kind": ["op", "op", "kernel"],
            "lane": ["ops", "ops", "stream:1"],
            "device": ["/device:CPU:0", "/device:GPU:0", "/device:GPU:0"],
        }
    )
    path = Trace(table).to_html(tmp_path / "page.html", selection=(0, 3000))
    timeline = exported(path).wait()
    rows = timeline.root.get_by_role("table", name="Time by op").last.locator("tbody tr")
    expect(rows).to_have_text([re.compile("^MatMul op2500 ns"), re.compile("^MatMul kernel1100 ns")])
    rows.first.get_by_role("button").click()
    assert timeline.expect_fact("Same name") == "2 events, 500 ns in total"


@pytest.mark.parametrize("name", ["cpu_tf221_cost_model.pb.xz", "run_meta.v1"])
def test_details_have_the_estimate_of_the_cost_graph(
    exported: OpenExported, tmp_path: Path, name: str
) -> None:
    trace = real_trace(DATA / name)
    row = trace.costs[trace.costs["compute_cost_ns"].notna()].iloc[0]
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    timeline.find(f'name:"{row["name"]}" -op:{row["name"]}')
    expect(timeline.title).to_have_text(row["name"])
    times = [format_duration(row[column]) for column in ("compute_cost_ns", "measured_ns")]
    assert timeline.expect_fact("Cost model") == "{} estimated, {} measured".format(*times)


def test_search_shows_exact_matches_first(exported: OpenExported, tmp_path: Path) -> None:
    name = "gradients/tower_0/a_scope_with_a_long_name/conv2d_grad/Conv2D_12"
    table = events.build(
        {
            "start_ns": [0, 1000, 2000, 3000],
            "duration_ns": [900, 800, 100, 200],
            "op": ["VarHandleOp", "DepthwiseConv2D", "Conv2D", "Conv2D"],
            "name": ["conv2d/kernel", "depthwise", "first", name],
            "lane": ["ops", "ops", "other", "ops"],
            "kind": ["op"] * 4,
        }
    )
    timeline = exported(Trace(table).to_html(tmp_path / "page.html")).wait()
    timeline.search_box.fill("conv2d")
    rows = timeline.details.get_by_role("table", name="Matches").get_by_role("row")
    expect(rows).to_have_count(5)
    shown = [row.split("\t") for row in rows.all_inner_texts()[1:]]
    assert [row[0].replace("\n", "") for row in shown] == [name, "first", "depthwise", "conv2d/kernel"]
    assert [row[1:] for row in shown[:2]] == [["ops", "200 ns"], ["other", "100 ns"]]
    # Its end stays in sight, and the pointer shows all of it.
    cut = rows.nth(1).get_by_role("button")
    expect(cut).to_have_attribute("title", re.compile(name))
    ends = "e => [e.getBoundingClientRect().right, e.querySelector('span').getBoundingClientRect().right]"
    whole, text = cut.evaluate(ends)
    assert text <= whole + 1
    # Enter follows the list, also after the user sorts it.
    for each in (name, "first", "depthwise", "conv2d/kernel", name):
        timeline.search_box.press("Enter")
        expect(timeline.title).to_have_text(each)
    expect(timeline.host.get_by_role("search").get_by_role("status")).to_have_text("1 of 4")
    timeline.details.get_by_role("button", name="Close the details").click()
    timeline.details.get_by_role("button", name="Name", exact=True).click()
    expect(rows.nth(1)).to_contain_text("conv2d/kernel")
    for each in ("conv2d/kernel", "depthwise"):
        timeline.search_box.press("Enter")
        expect(timeline.title).to_have_text(each)


def test_a_sandboxed_frame_shows_it_too(exported: OpenExported, page_file: Path, tmp_path: Path) -> None:
    inside = html.escape(page_file.read_text(encoding="utf-8"), quote=True)
    outer = tmp_path / "outer.html"
    frame = f'<iframe sandbox="allow-scripts" width=900 height=600 srcdoc="{inside}">'
    outer.write_text(f"<!doctype html><title>t</title>{frame}", encoding="utf-8")
    page = exported(outer).page
    framed = page.frame_locator("iframe").locator("#tfvis-root")
    timeline = Timeline(framed).wait()
    timeline.find(f"op:{LOSS}")
    expect(timeline.title).to_contain_text(LOSS)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda text: text.replace('id="tfvis-drawn">', 'id="tfvis-drawn">AAAA'), "cannot be shown"),
        (lambda text: re.sub(r'(id="tfvis-drawn">.{400})[^<]*', r"\1", text), "cannot be shown"),
        (lambda text: text.replace('id="tfvis-drawn"', 'id="elsewhere"'), "tfvis-drawn is missing"),
    ],
    ids=["not gzip", "cut short", "left out"],
)
def test_a_damaged_file_says_so(
    exported: OpenExported, page_file: Path, tmp_path: Path, broken: object, said: str
) -> None:
    assert callable(broken)
    path = tmp_path / "damaged.html"
    path.write_text(broken(page_file.read_text(encoding="utf-8")), encoding="utf-8")
    expect(exported(path).host.get_by_role("alert")).to_contain_text(said)


def test_an_empty_trace_says_so(exported: OpenExported, tmp_path: Path) -> None:
    empty = Trace(events.build({}, rows=0), notes=["the source had no rows"])
    alert = exported(empty.to_html(tmp_path / "page.html")).host.get_by_role("alert")
    expect(alert).to_contain_text("no events")
    expect(alert).to_contain_text("the source had no rows")


def most_central() -> int:
    """An event near the middle of the window, for gestures to be seen by."""
    starts = real_trace(TRACE).events["start_ns"]
    return int((starts - (starts.min() + starts.max()) // 2).abs().idxmin())
