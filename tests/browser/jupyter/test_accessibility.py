"""A notebook checked by axe-core: only our elements, in JupyterLab's themes."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.audit import WCAG, violations
from tests.browser.notebook import OpenNotebook
from tests.real_traces import DATA
from tests.serving.conftest import write_session
from tests.support.fleet_dataset import fleet_dataset

THEME = "apputils:change-theme"


def test_widgets_have_no_violation(notebook: OpenNotebook, tmp_path: Path) -> None:
    dataset = fleet_dataset(tmp_path)
    write_session(tmp_path / "run.tfvis")
    book = notebook(
        [
            "import tfvis_nb",
            f"tfvis_nb.show_timeline({str(DATA / 'gpu_tf221_mlp.pb.xz')!r})",
            f"tfvis_nb.show_fleet({str(dataset.path)!r})",
            f"tfvis_nb.open_session({str(tmp_path / 'run.tfvis')!r}).monitor()",
        ]
    )
    book.run_all()
    page = book.page
    page.emulate_media(reduced_motion="reduce")
    timeline = book.timeline(1)
    timeline.find("op:MatMul kind:op")
    expect(timeline.title).to_contain_text("MatMul")
    fleet = book.fleet(2)
    monitor = book.monitor(3)
    expect(monitor.signature("train")).to_be_visible()
    for theme, mark in (("JupyterLab Light", "light"), ("JupyterLab Dark", "dark")):
        book.command(THEME, {"theme": theme})
        for root in (timeline.root, fleet.root.locator("[data-theme]"), monitor.host.locator("[data-theme]")):
            expect(root.first).to_have_attribute("data-theme", mark)
        for name in ("", "-fleet", "-panels", "-monitor"):
            within = f".jp-OutputArea .tfvis-nb{name}"
            page.locator(within).first.scroll_into_view_if_needed()
            assert (found := violations(page, within, WCAG)) == [], f"{within}, {theme}: {found}"
    book.command(THEME, {"theme": "JupyterLab Light"})
    page.emulate_media(reduced_motion="no-preference")
