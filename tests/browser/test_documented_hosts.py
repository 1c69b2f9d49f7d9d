"""Colab and VS Code as documented: their frames, their policy, and no kernel after a reload.

Neither runs here. Colab puts the outputs of a cell into a sandboxed frame, which is as high as its content;
widgets in it reach the kernel only in the session that made them. VS Code has all outputs in one page and
draws no widget of an earlier session; its strictest policy is that of ``notebook.experimental.enableCsp``.
"""

import base64
import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

import tfvis_nb
from tests.browser.probe import TRACE, select_longest
from tests.browser.timeline import Timeline
from tests.real_traces import real_trace
from tfvis_nb.display.pages.static_html import static_html
from tfvis_nb.display.stored_output import stored_html

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' https: http: data:; font-src 'self' https:; connect-src https:; child-src https: data:"
)
# What anywidget does with a model, and what Colab does with its frame.
CELL = """<!doctype html><html theme="dark"><body style="margin: 0"><div id="output"></div>
<script type="application/json" id="state">STATE</script><script type="module">
const state = JSON.parse(document.querySelector("#state").textContent);
for (const name of ["_drawn", "_details"])
  state[name] = new DataView(Uint8Array.from(atob(state[name]), (letter) => letter.charCodeAt(0)).buffer);
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value },
  save_changes() {}, on() {}, off() {},
  send() { throw new Error("Cannot send") },
};
const code = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
const { default: widget } = await import(code);
widget.render({ model, el: document.querySelector("#output") });
new ResizeObserver(() => parent.postMessage(document.body.scrollHeight, "*")).observe(document.body);
</script>"""
FRAME = """<iframe sandbox="allow-scripts allow-downloads" style="width: 100%; height: 0; border: 0"></iframe>
<script>
addEventListener("message", ({ data }) => { document.querySelector("iframe").style.height = `${data}px` });
</script>"""


@pytest.fixture
def colab(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The part of Colab's Python that anywidget calls."""
    output = ModuleType("google.colab.output")
    vars(output)["enable_custom_widget_manager"] = lambda: None
    vars(output)["_widgets"] = SimpleNamespace(_installed_url="https://ssl.gstatic.com/manager.js")
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    return output


def test_a_frame_of_colab_is_as_high_as_the_timeline(page: Page, colab: ModuleType) -> None:
    widget = tfvis_nb.show_timeline(real_trace(TRACE), height=300)
    bundle, metadata = widget._repr_mimebundle_()
    view = "application/vnd.jupyter.widget-view+json"
    assert view in bundle
    assert metadata[view]["colab"]["custom_widget_manager"]["url"] == colab._widgets._installed_url
    packed = {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in widget.get_state().items()
    }
    page.set_content(FRAME)
    text = json.dumps(packed).replace("<", "\\u003c")
    page.locator("iframe").evaluate("(frame, text) => { frame.srcdoc = text }", CELL.replace("STATE", text))
    timeline = Timeline(page.frame_locator("iframe").locator(".tfvis-nb")).wait()
    expect(timeline.root).to_have_attribute("data-theme", "dark")
    height = page.locator("iframe").evaluate("frame => frame.clientHeight")
    assert height == pytest.approx(timeline.host.bounding_box()["height"], abs=2)  # type: ignore[index]
    assert height == 300
    # Where nothing is marked, the theme is that of the ground.
    body = page.frame_locator("iframe").locator("body")
    for theme, ground in (("light", "#fafafa"), ("dark", "#202020")):
        body.evaluate("body => body.parentElement.removeAttribute('theme')")
        body.evaluate("(body, ground) => { body.style.background = ground }", ground)
        expect(timeline.root).to_have_attribute("data-theme", theme)
    # Colours of JupyterLab's other theme are not taken.
    light = "--jp-layout-color0: #fff; --jp-ui-font-color0: #000"
    body.evaluate("(body, light) => { body.parentElement.style.cssText = light }", light)
    expect(timeline.root).to_have_css("color", "rgb(230, 232, 236)")
    # Without the kernel of the session it still shows its details; what needs the kernel says what to do.
    timeline.find("op:MatMul")
    expect(timeline.title).to_contain_text("MatMul")
    timeline.host.get_by_role("button", name="Export").click()
    timeline.host.get_by_role("menuitem", name="Chrome trace").click()
    expect(timeline.host.get_by_text("run the cell again")).to_be_visible()


@pytest.mark.parametrize("framed", [False, True])
def test_outputs_of_vs_code_after_a_reload(page: Page, framed: bool) -> None:
    trace = real_trace(TRACE)
    still = static_html(trace, title=trace.title)
    output = stored_html("a", still, trace.to_html() if framed else "", height=400)
    page.set_content(
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<style>#container { overflow: hidden } #container > * { overflow-x: scroll }</style>"
        f'<body class="vscode-dark"><div id="container"><div>{output}</div></div>'
    )
    if framed:
        shown = page.frame_locator("iframe").locator("#tfvis-root")
        timeline = Timeline(shown).wait()
        expect(timeline.root).to_have_attribute("data-theme", "dark")
        assert page.locator("iframe").evaluate("frame => frame.clientHeight") == 400
        select_longest(timeline)
    expect(page.get_by_role("img", name="Activity of each lane")).to_be_visible(visible=not framed)
    expect(page.get_by_text("Run the cell again for the interactive view.")).to_be_visible(visible=not framed)
