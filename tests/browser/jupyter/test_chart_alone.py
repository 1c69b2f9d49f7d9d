"""A chart as the last expression of a cell, in a real notebook: drawn with nothing fetched from anywhere."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import tfvis_nb
from tests.browser.notebook import OpenNotebook
from tests.real_traces import DATA

TRACE = DATA / "gpu_tf221_mlp.pb.xz"
READ = f"import tfvis_nb as tv\ntrace = tv.read_trace({str(TRACE)!r})"
TITLE = "Step time breakdown (ms)"


@pytest.mark.thorough
def test_the_last_expression_is_drawn_and_follows_the_theme(notebook: OpenNotebook) -> None:
    # A request of the page to a foreign address fails the test; see conftest.py.
    opened = notebook([READ, "trace.charts.breakdown()", "trace.charts.memory()"])
    opened.run_all()
    for index, title in [(1, TITLE), (2, "Memory allocated")]:
        chart = opened.output(index).get_by_role("img", name=title)
        expect(chart).to_have_attribute("data-drawn", "true")
        box = chart.locator("canvas").first.bounding_box()
        assert box
        assert box["width"] > 400
        assert box["height"] > 80

    chart = opened.output(1).get_by_role("img", name=TITLE)
    region = opened.output(1).get_by_role("region", name="Chart")
    expect(region).to_have_attribute("data-theme", "light")
    opened.command("apputils:change-theme", {"theme": "JupyterLab Dark"})
    expect(region).to_have_attribute("data-theme", "dark")
    # Axes and titles have the colours of the page: light letters on a dark background.
    brightest = """canvas => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let most = 0;
        for (let at = 0; at < data.length; at += 4)
            if (data[at + 3] === 255) most = Math.max(most, Math.min(data[at], data[at + 1], data[at + 2]));
        return most;
    }"""
    opened.wait_until(lambda: chart.locator("canvas").first.evaluate(brightest) > 200)
    opened.command("apputils:change-theme", {"theme": "JupyterLab Light"})


def test_late_attached_charts_have_the_theme_of_the_page(page: Page) -> None:
    # As in Notebook 7.6.
    page.set_content("<style>:root { --jp-layout-color0: #111 }</style><main></main>")
    render = """async (code) => {
        const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
        const traits = { _link: "", _bokeh: "", title: "Chart", _item: "{}", _stored: "" };
        const model = { get: (name) => traits[name], on() {}, off() {}, send() {} };
        const el = document.createElement("div");
        (await import(url)).default.render({ model, el });
        document.querySelector("main").append(el);
    }"""
    page.evaluate(render, Path(tfvis_nb.__path__[0], "static", "chart.js").read_text(encoding="utf-8"))
    expect(page.get_by_role("region", name="Chart")).to_have_attribute("data-theme", "dark")
