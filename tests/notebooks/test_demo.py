"""The demo writes its page, and opens it or reports that it did not; its trace is within limits."""

import json
import runpy
import webbrowser
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.repeated_steps import repeated
from tfvis_nb.cli import main as tfvis_nb

pytestmark = pytest.mark.tensorflow

DEMO = Path(__file__).parents[2] / "notebooks" / "demo.py"


@pytest.fixture(scope="module")
def main() -> Callable[[], None]:
    run: Any = runpy.run_path(str(DEMO))["main"]
    names = run.__globals__
    names["traced_training"] = cache(names["traced_training"])
    return cast("Callable[[], None]", run)


@pytest.mark.parametrize(
    ("display", "opens", "said"),
    [
        ("", True, "It was not opened"),
        (":0", False, "It was not opened"),
        (":0", True, "It opens in your browser."),
    ],
)
def test_the_page_is_opened_or_said_not_to_be(
    main: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    display: str,
    opens: bool,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("CI", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", display)
    opened: list[str] = []

    def open_page(address: str) -> bool:
        opened.append(address)
        return opens

    monkeypatch.setattr(webbrowser, "open", open_page)
    main()
    address = (tmp_path / "demo.html").as_uri()
    assert opened == ([address] if display else [])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1].endswith(address)
    assert lines[3].startswith(said)


OPS = 125
"""The ops of a step of the demo, from its graph."""


def test_its_trace_is_within_limits_and_a_slowed_copy_is_worse(
    main: Callable[[], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = cast("Any", main).__globals__["traced_training"]()
    trace.to_parquet(tmp_path / "demo.parquet")
    limits = ["--max", f"ops={OPS}", "--max", "peak_bytes=100MB"]
    assert tfvis_nb(["check", str(tmp_path / "demo.parquet"), *limits]) == 0
    for seed, (name, factor) in enumerate({"base": 1.0, "equal": 1.0, "slower": 1.3}.items()):
        repeated(trace, 20, seed, factor).to_parquet(tmp_path / f"{name}.parquet")
    base = ["--against", str(tmp_path / "base.parquet"), "--worse", "step_ms=20%", "--format", "json"]
    assert tfvis_nb(["check", str(tmp_path / "equal.parquet"), *base]) == 0
    capsys.readouterr()
    assert tfvis_nb(["check", str(tmp_path / "slower.parquet"), *base]) == 1
    (found,) = json.loads(capsys.readouterr().out)["traces"]
    assert {row["metric"] for row in found["checks"] if row["result"] == "worse"} == {"step_ms"}
