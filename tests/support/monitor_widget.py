"""A monitor's widget without a front end; its messages are kept."""

import json
import threading
from collections.abc import Callable
from typing import Any

import tfvis_nb as tv


class Recorded(tv.MonitorWidget):
    """Keeps the messages to the front end."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.sent: list[tuple[Any, list[bytes]]] = []
        super().__init__(*args, **options)

    def send(self, content: Any, buffers: Any = None) -> None:
        self.sent.append((content, list(buffers or [])))

    def ask(self, kind: str, **content: Any) -> tuple[Any, list[bytes]]:
        """The widget's answer to a message."""
        before = len(self.sent)
        self._handle_custom_msg({"kind": kind, "id": "7", **content}, [])
        (answer,) = self.sent[before:]
        assert (answer[0]["kind"], answer[0]["id"]) == (kind, "7")
        return answer

    @property
    def state(self) -> Any:
        return json.loads(self.get_state()["_state"])


def pushing() -> int:
    """How many widgets look at their sessions."""
    return sum(thread.name == "tfvis-nb monitor" for thread in threading.enumerate())


def apart(work: Callable[[], Any]) -> Any:
    """Do `work` on another thread, as a kernel does with messages that come while a cell runs."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]
