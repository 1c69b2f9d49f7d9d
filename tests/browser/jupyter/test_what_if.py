"""The tab of predictions in a notebook: the kernel predicts while the slider is dragged."""

import re

from playwright.sync_api import expect

from tests.browser.notebook import OpenNotebook
from tests.real_traces import DATA
from tfvis_nb.core.format import format_duration
from tfvis_nb.texts import Text

TRACE = DATA / "gpu_tf221_mlp.pb.xz"
PREDICT = "print(shown.trace.what_if(activities={'launch': %s}).times['predicted_ns'][0])"


def test_the_slider_changes_the_predicted_step(notebook: OpenNotebook) -> None:
    book = notebook(["import tfvis_nb", f"shown = tfvis_nb.show_dashboard({str(TRACE)!r})\nshown"])
    book.run_all()
    shown = book.dashboard(1).wait()
    panel = shown.tab("What if")
    slider, status = panel.get_by_role("slider"), panel.locator(".what-if [role=status]")
    recorded, predicted = (
        panel.get_by_role("img", name=re.compile(f"^{name}")) for name in ("Recorded", "Predicted")
    )
    before = (recorded.get_attribute("aria-label") or "").partition(":")[2]
    expect(predicted).to_have_attribute("aria-label", f"Predicted:{before}")
    opens = panel.get_by_role("button", name="Open predicted timeline")
    expect(opens).to_be_disabled()
    for key, factor in (("Home", 0), ("End", 2)):
        slider.press(key)
        expect(slider).to_have_attribute("aria-valuetext", re.compile(f"^{factor} "))
        then = format_duration(int(book.ask(PREDICT % factor)))
        expect(status).to_contain_text(then.replace(" ", "\u00a0"))
        expect(status).to_have_attribute("aria-busy", "false")
        expect(predicted).not_to_have_attribute("aria-label", f"Predicted:{before}")
    panel.get_by_role("combobox", name="What changes").select_option("kernels")
    expect(panel.get_by_role("combobox", name="Kernel").get_by_role("option")).not_to_have_count(0)
    said = status.inner_text()
    opens.click()
    opened = book.timeline(1, 1)
    expect(opened.root.locator(".toolbar .predicted")).to_have_attribute("title", re.compile("2$"))
    expect(status).not_to_have_text(said)
    book.ask("import tfvis_nb.display.tabs.what_if as tab; tab.MOST_EVENTS = 1")
    slider.press("Home")
    expect(status).to_contain_text(Text("too_large_to_predict", events=178, most=1))


def test_its_settings_survive_a_rerun(notebook: OpenNotebook) -> None:
    book = notebook(["import tfvis_nb", f"tfvis_nb.show_dashboard({str(TRACE)!r})"])
    book.run_all()
    panel = book.dashboard(1).wait().tab("What if")
    panel.get_by_role("combobox", name="What changes").select_option("kernels")
    kernel = panel.get_by_role("combobox", name="Kernel")
    chosen = kernel.get_by_role("option").nth(1).get_attribute("value") or ""
    kernel.select_option(chosen)
    panel.get_by_role("slider").press("Home")
    status = panel.locator(".what-if [role=status]")
    expect(status).to_contain_text("instead of")
    predicted = status.inner_text()
    book.run_all()
    # The tab is in front again, and shows the same prediction.
    panel = book.dashboard(1).wait().panels.get_by_role("tabpanel", name="What if")
    expect(panel.get_by_role("combobox", name="Kernel")).to_have_value(chosen)
    expect(panel.get_by_role("slider")).to_have_value("0")
    expect(panel.locator(".what-if [role=status]")).to_have_text(predicted)
