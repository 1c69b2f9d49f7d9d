"""Words, controls and the lanes' share of the height of opened timelines and dashboards, at 1280 x 800."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from benchmarks.table import Row, bounded, show
from benchmarks.watching import launched
from tfvis_nb import Trace, read_trace, show_dashboard, show_timeline

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
TRACES = (
    "local_mlp_step1.pb",
    "gpu_tf221_dist.pb.xz",
    "gpu_tf218_function.xplane.pb.xz",
    "cpu_tf221_keras_fit.xplane.pb.xz",
    "horovod_timeline.json.xz",
)
WORDS, CONTROLS = 150, 30
SETTLES_MS = 1500

_VISIBLE = r"""() => {
    const controls = 'button,a[href],input,select,textarea,summary,[role=button],[role=tab],[role=link],'
        + '[role=checkbox],[role=slider],[role=menuitem],[role=option],[role=combobox]';
    const parent = (node) => node.parentElement ?? node.getRootNode().host;
    const isSeen = (element, box) => {
        if (!element.checkVisibility({ visibilityProperty: true })) return false;
        let { left, top, right, bottom } = box;
        for (let each = element; each; each = parent(each)) {
            if (each.ariaHidden === 'true') return false;
            if (!/auto|scroll|hidden|clip/.test(getComputedStyle(each).overflow)) continue;
            const frame = each.getBoundingClientRect();
            left = Math.max(left, frame.left);
            top = Math.max(top, frame.top);
            right = Math.min(right, frame.right);
            bottom = Math.min(bottom, frame.bottom);
        }
        // What only screen readers have is one pixel.
        return Math.min(right, innerWidth) - Math.max(left, 0) > 2
            && Math.min(bottom, innerHeight) - Math.max(top, 0) > 2;
    };
    const found = { words: 0, controls: 0 };
    const walk = (node) => {
        if (node instanceof Text && !/SCRIPT|STYLE|TEMPLATE/.test(node.parentElement?.tagName ?? 'STYLE')) {
            const range = document.createRange();
            range.selectNodeContents(node);
            if (isSeen(node.parentElement, range.getBoundingClientRect()))
                found.words += node.data.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
        }
        if (node instanceof Element) {
            if (node.matches(controls) && isSeen(node, node.getBoundingClientRect())) found.controls += 1;
            if (node.shadowRoot) walk(node.shadowRoot);
        }
        for (const child of node.childNodes) walk(child);
    };
    walk(document);
    return found;
}"""


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="*", help="traces counted as well")
    parser.add_argument("--against", type=Path, help="a base of these traces, counted instead of the others")
    arguments = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launched(playwright)
        base = None if arguments.against is None else read_trace(arguments.against)
        for path in [*(DATA / name for name in TRACES if base is None), *arguments.files]:
            trace = read_trace(path)
            for kind in ("timeline", "dashboard"):
                page = Path(folder) / f"{kind}.html"
                _write(trace, base, kind, page)
                rows += _rows(f"{path.name}, {kind}", _counted(browser, page))
        browser.close()
    show("Opened pages at 1280 x 800", rows)


def _write(trace: Trace, base: Trace | None, kind: str, page: Path) -> None:
    show = show_timeline if kind == "timeline" else show_dashboard
    show(trace, against=base).to_html(page)


def _counted(browser: Browser, path: Path) -> dict[str, Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(path.as_uri())
    lanes = page.get_by_role("application").first
    lanes.wait_for()
    page.wait_for_timeout(SETTLES_MS)
    box = lanes.bounding_box()
    assert box is not None
    counted: dict[str, Any] = page.evaluate(_VISIBLE)
    page.close()
    return {**counted, "height": box["height"] / 800}


def _rows(what: str, counted: dict[str, Any]) -> list[Row]:
    return [
        bounded(what, counted["words"], "words", WORDS),
        bounded(what, counted["controls"], "controls", CONTROLS),
        Row(f"{what}, lanes", f"{counted['height']:.0%} of the height", "", "", "", kept=True),
    ]


if __name__ == "__main__":
    main()
