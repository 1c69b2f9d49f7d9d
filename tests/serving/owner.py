"""How long the owner of a session waits for answers, and for the end, despite hostile clients.

``python -m tests.serving.owner PATH BEHAVIOUR`` writes a session and prints the seconds, as JSON.
"""

import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.serving.client import Viewer
from tests.serving.conftest import write_session
from tests.serving.hostile import BEHAVIOURS, Send, beset
from tfvis_nb.serving import MonitorServer

CLIENTS = 260
ANSWERS = 8


def waits(path: Path, behaviour: Callable[[Send], Awaitable[None]]) -> list[float]:
    """Return the seconds that each answer takes, and then the end of the server."""
    found: list[float] = []
    with MonitorServer(path) as server, Viewer(server) as first:
        first.now()  # its process has started
        with beset(server.port, CLIENTS, behaviour):
            for _ in range(ANSWERS):
                began = time.monotonic()
                with Viewer(server) as viewer:
                    assert viewer.now()["name"] == path.name
                found.append(time.monotonic() - began)
            assert first.now()["name"] == path.name
            began = time.monotonic()
            server.stop()
            found.append(time.monotonic() - began)
    return found


if __name__ == "__main__":
    session = Path(sys.argv[1])
    write_session(session)
    json.dump(waits(session, BEHAVIOURS[sys.argv[2]]), sys.stdout)
