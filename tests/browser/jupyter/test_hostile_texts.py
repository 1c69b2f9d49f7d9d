"""Names that are markup, templates or scripts, in an exported file and in a notebook."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.notebook import OpenNotebook
from tests.browser.timeline import OpenExported
from tests.hostile_names import HOSTILE, hostile_trace
from tests.real_traces import DATA

SHOW_HOSTILE = f"""
import sys
sys.path.insert(0, {str(DATA.parent.parent)!r})
from tests.hostile_names import hostile_trace
import tfvis_nb
tfvis_nb.show_timeline(hostile_trace())
"""
LABELS = [f"{text} = {text}({text})" for text in HOSTILE]


@pytest.mark.parametrize("place", ["exported file", pytest.param("notebook", marks=pytest.mark.thorough)])
def test_hostile_texts_are_shown_and_run_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, place: str
) -> None:
    if place == "exported file":
        exported: OpenExported = request.getfixturevalue("exported")
        timeline = exported(Path(hostile_trace().to_html(tmp_path / "page.html"))).wait()
    else:
        open_notebook: OpenNotebook = request.getfixturevalue("notebook")
        book = open_notebook([SHOW_HOSTILE])
        book.run_all()
        timeline = book.timeline(0)
    shown: list[str] = []
    for _ in HOSTILE:
        before = timeline.title.text_content()
        timeline.lanes.press("ArrowDown")
        expect(timeline.title).not_to_have_text(before or "")
        # In a notebook the text below the title may come a moment later.
        written = timeline.details.locator("pre")
        expect(written).to_be_visible()
        if shown:
            expect(written).not_to_have_text(shown[-1])
        label = written.text_content() or ""
        shown.append(label)
        # The tooltip shows the same texts.
        timeline.page.mouse.move(*timeline.place(LABELS.index(label)))
    assert sorted(shown) == sorted(LABELS)
    timeline.find("alert(1)")
    expect(timeline.root.get_by_role("search")).to_contain_text("of")
    # Had one of them run, its alert would fail the watch on the page.
