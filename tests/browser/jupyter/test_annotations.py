"""Annotations between the timeline in JupyterLab and Python, and in the notebook's file."""

import json
import re

from playwright.sync_api import expect

from tests.browser.notebook import OpenNotebook
from tests.real_traces import DATA

SHOW = f"""
import tfvis_nb as tv
widget = tv.show_timeline({str(DATA / "local_mlp_step1.pb")!r}, height=420)
widget
"""


READ = f"""
import tfvis_nb as tv
trace = tv.read_trace(globals().get("path", {str(DATA / "local_mlp_step1.pb")!r}))
"""


def test_they_go_both_ways_and_into_the_file(notebook: OpenNotebook) -> None:
    book = notebook([SHOW])
    book.run_all()
    timeline = book.timeline(0)
    timeline.find("op:Relu")
    timeline.lanes.focus()
    before = book.cells
    book.page.keyboard.press("n")
    book.page.keyboard.type("a and b, slow")
    book.page.keyboard.press("Enter")
    notes = timeline.details.get_by_role("region", name="Annotations")
    expect(notes).to_contain_text("a and b, slow")
    assert book.cells == before
    # Timelines and tables follow each other.
    ask = """
notes = widget.trace.annotations
print(notes[['kind', 'name']].values.tolist(), [*notes['event']] == [*widget.selection.index])
"""
    book.wait_until(lambda: book.ask(ask) == "[['event', 'a and b, slow']] True")
    book.ask("""
table = widget.annotations
table.loc[0, ['name', 'text']] = ['renamed', 'by Python']
start = int(widget.trace.events.start_ns.iloc[0])
widget.annotations = [*table.to_dict('records'), {'start_ns': start, 'name': 'the start'}]
""")
    expect(notes).to_contain_text("by Python")
    timeline.clear()
    flags = timeline.root.get_by_role("list", name="Annotations in view")
    expect(flags.get_by_role("listitem").first).to_have_text("the start")
    axis = timeline.root.get_by_role("img", name="Time axis")
    book.ask("widget.view = {'start_ns': start, 'end_ns': start + 4_000_000}")
    expect(axis).to_have_attribute("aria-label", "Time axis, +0 ns to +4.000 ms")
    timeline.lanes.focus()
    book.page.keyboard.press("w")
    book.wait_until(lambda: book.ask("print(widget.view['end_ns'] < start + 4_000_000)") == "True")
    # Named views and own tracks likewise.
    timeline.lanes.focus()
    before = book.cells
    book.page.keyboard.press("v")
    expect(timeline.root.get_by_role("textbox", name="Name of this view")).to_be_focused()
    book.page.keyboard.type("zoomed in")
    book.page.keyboard.press("Enter")
    assert book.cells == before
    book.wait_until(lambda: book.ask("print(list(widget.views))") == "['zoomed in']")
    book.ask("widget.views = {**widget.views, 'all': {'end_ns': start + 4_000_000}}")
    book.ask("widget.add_track('phases', {'start_ns': [start], 'duration_ns': [9_000], 'name': ['load']})")
    expect(timeline.root.get_by_role("button", name="phases, 1 bar")).to_be_visible()
    timeline.root.get_by_role("button", name="View", exact=True).click()
    timeline.root.get_by_role("dialog", name="View").get_by_role("button", name="all", exact=True).click()
    book.wait_until(lambda: book.ask("print(widget.view['end_ns'] == start + 4_000_000)") == "True")
    # The file has them for whoever opens it without a kernel.
    book.command("docmanager:save")
    cell = next(cell for cell in json.loads(book.path.read_text("utf-8"))["cells"] if "outputs" in cell)
    stored = json.dumps(cell["outputs"])
    assert "renamed: by Python" in stored
    assert "the start" in stored
    assert "zoomed in" in stored
    assert "phases" in stored


def test_they_survive_run_all(notebook: OpenNotebook) -> None:
    book = notebook([READ, "tv.show_timeline(trace, height=420)"])
    book.run_all()
    timeline = book.timeline(1)
    timeline.find("op:Relu")
    timeline.lanes.focus()
    book.page.keyboard.press("n")
    book.page.keyboard.type("slow")
    book.page.keyboard.press("Enter")
    book.wait_until(lambda: book.ask("print(*trace.annotations['name'])") == "slow")
    for _ in range(2):
        book.run_all()
        flags = book.timeline(1).root.get_by_role("list", name="Annotations in view")
        expect(flags.get_by_role("listitem")).to_have_text(["slow"])
        assert book.ask("print(*trace.annotations['name'])") == "slow"
    # Another trace, such as one that was recorded anew.
    book.ask(f"path = {str(DATA / 'gpu_tf221_mlp.pb.xz')!r}")
    book.run(0)
    book.run(1)
    flags = book.timeline(1).root.get_by_role("list", name="Annotations in view")
    expect(flags.get_by_role("listitem")).to_have_count(0)
    output = book.output(1)
    expect(output).to_contain_text("1 annotation of the last run does not fit this trace: slow.")
    code = re.findall(r"tfvis_nb.show_timeline\(.*\)", output.inner_text())[0]
    shown = f"import tfvis_nb\nshown = {code}\nprint(*shown.annotations['name'])"
    assert book.ask(shown) == "slow"
