"""A timeline for screen readers: names, roles, and announcements of changes."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_annotations import annotated
from tests.browser.timeline import OpenExported, Timeline

PAGE = """
- main:
  - heading "local_mlp_step1.pb" [level=1]
  - region "Timeline of local_mlp_step1.pb":
    - search:
      - textbox "Search ops, tensors, lanes"
    - button "View"
    - button "Details" [pressed]
    - img "Activity over time"
    - textbox "Filter lanes"
    - img /^Time axis, .+ to .+ ms$/
    - list "Annotations in view":
      - listitem:
        - button "a range"
    - group "Lanes":
      - button "CPU:0 63 events" [expanded]
      - button "2 rows of CPU:0 ops" [expanded]
      - button "mklcpu peak 1.27 MiB"
    - application "63 events in 1 lane over 10.4 ms"
    - separator "Width of the labels"
    - complementary "Details of local_mlp_step1.pb":
      - heading "Whole run" [level=2]
      - button "Close the details"
      - region "Annotations":
        - heading "Annotations (2)" [level=3]
      - region "Findings":
        - group:
          - table "Time by op":
            - rowgroup:
              - row "Op Count Busy":
                - columnheader "Busy":
                  - button "Busy"
          - region "Idle time in steps by cause, CPU:0":
            - table "Idle time in steps by cause, CPU:0"
    - group "Legend":
      - button "host compute"
"""


@pytest.fixture
def timeline(exported: OpenExported, tmp_path: Path) -> Timeline:
    return exported(annotated().to_html(tmp_path / "page.html")).wait()


def test_names_and_roles(timeline: Timeline) -> None:
    timeline.details.get_by_text(re.compile("^More f")).click()
    timeline.root.get_by_role("group", name="Lanes").hover()
    expect(timeline.page.locator("body")).to_match_aria_snapshot(PAGE)
    expect(timeline.lanes).to_have_accessible_description(
        "Arrow keys go from event to event, ? lists all keys."
    )
    toggle = timeline.root.get_by_role("button", name="2 rows of CPU:0 ops")
    toggle.press("Enter")
    expect(toggle).to_have_attribute("aria-expanded", "false")


def test_screen_readers_read_the_view_and_the_selection(timeline: Timeline) -> None:
    announcer = timeline.root.locator("[data-part=announcer] > [aria-live=polite]").first
    expect(announcer).to_have_text("")
    # Only keys in the lanes move the view without visible focus.
    timeline.lanes.press("+")
    expect(announcer).to_contain_text("In view: ")
    times = (announcer.text_content() or "").removeprefix("In view: ")
    axis = timeline.root.get_by_role("img", name="Time axis")
    expect(axis).to_have_attribute("aria-label", f"Time axis, {times}")
    timeline.find("name:gradients/MatMul_grad/MatMul_1")
    expect(timeline.status.last).to_have_text(
        "gradients/MatMul_grad/MatMul_1, _MklMatMul, 5.39 ms, on CPU:0 · ops; annotated the longest"
    )
