"""``tfvis-nb check``: exit codes, limits from files, and the four formats."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.command import complaint, tfvis_nb, tfvis_nb_here
from tests.real_traces import DATA, real_trace
from tests.support.repeated_steps import repeated
from tfvis_nb import Trace, events
from tfvis_nb.analysis import check
from tfvis_nb.cli import main
from tfvis_nb.cli.check import FORMATS, CheckedTrace

STEP = DATA / "local_mlp_step1.pb"
GPU = DATA / "gpu_tf221_mlp.pb.xz"
HOSTILE = 'a|b`<img src=x onerror=y>\x1b[31m\n# *c* &amp; ]]> "d'


def checked(*words: str | Path) -> int:
    return main(["check", *map(str, words)])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([GPU, "--max", "launches=57", "--max", "peak_bytes=10MiB"], 0),
        ([GPU, "--max", "launches=56"], 1),
        ([GPU, "--max", "retraces=0"], 2),
        ([GPU, "--max", "retraces=0", "--max", "launches=56"], 1),
        ([GPU, "--max", "step_ms=100ms"], 2),
        ([GPU, "--against", GPU], 0),
        ([GPU, "--against", STEP], 1),
        ([STEP, GPU, "--max", "ops=63"], 1),
        ([STEP, "nowhere.pb", "--max", "ops=63"], 2),
        ([STEP, "--against", "nowhere.pb"], 2),
        ([GPU], 2),
        ([GPU, "--max", "launchs=5"], 2),
        ([GPU, "--max", "launches"], 2),
        ([GPU, "--max", "launches=5", "--worse", "5"], 2),
        ([GPU, "--max", "launches=57", "--worse", "5%"], 2),
        ([GPU, "--against", STEP, "--worse", "stepms=5%"], 2),
        ([GPU, "--against", GPU, "--worse", "=5%"], 2),
        ([GPU, "--against", GPU, "--worse", "input_ms=10%"], 2),
        ([GPU, "--against", GPU, "--worse", "10%"], 0),
        ([GPU, "--limits", "nowhere.toml"], 2),
    ],
)
def test_exit_codes(words: list[str | Path], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(*words) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_process_has_the_exit_code_and_shows_the_metric() -> None:
    done = tfvis_nb("check", GPU, "--max", "launches=56")
    assert (done.returncode, done.stderr) == (1, "")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("launches")]
    assert re.findall(r"[0-9]+", line)[:2] == ["57", "56"]


def test_a_slower_copy_of_a_recorded_run_is_worse(tmp_path: Path) -> None:
    step = real_trace(STEP)
    factors = {"base": 1.0, "equal": 1.0, "slower": 1.25}
    for seed, (name, factor) in enumerate(factors.items()):
        repeated(step, 20, seed, factor).to_parquet(tmp_path / f"{name}.parquet")
    share = ["--worse", "step_ms=5%"]
    for name, given, code in (("equal", share, 0), ("slower", share, 1), ("slower", [], 0)):
        words = ["check", f"{name}.parquet", "--against", "base.parquet", "--format", "json", *given]
        done = tfvis_nb_here(*words, cwd=tmp_path)
        assert done.returncode == code
        (found,) = json.loads(done.stdout)["traces"]
        (time,) = [row for row in found["checks"] if row["metric"] == "step_ms"]
        assert (time["low"] > 1.05) == (name == "slower")
        assert ("recordings differ" in time["reason"]) == (name == "slower")


@pytest.mark.parametrize(
    ("shares", "worse"),
    [
        ([], {"ops", "peak_bytes"}),
        (["--worse", "1000%"], set()),
        (["--worse", "ops=1%", "--worse", "1000%"], {"ops"}),
        (["--worse", "ops=1%", "--worse", "ops=1000%"], {"peak_bytes"}),
    ],
)
def test_a_share_for_one_metric_counts_more(
    shares: list[str], worse: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    checked(GPU, "--against", STEP, *shares, "--format", "json")
    (found,) = json.loads(capsys.readouterr().out)["traces"]
    assert {row["metric"] for row in found["checks"] if row["result"] == "worse"} == worse


def test_limits_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text('[max]\nlaunches = 56\npeak_bytes = "10MiB"\n')
    words: list[str | Path] = ["check", GPU, "--limits", "limits.toml", "--format", "json"]
    found = json.loads(tfvis_nb_here(*words, cwd=tmp_path).stdout)["traces"][0]["checks"]
    assert {row["metric"]: row["allowed"] for row in found} == {"launches": 56, "peak_bytes": 10 * 1024**2}
    assert tfvis_nb_here(*words, "--max", "launches=57", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    "text", ["[max", "launches = 5", "[max]\nlaunchs = 5", "[max]\nlaunches = []", "max = 3", "[min]", "\x00"]
)
def test_a_file_without_limits_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "limits.toml").write_text(text)
    assert "limits.toml" in complaint(tfvis_nb_here("check", GPU, "--limits", "limits.toml", cwd=tmp_path), 2)


def test_json_has_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(GPU, STEP, "nowhere.pb", "--against", GPU, "--max", "launches=9", "--format", "json") == 1
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["schema_version"] == 1
    assert [trace["result"] for trace in found["traces"]] == ["worse", "unknown", "unknown"]
    assert (found["traces"][2]["checks"], bool(found["traces"][2]["reason"])) == ([], True)
    expected = check(real_trace(GPU), {"launches": 9}, against=real_trace(GPU))
    rows = found["traces"][0]["checks"]
    assert [set(row) for row in rows] == [{*expected.columns, "reason_id"}] * len(expected)
    for column in ("metric", "bound", "value", "allowed", "result", "required"):
        assert [row[column] for row in rows] == expected[column].tolist()


def hostile() -> list[CheckedTrace]:
    table = check(
        Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]})), {"ops": 0, "kernels": 1}
    )
    table["reason"] = [HOSTILE, HOSTILE]
    return [CheckedTrace(HOSTILE, "worse", table), CheckedTrace(HOSTILE, "unknown", None, HOSTILE)]


def test_junit_is_xml_with_a_case_for_each_check() -> None:
    root = ET.fromstring(FORMATS["junit"](hostile()).encode())
    suites = root.findall("testsuite")
    assert [suite.get("tests") for suite in suites] == ["2", "1"]
    assert [(suite.get("failures"), suite.get("errors")) for suite in suites] == [("1", "1"), ("0", "1")]
    assert [[child.tag for child in case] for case in root.iter("testcase")] == [
        ["failure"],
        ["error"],
        ["error"],
    ]
    texts = [value for element in root.iter() for value in element.attrib.values()]
    assert all(letter.isprintable() for text in texts for letter in text)
    assert any("<img src=x" in text for text in texts)


def test_a_time_that_nobody_asked_for_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(GPU, "--against", GPU, "--format", "junit") == 0
    root = ET.fromstring(capsys.readouterr().out.encode())
    skipped = [case.get("name") for case in root.iter("testcase") if case.find("skipped") is not None]
    assert skipped == ["step_ms (base)"]


def test_markdown_is_one_table_whatever_the_names() -> None:
    lines = FORMATS["markdown"](hostile()).splitlines()
    bars = [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines]
    assert bars == [bars[0]] * (2 + 3)
    body = "\n".join(lines[2:])
    assert not re.search(r"(?<!\\)[`<>#&]", body)
    assert all(letter.isprintable() for line in lines for letter in line)


def test_text_has_no_control_characters() -> None:
    assert all(letter.isprintable() or letter == "\n" for letter in FORMATS["text"](hostile()))
