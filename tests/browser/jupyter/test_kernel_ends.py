"""Timelines whose kernel restarts, is shut down or dies while they are shown."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Lab
from tests.browser.notebook import OpenNotebook
from tests.real_traces import DATA

SHOW = f"import tfvis_nb as tv\ntv.show_timeline({str(DATA / 'local_mlp_step1.pb')!r}, height=420)"
SESSION = "window.jupyterapp.shell.currentWidget.sessionContext"
ENDS = {
    "restart": f"{SESSION}.session.kernel.restart()",
    "shutdown": f"{SESSION}.shutdown()",
    "death": f"{{ {SESSION}.session.kernel.requestExecute({{ code: 'import os; os._exit(1)' }}); }}",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_timeline_says_that_its_kernel_has_ended(notebook: OpenNotebook, lab: Lab, end: str) -> None:
    book = notebook([SHOW])
    book.run_all()
    timeline = book.timeline(0)
    book.page.evaluate(f"() => {ENDS[end]}")
    alert = timeline.root.get_by_role("alert")
    expect(alert).to_have_text(re.compile("The kernel has ended"))
    # The output beside an open file browser.
    timeline.host.evaluate("host => (host.style.width = '848px')")
    assert alert.evaluate("each => each.scrollWidth <= each.clientWidth")
    timeline.host.evaluate("host => (host.style.width = '')")
    if end == "death":
        book.page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
    # What needs no kernel goes on, and what needs one does not wait.
    timeline.find("op:Relu")
    expect(timeline.title).to_contain_text("Relu")
    timeline.root.get_by_role("button", name="Export").click()
    timeline.root.get_by_role("menuitem", name="Offline page").click()
    expect(timeline.root.get_by_role("alert")).to_have_text(re.compile("Export failed: the kernel has ended"))
    # JupyterLab logs that it lost the kernel.
    lab.shown[-1].forget()
