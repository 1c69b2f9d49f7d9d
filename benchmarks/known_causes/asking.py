"""What a client of ``tfvis-nb mcp`` needs to find the line of a cause: calls, and bytes of answers."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import TextContent


class Asked(NamedTuple):
    """The calls until an answer named the line, or all of them if none did."""

    calls: int
    size: int
    names_line: bool


Question = tuple[Sequence[Path], Collection[str]]
"""The files of a trace, and the lines of its cause as ``file:line``."""


def ask(questions: Sequence[Question]) -> list[Asked]:
    """Ask one server for the line of each trace: `open_trace`, then `source`."""
    return anyio.run(_asked, questions) if questions else []


async def _asked(questions: Sequence[Question]) -> list[Asked]:
    roots = {file.resolve().parent for files, _ in questions for file in files}
    options = [option for root in sorted(roots) for option in ("--root", str(root))]
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "tfvis_nb", "mcp", *options], env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        return [await _asked_one(client, files, {*places}) for files, places in questions]


async def _asked_one(client: Client, files: Sequence[Path], places: set[str]) -> Asked:
    first = await _answer(client, "open_trace", path=[str(file.resolve()) for file in files])
    if places & {*re.findall(r"[\w-]+\.py:\d+", first)}:
        return Asked(1, len(first.encode()), names_line=True)
    second = await _answer(client, "source", trace=first.split()[1].removesuffix(":"))
    found = {f"{Path(file).name}:{line}" for file, line, *_ in json.loads(second)["rows"]}
    return Asked(2, len((first + second).encode()), bool(places & found))


async def _answer(client: Client, tool: str, **arguments: object) -> str:
    (content,) = (await client.call_tool(tool, arguments)).content
    assert isinstance(content, TextContent)
    return content.text
