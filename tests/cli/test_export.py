"""``tfvis-nb open`` and ``export``."""

import gzip
import json
import lzma
import os
import re
import stat
from pathlib import Path

import click
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.cli.command import complaint, tfvis_nb, tfvis_nb_here
from tests.support.coded_trace import coded
from tests.support.examples import sample
from tests.support.page_options import page_options
from tests.support.step_stats import one_op
from tests.support.texts import pattern_of, says
from tfvis_nb.cli import main
from tfvis_nb.cli.traces import time_range
from tfvis_nb.display.pages import page
from tfvis_nb.reading.pickles.run_metadata import unpickled
from tfvis_nb.texts import Text, id_of


@pytest.mark.parametrize(
    "name",
    sample(["a.html", "a.json", "a.json.gz", "a.JSON.GZ", "a.parquet"], {"a.html", "a.JSON.GZ", "a.parquet"}),
)
def test_export_writes_by_suffix(
    name: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = data / "cpu_tf18_dist.pb.xz", tmp_path / name
    table = tmp_path / "beside.parquet"
    files = ["-o", str(target), "-o", str(table)]
    assert main(["convert", str(source), *files, "--title", "two tasks"]) == 0
    assert capsys.readouterr().out == f"{target}\n{table}\n"
    assert tv.read_trace(table).title == "two tasks"
    if name.endswith("html"):
        text = target.read_text(encoding="utf-8")
        assert 'id="tfvis-drawn"' in text
        assert "<title>two tasks</title>" in text
        return
    if name.lower().endswith(".gz"):
        assert json.loads(gzip.decompress(target.read_bytes()))["traceEvents"]
    if not name.endswith("parquet"):
        plain = tmp_path / "plain.json"
        assert main(["export", str(source), "-o", str(plain), "--no-arrows"]) == 0
        assert not {"s", "f"} & {event["ph"] for event in json.loads(plain.read_bytes())["traceEvents"]}
    again = tv.read_trace(target)
    assert again.title == "two tasks"
    assert sorted(again.events["name"]) == sorted(tv.read_trace(source).events["name"])


def test_options_of_the_page(data: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.html"
    words = ["--group-by", "kind", "--color-by", "op", "--lane-filter", "recv"]
    assert main(["export", str(data / "cpu_tf18_dist.pb.xz"), "-o", str(target), *words]) == 0
    options = page_options(target.read_text(encoding="utf-8"))
    assert (options["group_by"], options["color_by"], options["lane_filter"]) == ("kind", "op", "recv")


def test_a_page_is_compared_with_a_base(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, base = data / "gpu_tf221_mlp.pb.xz", data / "gpu_tf218_mlp.pb.xz"
    target = tmp_path / "a.html"
    assert main(["export", str(source), "-o", str(target), "--against", str(base)]) == 0
    assert target.read_text(encoding="utf-8") == tv.read_trace(source).to_html(against=tv.read_trace(base))
    assert main(["export", str(source), "-o", str(tmp_path / "a.json"), "--against", str(base)]) == 2
    assert says(capsys.readouterr().err, "option_for_pages", option="against", suffix=".json")


def test_several_traces_are_steps(data: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.parquet"
    sources = [str(data / f"run_meta.v{number}") for number in (1, 3)]
    assert main(["export", *sources, "-o", str(target)]) == 0
    assert tv.read_trace(target).steps["label"].tolist() == ["run_meta.v1", "run_meta.v3"]


def test_a_part_of_the_run(data: Path, tmp_path: Path) -> None:
    source, target = data / "local_mlp_step1.pb", tmp_path / "a.parquet"
    whole = tv.read_trace(source).events
    assert main(["export", str(source), "-o", str(target), "--time-range", "1ms:2.5ms"]) == 0
    start = whole["start_ns"] - whole["start_ns"].iloc[0]
    inside = whole[(start < 2_500_000) & (start + whole["duration_ns"] > 1_000_000)]
    part = tv.read_trace(target)
    assert 0 < len(inside) < len(whole)
    assert main(["export", str(source), "-o", str(tmp_path / "b.parquet"), f"--time-range=0:{10**30}"]) == 0
    assert len(tv.read_trace(tmp_path / "b.parquet").events) == len(whole)
    assert part.events["name"].tolist() == inside["name"].tolist()
    assert any(id_of(note) == "part_of_run" for note in part.notes)


def test_a_range_outside_of_the_run(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "a.parquet"
    for text in ("900ms:901ms", "-3ms:-2ms", "5:7"):
        words = ["-o", str(target), f"--time-range={text}"]
        assert main(["export", str(data / "local_mlp_step1.pb"), *words]) == 1
        said = Text("range_outside_trace", subject=f"--time-range {text}", length="10.4 ms")
        assert capsys.readouterr().err.endswith(f"{said}\n")


def test_a_range_that_begins_before_the_run(data: Path, tmp_path: Path) -> None:
    source, target = data / "local_mlp_step1.pb", tmp_path / "a.parquet"
    for words in (["--time-range", "-1ms:1ms"], ["--time-range=-1ms:1ms"]):
        assert main(["export", str(source), "-o", str(target), *words]) == 0
        starts = tv.read_trace(target).events["start_ns"]
        assert starts.iloc[0] == tv.read_trace(source).events["start_ns"].iloc[0]
        assert starts.iloc[-1] - starts.iloc[0] <= 1_000_000


@pytest.mark.parametrize(
    "words",
    sample(
        ["worker ops", "WORKER 1", "recv", "receive", "/job:worker/replica:0", " ", "CPU:0"],
        {"WORKER 1", "/job:worker/replica:0"},
    ),
)
def test_a_lane_filter_that_leaves_lanes(
    words: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "a.html")
    assert main(["export", str(data / "cpu_tf18_dist.pb.xz"), "-o", target, "--lane-filter", words]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", ["zzzz", "worker gpu", "worker 7"])
def test_a_lane_filter_that_leaves_none(words: str, data: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.html"
    source = data / "cpu_tf18_dist.pb.xz"
    said = complaint(tfvis_nb_here("export", source, "-o", target, "--lane-filter", words, cwd=tmp_path), 1)
    assert says(said, "lane_filter_matches_none", text=words)
    assert "worker 1 \u00b7 CPU:0 \u00b7 ops" in said
    assert not target.exists()


def test_ends_of_a_range() -> None:
    assert time_range(":2us", 100, 9000) == (100, 2100)
    assert time_range("105:", 100, 9000) == (105, 9000)
    assert time_range("-1.5us:1us", 10_000, 9000) == (8500, 11_000)
    # Beyond 64 bits.
    assert time_range(f"-{10**20}s:{10**30}", 0, 9) == (-(10**29), 10**30)
    for text in ("", ":", "5", "5ms", "5:x", "-1:4", "--1ms:"):
        with pytest.raises(click.UsageError) as caught:
            time_range(text, 100, 10**10)
        assert id_of(caught.value.message) == "no_time_range"
    for text in ("2s:1s", "-1s:-2s"):
        with pytest.raises(click.UsageError) as caught:
            time_range(text, 100, 10**10)
        assert id_of(caught.value.message) == "time_range_reversed"


@pytest.mark.parametrize("name", ["/no/such/a.html", "/no/such/a.parquet"])
def test_a_folder_that_is_not_there(name: str, data: Path) -> None:
    said = complaint(tfvis_nb_here("export", data / "local_mlp_step1.pb", "-o", name, cwd=data), 1)
    assert said == Text("no_folder_to_write_to", path=name, folder="/no/such")


def test_what_cannot_be_read(data: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.html"
    cut = tmp_path / "cut.pb"
    os.mkfifo(tmp_path / "pipe.pb")
    cut.write_bytes((data / "local_mlp_step1.pb").read_bytes()[:1000])
    for source, said in (
        (tmp_path / "absent.pb", pattern_of("no_such_trace_file")),
        (tmp_path / "*.nothing", pattern_of("pattern_matches_nothing")),
        (cut, "cut.pb"),
        (data / "README.md", pattern_of("foreign_format")),
        ("/dev/zero", pattern_of("source_no_file")),
        (tmp_path / "pipe.pb", pattern_of("source_no_file")),
        (data / "cpu_tf221_partition_graphs_only.pb.xz", pattern_of("graphs_without_run", graphs=1)),
    ):
        done = tfvis_nb_here("export", source, "-o", target, cwd=tmp_path)
        assert re.search(said, complaint(done, 1))
    assert not target.exists()


@pytest.mark.parametrize("verb", sample(["export", "info", "open"], {"export"}))
def test_a_file_that_unpacks_to_much_is_read_when_it_is_trusted(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = tmp_path / "step.pb.xz", tmp_path / "step.html"
    # A field that no RunMetadata has, and much in it.
    path.write_bytes(lzma.compress(one_op() + b"\xfa\x07\x80\x80\x80\x28" + bytes(80 << 20), preset=0))
    words = {"info": [], "export": ["-o", page], "open": ["-o", page, "--no-browser"]}[verb]
    command = [str(word) for word in (verb, path, *words)]
    assert main(command) == 1
    assert "--max-unpacked" in capsys.readouterr().err
    assert main([*command, "--max-unpacked", "0.1GiB"]) == 0
    assert main([*command, "--max-unpacked", "80 MB"]) == 1
    for wrong in ("-1", "many", "1e9", "5 XB", ""):
        assert main([*command, "--max-unpacked", wrong]) == 2


def test_a_page_too_large_says_which_options_help(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    defaults = page.html_page.__kwdefaults__ or {}
    monkeypatch.setattr(page.html_page, "__kwdefaults__", {**defaults, "max_bytes": 1000})
    words = ["export", str(data / "local_mlp_step1.pb"), "-o", str(tmp_path / "a.html")]
    assert main(words) == 1
    said = re.search(
        r"such as (--time-range \d+:\d+), or all of it with --any-size$", capsys.readouterr().err
    )
    assert said is not None
    assert main([*words, "--any-size"]) == 0


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, of this test alone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_open_without_a_display_says_where_the_page_is(data: Path, tmp_path: Path) -> None:
    done = tfvis_nb("open", data / "local_mlp_step1.pb", TMPDIR=str(tmp_path))
    assert done.returncode == 0
    path = Path(done.stdout.strip())
    assert path.parent.parent == tmp_path
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "tfvis-drawn" in path.read_text(encoding="utf-8")
    assert Text("browser_for_page") in done.stderr


def test_open_keeps_pages_private_and_removes_old_ones(data: Path, temporary: Path) -> None:
    def opened() -> Path:
        done = tfvis_nb_here("open", "--no-browser", data / "local_mlp_step1.pb", cwd=temporary)
        return Path(done.stdout.strip())

    first, second = opened(), opened()
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert first != second
    assert first.parent == second.parent
    other = first.parent / "notes.txt"
    other.touch()
    for path in (first, other):
        os.utime(path, (0, 0))
    third = opened()
    assert {path.name for path in first.parent.iterdir()} == {second.name, third.name, other.name}


def test_open_uses_no_folder_that_others_can_read(data: Path, temporary: Path) -> None:
    private = temporary / f"tfvis-nb-pages-{os.getuid()}"
    private.mkdir()
    private.chmod(0o777)
    done = tfvis_nb_here("open", "--no-browser", data / "local_mlp_step1.pb", cwd=temporary)
    path = Path(done.stdout.strip())
    assert path.parent != private
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not list(private.iterdir())


def test_open_leaves_no_page_that_could_not_be_written(data: Path, temporary: Path) -> None:
    words: list[str | Path] = [
        "open",
        "--no-browser",
        data / "local_mlp_step1.pb",
        "--lane-filter",
        "nothing",
    ]
    assert tfvis_nb_here(*words, cwd=temporary).returncode == 1
    assert not list(temporary.rglob("*.html"))


def test_open_starts_the_browser(data: Path, tmp_path: Path) -> None:
    browser, target = tmp_path / "browser", tmp_path / "a b.html"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/asked"\n')
    browser.chmod(0o755)
    done = tfvis_nb("open", data / "local_mlp_step1.pb", "-o", target, BROWSER=f"{browser} %s")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}\n", "")
    assert (tmp_path / "asked").read_text().strip() == target.as_uri()


def test_code_is_left_out_on_request(tmp_path: Path) -> None:
    page_file, table, opened = (tmp_path / name for name in ("a.html", "b.parquet", "c.html"))
    coded().to_parquet(source := tmp_path / "coded.parquet")
    assert main(["export", str(source), "-o", str(page_file), "-o", str(table), "--no-source"]) == 0
    assert main(["open", "--no-browser", str(source), "-o", str(opened), "--no-source"]) == 0
    trace, again = tv.read_trace(source), tv.read_trace(table)
    assert trace.stacks is not None
    assert again.stacks is None
    pd.testing.assert_frame_equal(again.events, trace.events)
    for written in (page_file, opened):
        assert written.read_text() == trace.to_html(source=False)


def test_open_without_a_browser_on_request(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tfvis_nb.cli.open.shown", None)
    target = tmp_path / "a.html"
    assert main(["open", "--no-browser", str(data / "local_mlp_step1.pb"), "-o", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}\n"


def test_messages_are_written_as_each_other(data: Path, tmp_path: Path) -> None:
    original = data / "local_mlp_step1.pb"
    pickle, back, two = tmp_path / "step.pickle", tmp_path / "back.pb", tmp_path / "two.pickle"
    assert main(["export", str(original), "-o", str(pickle)]) == 0
    assert unpickled(pickle) == original.read_bytes()
    assert main(["export", str(pickle), "-o", str(back)]) == 0
    assert back.read_bytes() == original.read_bytes()
    assert main(["export", str(original), str(pickle), "-o", str(two)]) == 0
    assert [unpickled(tmp_path / f"two.step{step}.pickle") for step in (0, 1)] == [original.read_bytes()] * 2


def test_compressed_messages_are_those_of_plain_files(data: Path, tmp_path: Path) -> None:
    original, back = data / "local_mlp_step1.pb", tmp_path / "back.pb"
    for suffix in (".pb", ".pickle"):
        plain, packed = tmp_path / f"step.1{suffix}", tmp_path / f"step.1{suffix}.gz"
        assert main(["export", str(original), "-o", str(plain), "-o", str(packed)]) == 0
        assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
        assert main(["export", str(packed), "-o", str(back)]) == 0
        assert back.read_bytes() == original.read_bytes()
    assert main(["export", str(original), str(back), "-o", str(tmp_path / "two.pickle.gz")]) == 0
    for step in (0, 1):
        assert unpickled(tmp_path / f"two.step{step}.pickle.gz") == original.read_bytes()
    profile, target = data / "cpu_jax.xplane.pb", tmp_path / "run.xplane.pb.gz"
    assert main(["export", str(profile), "-o", str(target)]) == 0
    assert gzip.decompress(target.read_bytes()) == profile.read_bytes()
    assert main(["export", str(profile), "-o", str(tmp_path / "run.pickle.gz")]) == 1


@pytest.mark.parametrize("name", ["simple_stepstats.pbtxt", "run_metadata_run_step99_tag_train.pbtxt"])
def test_text_becomes_a_run_metadata(name: str, data: Path, tmp_path: Path) -> None:
    assert main(["export", str(data / name), "-o", str(tmp_path / "step.pickle")]) == 0
    again = tv.read_trace(tmp_path / "step.pickle")
    pd.testing.assert_frame_equal(again.events, tv.read_trace(data / name).events)


def test_a_profile_is_exported_unchanged_and_never_pickled(data: Path, tmp_path: Path) -> None:
    profile = data / "cpu_jax.xplane.pb"
    assert main(["export", str(profile), "-o", str(tmp_path / "run.pb")]) == 0
    assert (tmp_path / "run.pb").read_bytes() == profile.read_bytes()
    assert main(["export", str(profile), "-o", str(tmp_path / "run.pickle")]) == 1


@pytest.mark.parametrize("names", [("out.xplane.pb", "out.pb"), ("out.pb", "out.xplane.pb")])
@pytest.mark.parametrize("name", ["local_mlp_step1.pb", "cpu_jax.xplane.pb"])
def test_no_file_but_the_named_one_is_replaced(
    name: str, names: tuple[str, str], data: Path, tmp_path: Path
) -> None:
    named, other = (tmp_path / one for one in names)
    other.write_bytes(b"kept")
    assert main(["export", str(data / name), "-o", str(named)]) == 0
    assert (named.read_bytes(), other.read_bytes()) == ((data / name).read_bytes(), b"kept")


@pytest.mark.parametrize("name", ["tf2_host.trace.json", "missing.pb"])
def test_other_files_have_no_message(name: str, data: Path, tmp_path: Path) -> None:
    assert main(["export", str(data / name), "-o", str(tmp_path / "run.pb")]) == 1
    assert not list(tmp_path.iterdir())
