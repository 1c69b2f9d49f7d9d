"""An assistant: the SDK's client of a server that it starts, as its users configure it."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, ImageContent, TextContent


class Assistant:
    """A connected client. Its answers are texts, objects of JSON or pictures."""

    def __init__(self, portal: BlockingPortal, client: Client, server: psutil.Process) -> None:
        self.portal, self.client, self.server = portal, client, server

    def result(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool."""
        return self.portal.call(lambda: self.client.call_tool(tool, arguments))

    def text(self, tool: str, **arguments: Any) -> str:
        """Call a tool that succeeds with a text."""
        result = self.result(tool, **arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert not result.is_error, content.text
        return content.text

    def json(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that answers in JSON."""
        return json.loads(self.text(tool, **arguments))

    def rows(self, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        """Call a tool that answers with rows."""
        answer = self.json(tool, **arguments)
        return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]

    def error(self, tool: str, **arguments: Any) -> str:
        """Call a tool that fails."""
        result = self.result(tool, **arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert result.is_error, content.text
        return content.text

    def picture(self, tool: str, **arguments: Any) -> ImageContent:
        """Call a tool that draws."""
        (content,) = self.result(tool, **arguments).content
        assert isinstance(content, ImageContent)
        return content

    def open(self, path: Path | str) -> str:
        """Open a trace, and return its id."""
        return self.text("open_trace", path=str(path)).split()[1].removesuffix(":")

    @property
    def worker(self) -> psutil.Process:
        """The process that reads traces."""
        (worker,) = (one for one in self.server.children() if "tfvis_nb.assistants.worker" in one.cmdline())
        return worker


def has_ended(process: psutil.Process) -> bool:
    """Return whether a process has ended; its parent may not have taken notice."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@contextmanager
def assistant(folder: Path, *options: str) -> Iterator[Assistant]:
    """Start a server in a folder."""
    mine = psutil.Process()
    before = {one.pid for one in mine.children()}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "tfvis_nb", "mcp", *options], env=dict(os.environ), cwd=folder
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(command))) as client,
    ):
        (server,) = (one for one in mine.children() if one.pid not in before and "mcp" in one.cmdline())
        yield Assistant(portal, client, server)
