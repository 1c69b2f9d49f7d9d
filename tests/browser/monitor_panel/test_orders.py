"""The monitor's panel: requests and rules for one signature or all."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

import tfvis_nb as tv
from tests.browser.monitor import Monitor
from tfvis_nb.session.file.writer import Writer


@pytest.mark.thorough
def test_orders_for_one_signature(monitor: Monitor, path: Path) -> None:
    monitor.signature("train").get_by_role("button", name="train", exact=True).click()
    expect(monitor.details.get_by_role("img", name="2 of traced runs")).to_be_visible()
    form = monitor.details.locator("form")
    number = form.get_by_role("spinbutton", name="Number of runs")
    number.fill("0")
    expect(form).to_contain_text("a whole number of runs, 1 or more")
    expect(form.get_by_role("button", name="Apply")).to_be_disabled()
    number.fill("250")
    number.press("Enter")
    expect(monitor.signature("train")).to_contain_text("every 250")
    with tv.open_session(path) as session:
        assert session.signatures["rule"].tolist() == ["", "every 250", ""]

        # Nobody records now: a request that was made before waits.
        for name in ("Trace its next run", "Trace next run of train", "Trace next run"):
            expect(monitor.region.get_by_role("button", name=name, exact=True)).to_be_disabled()
        session.trace_next("train")
        expect(monitor.details).to_contain_text("will be traced when a job records again")
        assert session.signatures["requested"].tolist() == [0, 1, 0]
        monitor.details.get_by_role("button", name="Cancel").click()
        expect(monitor.details.get_by_role("button", name="Trace its next run")).to_be_visible()
        assert session.signatures["requested"].tolist() == [0, 0, 0]
        assert session.signatures["rule"].tolist() == ["", "every 250", ""]

        form.get_by_role("radio", name="No rule").check()
        form.get_by_role("button", name="Stop").click()
        expect(monitor.signature("train")).not_to_contain_text("every")
        assert session.signatures["rule"].eq("").all()


@pytest.mark.thorough
def test_a_rule_waits_while_nobody_records(monitor: Monitor, path: Path) -> None:
    with tv.open_session(path) as session:
        session.trace_slow(factor=3)
    expect(monitor.banner).to_contain_text(
        "A rule waits for the next job: runs over 3\u00d7 the median of the last 64"
    )
    expect(monitor.banner).to_contain_text("Each run will be as slow")
    writer = Writer(path, keep=None)
    expect(monitor.banner).to_contain_text("are kept as traces. Each run is as slow")
    writer.close({})
    expect(monitor.banner).to_contain_text("waits for the next job")
    expect(monitor.banner).not_to_contain_text("Each run is as slow")


@pytest.mark.thorough
def test_which_median_a_rule_goes_by(monitor: Monitor) -> None:
    monitor.order("Trace rules")
    form = monitor.region.get_by_role("dialog", name="Rules for all signatures")
    expect(form).not_to_contain_text("vs. untraced")
    form.get_by_role("radio", name="Runs over").check()
    expect(form).to_contain_text("median of the last 64 traced runs. The column vs. untraced uses")
    column = monitor.region.get_by_role("button", name="vs. untraced")
    expect(column).to_have_attribute("title", re.compile("median of up to 64 untraced.*Rules use the median"))
