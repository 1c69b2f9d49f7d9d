"""The content of a recorded session, read from its file and from its page."""

import json
import urllib.request
from typing import Any

import tfvis_nb as tv
from tfvis_nb import TracingServer


def asked(server: TracingServer, path: str, command: dict[str, Any] | None = None) -> Any:
    """The answers of a server's page."""
    assert server.url is not None
    address, _, token = server.url.partition("?token=")
    headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    data = None if command is None else json.dumps(command).encode()
    with urllib.request.urlopen(urllib.request.Request(address + path, data, headers)) as answer:
        return json.load(answer)


def runs_of(session: tv.SavedSession) -> dict[str, int]:
    """How many runs each signature has, by its label."""
    table = session.signatures
    return dict(zip(table["label"].tolist(), table["runs"].tolist(), strict=True))


def counted(session: tv.SavedSession) -> dict[str, tuple[int, int]]:
    """How many runs and traces each signature has, by its label."""
    table = session.signatures
    runs, traces = table["runs"].tolist(), table["traces"].tolist()
    return dict(zip(table["label"].tolist(), zip(runs, traces, strict=True), strict=True))
