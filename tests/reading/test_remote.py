"""Traces in other file systems: a real S3 server and a real HTTP server, both on this machine."""

import errno
import functools
import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
import s3fs
from moto.server import ThreadedMotoServer

import tfvis_nb as tv
from tests.cli.command import complaint, tfvis_nb_here
from tests.real_traces import DATA
from tests.support.texts import raises_id
from tfvis_nb import TraceFormatError, read_trace
from tfvis_nb.fleet.dataset import compaction
from tfvis_nb.texts import Text, text_of

STEP, OTHER = "cpu_tf115_dist.pb.xz", "gpu_tf221_mlp.pb.xz"
PROFILE = "gpu_tf218_function.xplane.pb.xz"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    serving = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    serving.start()
    host, port = serving.get_host_and_port()
    yield f"http://{host}:{port}"
    serving.stop()


@pytest.fixture(scope="module")
def bucket(server: str) -> Iterator[s3fs.S3FileSystem]:
    """A bucket of traces; the environment has its server and credentials, as it has on users' machines."""
    settings = {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as environment:
        for name, value in settings.items():
            environment.setenv(name, value)
        system = s3fs.S3FileSystem()
        system.mkdir("runs")
        for name in (STEP, OTHER):
            system.pipe(f"runs/steps/{name}", (DATA / name).read_bytes())
        for time in ("2026_01_01", "2026_01_02"):
            system.pipe(f"runs/log/plugins/profile/{time}/host.xplane.pb.xz", (DATA / PROFILE).read_bytes())
        yield system
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize(
    ("url", "files"),
    [
        (f"s3://runs/steps/{STEP}", [STEP]),
        ("s3://runs/steps", [STEP, OTHER]),
        ("s3://runs/steps/", [STEP, OTHER]),
        ("s3://runs/steps/gpu*", [OTHER]),
        ("s3://runs/s*", [STEP, OTHER]),
    ],
)
def test_a_url_is_read_as_the_same_files_are(url: str, files: list[str], data: Path) -> None:
    trace = read_trace(url)
    assert trace.events.equals(read_trace([data / name for name in files]).events)


@pytest.mark.usefixtures("bucket")
def test_the_newest_profile_of_a_bucket_is_read(data: Path) -> None:
    trace = read_trace("s3://runs/log")
    assert trace.events.equals(read_trace(data / PROFILE).events)
    (note,) = (note for note in trace.notes if isinstance(note, Text) and note.id == "newest_profile_read")
    assert note.figures["newest"] == "2026_01_02"


def test_unreadable_files_are_noted_and_later_ones_are_read(bucket: s3fs.S3FileSystem) -> None:
    content = bucket.cat_file(f"runs/steps/{STEP}")
    bucket.pipe("runs/mixed/step1.pb.xz", content)
    assert len(read_trace("s3://runs/mixed").steps) == 1
    bucket.pipe("runs/mixed/cut.pb.xz", content[:-9])
    bucket.pipe("runs/mixed/about.txt", b"steps of a test")
    bucket.pipe("runs/mixed/.hidden.pb", b"no trace")
    bucket.pipe("runs/mixed/more/step7.pb.xz", content)
    trace = read_trace("s3://runs/mixed")
    noted = {note.id: note.figures for note in trace.notes if isinstance(note, Text)}
    assert len(trace.steps) == 2
    assert "cut.pb.xz" in noted["damaged_files_left_out"]["files"]
    assert noted["foreign_files_left_out"]["files"] == "about.txt"


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize(
    ("url", "error"),
    [("s3://runs/no", ""), ("s3://nowhere/x.pb", ""), ("s3://runs/q*", "pattern_without_files")],
)
def test_missing_files_are_not_found(url: str, error: str) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        read_trace(url)
    assert raised.value.filename == url
    assert text_of(raised.value).id == error


def test_an_empty_folder_has_no_traces() -> None:
    fsspec.filesystem("memory").mkdir("/empty")
    with raises_id(TraceFormatError, "folder_without_traces"):
        read_trace("memory://empty")


def test_a_file_whose_name_looks_like_a_pattern_is_that_file() -> None:
    content = (DATA / "local_mlp_step1.pb").read_bytes()
    for name in ("run[1].pb", "run?.pb", "run2.pb"):
        fsspec.filesystem("memory").pipe(f"/named/{name}", content)
    once = len(read_trace("memory://named/run2.pb").events)
    for name, files in (("run[1].pb", 1), ("run?.pb", 1), ("run*.pb", 3), ("run[2].pb", 1)):
        assert len(read_trace(f"memory://named/{name}").events) == files * once


def test_credentials_that_are_missing_are_said(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with raises_id(PermissionError, "remote_no_access"):
        read_trace("s3://runs/x.pb", storage_options={"endpoint_url": server, "skip_instance_cache": True})


def test_a_server_that_is_not_there_is_said() -> None:
    nobody = {"endpoint_url": "http://127.0.0.1:9", "key": "a", "secret": "b"}
    client = {"retries": {"max_attempts": 0}, "connect_timeout": 1}
    with raises_id(OSError, "remote_failed") as raised:
        read_trace("s3://runs/x.pb", storage_options={**nobody, "config_kwargs": client})
    assert raised.value.errno == errno.EIO


@pytest.mark.parametrize(
    ("url", "absent", "package", "install"),
    [
        ("gs://runs/x.pb", ["gcsfs"], "gcsfs", "gcsfs"),
        ("s3://runs/x.pb", ["fsspec", "fsspec.core"], "fsspec", "'fsspec>=2024.2'"),
    ],
)
def test_a_driver_that_is_missing_is_named(
    url: str, absent: list[str], package: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    with raises_id(ImportError, "remote_driver_missing") as raised:
        read_trace(url)
    assert text_of(raised.value).figures == {"package": package, "install": install}


@pytest.fixture
def web(data: Path) -> Iterator[str]:
    quiet: Any = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    handler = functools.partial(quiet, directory=str(data))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def test_http_is_only_used_on_request(web: str, data: Path) -> None:
    for url in (f"{web}/{STEP}", f"simplecache::{web}/{STEP}"):
        with raises_id(ValueError, "http_not_allowed"):
            read_trace([data / STEP, url])
    trace = read_trace(f"{web}/{STEP}", allow_http=True)
    assert trace.events.equals(read_trace(data / STEP).events)
    with pytest.raises(FileNotFoundError):
        read_trace(f"{web}/no.pb", allow_http=True)
    with raises_id(OSError, "remote_failed"):
        read_trace("http://127.0.0.1:9/x.pb", allow_http=True)


def test_a_dataset_keeps_no_secret_of_a_link(
    web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    host = web.replace("http://", "http://me:hunter2@")
    links = [f"{host}/{STEP}?X-Amz-Signature=5ecret", f"simplecache::{host}/no.pb?token=5ecret#5ecret"]
    options = {"headers": {"X-Token": "5ecret"}}
    dataset = tv.open_traces(tmp_path / "dataset")
    for read in (lambda: dataset.ingest(links[0]), lambda: read_trace(links[0])):
        with raises_id(ValueError, "http_not_allowed", url=f"{web}/{STEP}") as refused:
            read()
        assert "HTTP" not in str(refused.value)
    done = dataset.ingest(links[0], allow_http=True, storage_options=options)
    assert done == (1, 0, 0, 0)
    assert dataset.sources[["path", "run"]].to_numpy().tolist() == [[f"{web}/{STEP}", STEP[:-6]]]
    with raises_id(ValueError, "links_to_one_source"):
        dataset.ingest([links[0], f"{web}/{STEP}?version=2"], allow_http=True)
    # A link that was signed again is the same source.
    assert dataset.ingest(f"{web}/{STEP}?X-Amz-Signature=new", allow_http=True) == (0, 1, 0, 0)
    assert dataset.ingest(f"{host}/README.md?token=5ecret", allow_http=True).problems == 1
    with pytest.raises(FileNotFoundError) as missing:
        dataset.ingest(links[1], allow_http=True, storage_options=options)
    trace = read_trace(links[0], allow_http=True)
    assert trace.events.equals(read_trace(DATA / STEP).events)
    seen = [
        str(missing.value),
        str(missing.value.filename),
        trace.to_html(),
        tv.show_fleet(dataset).to_html(),
        dataset.problems.to_csv(),
        *(path.read_bytes().decode("latin1") for path in dataset.path.rglob("*") if path.is_file()),
    ]
    assert [text for text in seen if "5ecret" in text or "hunter2" in text] == []
    cached = tv.open_traces(links[0], allow_http=True)
    assert (len(cached.sources), cached.title) == (1, STEP)


def test_an_uploaded_dataset_is_read_from_a_bucket(
    bucket: s3fs.S3FileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(compaction, "LEAST", 3)
    logs = tmp_path / "logs"
    for run, file in (("a", STEP), ("b", OTHER)):
        (logs / run).mkdir(parents=True)
        (logs / run / "step1.pb.xz").write_bytes((DATA / file).read_bytes())
    dataset = tv.open_traces(logs, tmp_path / "dataset")
    url = "s3://runs/shared/dataset"
    bucket.pipe("runs/shared/dataset/events/mine.txt", b"mine")

    def check() -> None:
        copied = dataset.upload(url)
        own = {
            path.relative_to(dataset.path).as_posix() for path in dataset.path.rglob("*") if path.is_file()
        }
        there = {path.removeprefix("runs/shared/dataset/") for path in bucket.find("runs/shared/dataset")}
        assert there == own | {"events/mine.txt"}
        assert copied <= len(own)
        copy = tv.open_traces(url)
        assert copy.path.is_relative_to(tmp_path / "cache")
        assert copy.steps.equals(dataset.steps)
        assert copy.trace("b").events.equals(dataset.trace("b").events)
        assert copy.problems.empty
        assert len(copy.show_timeline(run="b").dataset.sources) == len(dataset.sources)

    check()
    # The third source makes all share files.
    (logs / "b/step2.pb.xz").write_bytes((DATA / OTHER).read_bytes())
    assert dataset.ingest(logs) == (1, 2, 0, 0)
    check()
    assert dataset.upload(url) == len([*dataset.path.glob("manifest/*")]) + 1


def test_errors_of_drivers_name_no_option() -> None:
    options = {"endpoint_url": "no address", "key": "AKIA5ECRET", "client_kwargs": {"no_such": "5ecret"}}
    with pytest.raises(OSError) as raised:  # noqa: PT011 - which one depends on the driver
        read_trace("s3://runs/x.pb", storage_options=options)
    assert "5ECRET" not in str(raised.value).upper()


def test_a_terminal_reads_urls(web: str, bucket: s3fs.S3FileSystem, tmp_path: Path) -> None:
    bucket.pipe("runs/one.pb.xz", bucket.cat_file(f"runs/steps/{STEP}"))
    for words in (["s3://runs/one.pb.xz"], ["--allow-http", f"{web}/{STEP}"]):
        done = tfvis_nb_here("info", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "111 events" in done.stdout
    assert "--allow-http" in complaint(tfvis_nb_here("info", f"{web}/{STEP}", cwd=tmp_path), 1)


def test_a_bucket_becomes_a_dataset(bucket: s3fs.S3FileSystem, tmp_path: Path) -> None:
    names = ["a/rank0/step1.pb.xz", "a/rank1/step1.pb.xz", "a/log/plugins/profile/2026_01_01/h.xplane.pb.xz"]
    for name in names:
        file = PROFILE if "xplane" in name else OTHER
        bucket.pipe(f"runs/fleet/{name}", (DATA / file).read_bytes())
    bucket.pipe("runs/fleet/a/rank2/step1.pb.xz", b"")
    dataset = tv.open_traces(tmp_path / "dataset")
    assert dataset.ingest("s3://runs/fleet") == (3, 0, 1, 0)
    assert sorted(dataset.sources["run"]) == ["", "a", "a", "a/log/2026_01_01"]
    assert dataset.sources["path"].iloc[0].startswith("s3://runs/fleet/a/")
    assert dataset.ingest("s3://runs/fleet/**/*.xz") == (0, 3, 1, 0)
    bucket.pipe("runs/fleet/a/rank2/step1.pb.xz", (DATA / OTHER).read_bytes())
    bucket.rm("runs/fleet/a/rank0/step1.pb.xz")
    assert dataset.ingest("s3://runs/fleet") == (1, 2, 0, 1)
    assert len(dataset.trace("a", task="worker 2").events) == len(read_trace(DATA / OTHER).events)
