"""A notebook whose kernel has ended: the stored part of a timeline."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Lab
from tests.browser.dashboard import MEMORY
from tests.browser.jupyter_server import JupyterServer
from tests.browser.notebook import Notebook, OpenNotebook
from tests.real_traces import DATA
from tests.support.fleet_dataset import fleet_dataset

TRACE = DATA / "local_mlp_step1.pb"
PICTURE = 'img[alt^="Activity of each lane"]'
WORDS = ".jp-RenderedMarkdown"
NOT_FOUND = "model not found"
# Run a script as often as JupyterLab draws its output; whether each listener for messages is taken off again.
LISTENERS = """(code) => {
    const signals = [];
    const add = window.addEventListener;
    window.addEventListener = (type, listener, options) => {
        if (type === "message") signals.push(options?.signal);
        add.call(window, type, listener, options);
    };
    for (let time = 0; time < 3; time++)
        document.head.append(Object.assign(document.createElement("script"), { textContent: code }));
    window.addEventListener = add;
    return signals.map((signal) => signal?.aborted);
}"""


def shown(notebook: OpenNotebook, call: str) -> Notebook:
    """Run a cell that shows the trace."""
    book = notebook([f"import tfvis_nb as tv\ntv.{call}"])
    book.run_all()
    expect(book.timeline(0).root).to_be_visible()
    expect(book.output(0).locator(WORDS)).to_have_count(0)
    return book


def opened_again(book: Notebook, jupyter: JupyterServer) -> Locator:
    """End the kernel of a saved notebook, open it again, and return the output of the cell."""
    assert "text/markdown" in json.loads(book.path.read_text())["cells"][0]["outputs"][0]["data"]
    jupyter.end_kernels()
    book.open()
    output = book.output(0)
    expect(output.locator("[class*=tfvis-stored]")).to_be_attached()
    expect(output.locator(WORDS)).to_have_count(0)
    return output


def test_the_timeline_is_there_without_its_kernel(
    notebook: OpenNotebook, lab: Lab, jupyter: JupyterServer
) -> None:
    book = shown(notebook, f"show_timeline({str(TRACE)!r}, height=300)")
    output = book.output(0)
    expect(output.locator("iframe")).to_have_count(1)
    expect(output.locator("iframe")).to_be_hidden()
    expect(output.locator(PICTURE)).to_be_hidden()
    book.command("docmanager:save")
    output = opened_again(book, jupyter)
    # JupyterLab also logs it as an error.
    expect(output.get_by_text(NOT_FOUND)).to_have_count(1)
    lab.shown[-1].forget()
    expect(output.get_by_text(NOT_FOUND)).to_be_hidden()
    kept = json.loads(book.path.read_text())["cells"][0]["outputs"]
    html = next(text for each in kept if "<script>" in (text := "".join(each["data"].get("text/html", ""))))
    script = html.rpartition("<script>")[2].partition("</script>")[0]
    assert book.page.evaluate(LISTENERS, script) == [True, True, False]
    frame = output.frame_locator("iframe")
    frame.get_by_role("textbox", name="Search").fill("op:Relu")
    frame.get_by_role("textbox", name="Search").press("Enter")
    expect(frame.get_by_role("complementary", name="Details").locator("h2")).to_contain_text("Relu")
    for theme in ("Dark", "Light"):
        book.command("apputils:change-theme", {"theme": f"JupyterLab {theme}"})
        expect(frame.get_by_role("region", name="Timeline")).to_have_attribute("data-theme", theme.lower())
    # As in a page that Sphinx makes of a notebook.
    book.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    expect(frame.get_by_role("region", name="Timeline")).to_have_attribute("data-theme", "dark")
    book.page.evaluate("delete document.documentElement.dataset.theme")
    book.run(0)
    expect(book.timeline(0).root).to_be_visible()
    expect(output.locator("iframe")).to_be_hidden()


def test_a_dashboard_is_there_with_its_tabs(notebook: OpenNotebook, lab: Lab, jupyter: JupyterServer) -> None:
    book = notebook([f"import tfvis_nb as tv\nshown = tv.show_dashboard({str(TRACE)!r}, height=300)\nshown"])
    book.run_all()
    book.dashboard(0).wait()
    frame = book.output(0).locator("iframe")
    # The page with the tabs comes when they are computed.
    book.wait_until(lambda: "tfvis-tabs" in (frame.get_attribute("srcdoc") or ""))
    book.command("docmanager:save")
    output = opened_again(book, jupyter)
    expect(output.get_by_text(NOT_FOUND)).to_have_count(1)
    lab.shown[-1].forget()
    page = output.frame_locator("iframe")
    page.get_by_role("tab", name="Memory").click()
    expect(page.get_by_role("img", name=MEMORY)).to_have_attribute("data-drawn", "true")
    page.get_by_role("tab", name="Ops").click()
    rows = page.get_by_role("table", name="By op type").locator("tbody tr")
    rows.first.locator("td").nth(3).click(force=True)
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    box = output.locator("iframe").bounding_box()
    assert box
    assert box["height"] == 740


def test_a_comparison_and_a_fleet_are_there_with_their_tabs(
    notebook: OpenNotebook, lab: Lab, jupyter: JupyterServer, tmp_path: Path
) -> None:
    calls = (f"comparison({str(TRACE)!r}, {str(TRACE)!r})", f"fleet({str(fleet_dataset(tmp_path).path)!r})")
    book = notebook([f"import tfvis_nb as tv\ntv.show_{call}" for call in calls])
    book.run_all()
    for index in range(len(calls)):
        expect(book.output(index).locator("iframe")).to_have_attribute("srcdoc", re.compile("tfvis-tabs"))
    book.command("docmanager:save")
    upper = opened_again(book, jupyter).frame_locator("iframe")
    upper.get_by_role("tab", name="Ops").click()
    expect(upper.get_by_role("table", name="Differences by op")).to_be_visible()
    expect(upper.get_by_role("region", name="Timeline")).to_have_count(2)
    lower = book.output(1).frame_locator("iframe")
    expect(lower.get_by_role("slider")).to_have_attribute("aria-label", "Step time: 4 tasks, 24 steps")
    expect(lower.get_by_role("table", name="Slowest steps")).to_be_visible()
    expect(book.page.get_by_text(NOT_FOUND)).to_have_count(2)
    lab.shown[-1].forget()


def test_annotations_after_a_reload_are_saved(
    notebook: OpenNotebook, lab: Lab, jupyter: JupyterServer
) -> None:
    book = shown(notebook, f"show_timeline({str(TRACE)!r}, height=300)")
    for op in ("Relu", "MatMul"):
        # JupyterLab forgets which output is to be updated.
        book.command("docmanager:save")
        book.open()
        timeline = book.timeline(0)
        timeline.find(f"op:{op}")
        timeline.lanes.focus()
        book.page.keyboard.press("n")
        book.page.keyboard.type(f"note on {op}")
        book.page.keyboard.press("Enter")
        frame = book.output(0).locator("iframe")
        expect(frame).to_have_attribute("srcdoc", re.compile(f"note on {op}"))
        expect(timeline.root.get_by_role("alert")).to_have_count(0)
    book.command("docmanager:save")
    output = opened_again(book, jupyter)
    expect(output.get_by_text(NOT_FOUND)).to_have_count(1)
    lab.shown[-1].forget()
    page = output.frame_locator("iframe")
    page.get_by_role("button", name="2 annotations").click()
    notes = page.get_by_role("region", name="Annotations")
    for op in ("Relu", "MatMul"):
        expect(notes).to_contain_text(f"note on {op}")


@pytest.mark.thorough
def test_the_picture_is_there_where_the_notebook_is_not_trusted(
    notebook: OpenNotebook, jupyter: JupyterServer
) -> None:
    book = shown(notebook, f"show_timeline({str(TRACE)!r}, height=300)")
    expect(book.output(0).locator("iframe")).to_have_count(1)
    book.command("docmanager:save")
    document = json.loads(book.path.read_text())
    # As if somebody else had sent it.
    document["cells"][0]["outputs"][0]["data"]["text/html"] += " "
    book.path.write_text(json.dumps(document))
    output = opened_again(book, jupyter)
    expect(output.locator(PICTURE)).to_be_visible()
    expect(output.locator("iframe")).to_have_count(0)
