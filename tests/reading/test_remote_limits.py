"""URLs of strangers: limits of bytes and time, kinds of files, and HTTP only on request."""

import gzip
import http.server
import json
import os
import socket
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.reading.test_bombs import of_gzip
from tests.support.apart import apart
from tests.support.step_stats import one_op
from tests.support.texts import raises_id
from tfvis_nb.texts import text_of

pytestmark = pytest.mark.slow

MOST_BYTES = 1 << 30
"""Of memory; a process is stopped at four times as much."""


class Hostile(http.server.BaseHTTPRequestHandler):
    """Answers that are endless, larger than they say, packed or slow."""

    protocol_version = "HTTP/1.1"
    asked: list[str]

    def log_message(self, *_: object) -> None: ...

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        self.close_connection = True
        headers, pieces = {
            "/endless.pb": ({}, self.zeros()),
            "/large.pb": ({"Content-Length": str(1 << 50)}, self.zeros()),
            "/packed.pb": ({"Content-Encoding": "gzip"}, iter([of_gzip()])),
            "/slow.pb": ({"Content-Length": "1000000"}, self.drops()),
            "/step.pb": ({}, iter([one_op()])),
            "/step.pb.gz": ({"Content-Encoding": "gzip"}, iter([gzip.compress(one_op())])),
        }.get(self.path, ({}, iter([b"{}"])))
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        with suppress(OSError):
            for piece in pieces if self.command == "GET" else ():
                self.wfile.write(piece)

    def zeros(self) -> Iterator[bytes]:
        while True:
            yield bytes(1 << 20)

    def drops(self) -> Iterator[bytes]:
        while not self.server.stopped.wait(0.05):  # type: ignore[attr-defined]
            yield b"\n"


@pytest.fixture
def hostile() -> Iterator[str]:
    handler = type("Own", (Hostile,), {"asked": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.stopped = threading.Event()  # type: ignore[attr-defined]
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Hostile.asked = handler.asked  # type: ignore[attr-defined]
        yield f"127.0.0.1:{server.server_port}"
        server.stopped.set()  # type: ignore[attr-defined]
        server.shutdown()


def refusals(*urls: str) -> dict[str, str]:
    """Return the id of the error for each URL."""
    errors = {}
    for url in urls:
        errors[url] = "read"
        try:
            tv.read_trace(url, allow_http=True)
        except (OSError, ValueError) as error:
            errors[url] = text_of(error).id
    return errors


def check_refused(key: str, *urls: str) -> None:
    """Expect the same error for each URL, from a process that needs little memory."""
    done = apart(refusals, *urls, data=4 * MOST_BYTES)
    assert not done.raised, done.raised
    assert done.result == dict.fromkeys(urls, key)
    assert done.peak < MOST_BYTES


def test_endless_answers_are_refused(hostile: str) -> None:
    urls = (f"http://{hostile}/endless.pb", f"http://{hostile}/large.pb")
    # Caches would write them to the disk.
    check_refused("remote_too_large", *urls, f"simplecache::http://{hostile}/endless.pb")


def test_packed_answers_unpack_within_limits(hostile: str) -> None:
    check_refused("unpacks_beyond_ratio", f"http://{hostile}/packed.pb")


def test_packed_and_cached_answers_are_read(hostile: str) -> None:
    for url in ("http://{}/step.pb", "http://{}/step.pb.gz", "simplecache::http://{}/step.pb"):
        assert len(tv.read_trace(url.format(hostile), allow_http=True).events) == 1


def test_slow_answers_are_given_up(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfvis_nb.reading.sources.drivers.PATIENCE_S", 0.5)
    with raises_id(OSError, "remote_too_slow"):
        tv.read_trace(f"http://{hostile}/slow.pb", allow_http=True)


def test_silent_servers_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfvis_nb.reading.sources.drivers.PATIENCE_S", 0.5)
    monkeypatch.setattr("tfvis_nb.reading.sources.drivers.LISTING_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent, raises_id(OSError, "remote_too_slow"):
        tv.read_trace(f"http://127.0.0.1:{silent.getsockname()[1]}/a.pb", allow_http=True)


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("a.pb", "w", force_zip64=True) as member:
            for _ in range(512):
                member.write(bytes(1 << 20))
        archive.writestr("b.pb", one_op())


def test_archives_unpack_within_limits(tmp_path: Path) -> None:
    bomb(tmp_path / "bomb.zip")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.write(tmp_path / "bomb.zip", "bomb.zip")
    (tmp_path / "bomb.tar.gz").write_bytes(of_gzip())
    check_refused(
        "unpacks_beyond_ratio",
        f"zip://a.pb::file://{tmp_path}/bomb.zip",
        f"zip://a.pb::zip://bomb.zip::file://{tmp_path}/outer.zip",
        f"tar://a.pb::file://{tmp_path}/bomb.tar.gz",
    )
    # A cache would write it to the disk.
    check_refused("url_layer_refused", f"simplecache::zip://a.pb::file://{tmp_path}/bomb.zip")


def test_members_of_archives_are_read(tmp_path: Path) -> None:
    (tmp_path / "b.pb").write_bytes(one_op())
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "b.pb", "b.pb")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "b.pb", "b.pb")
    for url in (f"zip://b.pb::file://{tmp_path}/a.zip", f"tar://*.pb::file://{tmp_path}/a.tar.gz"):
        assert len(tv.read_trace(url).events) == 1


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pb")
    check_refused(
        "source_no_file",
        f"file://{tmp_path}/pipe.pb",
        f"zip://a.pb::file://{tmp_path}/pipe.pb",
        f"simplecache::file://{tmp_path}/pipe.pb",
        "file:///dev/zero",
        "zip://a.pb::file:///dev/zero",
    )
    (tmp_path / "step.pb").write_bytes(one_op())
    assert len(tv.read_trace(f"file://{tmp_path}").events) == 1


def test_no_layer_of_a_url_uses_http_unasked(hostile: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"a.pb": [f"http://{hostile}/step.pb"]}))
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.write(path, "r.json")
    for url in (f"http://{hostile}/step.pb", f"webhdfs://{hostile}/step.pb"):
        with raises_id(ValueError, "http_not_allowed"):
            tv.read_trace(url)
    for url in (
        f"zip://a.pb::http://{hostile}/a.zip",
        f"filecache::http://{hostile}/step.pb",
        f"jupyter://{hostile}/step.pb",
        f"reference://a.pb::file://{path}",
        f"reference://a.pb::zip://r.json::file://{tmp_path}/r.zip",
        f"zip://b.pb::reference://a.pb::file://{path}",
        f"simplecache::reference://a.pb::file://{path}",
        f"dir://http://{hostile}::file://{path}",
        f"generic://http://{hostile}/step.pb",
    ):
        with pytest.raises((OSError, ValueError)):
            tv.read_trace(url)
    assert Hostile.asked == []


def test_options_open_no_other_layer(hostile: str) -> None:
    options = {"target_protocol": "http", "fo": f"http://{hostile}/a.zip"}
    with raises_id(ValueError, "url_layer_refused"):
        tv.read_trace("zip://a.pb", storage_options=options)
    assert Hostile.asked == []
