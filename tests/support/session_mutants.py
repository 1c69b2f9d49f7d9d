"""Damaged copies of a session, and what comes of all that can be asked of one."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import tfvis_nb as tv
from tests.support.stored_writer import METADATA
from tfvis_nb.session.commands import obey
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import session_state

PAGE = 4096

NAMED = (tv.TraceFormatError, OSError, KeyError, sqlite3.OperationalError)
"""What a damaged file may raise: that it is damaged, that it cannot be opened, that a trace is not there."""


def sample(path: Path) -> bytes:
    """Return the file of a session that has some of everything."""
    writer = Writer(path, keep=None)
    for label in ("train", "test", "save"):
        number, slot = writer.add_signature(Signature("session", label, f"{label}:0", label, "x:0\ny:0"))
        writer.count(slot, Counts(3, 0, 15_000, 5_000, 1, 2))
        for run in range(1, 4):
            writer.add_trace(number, Recording("run_metadata", METADATA, run, 10**18, 5_000), None)
    with tv.open_session(path) as session:
        session.trace_every(10)
        session.trace_next("train")
    writer.close({1: Counts(3, 0, 15_000, 5_000, 1, 2)})
    return path.read_bytes()


def mutants(content: bytes, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield damaged copies without end, each with what was done: page by page, and the structure of pages."""
    chosen = random.Random(seed)
    pages = len(content) // PAGE
    while True:
        made = bytearray(content)
        page = chosen.randrange(pages)
        at = page * PAGE
        kind = chosen.choice(("bytes", "head", "zero", "swap", "cut", "noise", "pointers", "header", "text"))
        if kind == "bytes":
            for _ in range(chosen.randrange(1, 9)):
                made[at + chosen.randrange(PAGE)] = chosen.randrange(256)
        elif kind == "head":
            made[at + chosen.randrange(12)] = chosen.choice((0, 1, 2, 5, 10, 13, 127, 255))
        elif kind == "zero":
            made[at : at + PAGE] = bytes(PAGE)
        elif kind == "swap":
            other = chosen.randrange(pages) * PAGE
            made[at : at + PAGE] = content[other : other + PAGE]
        elif kind == "cut":
            del made[at + chosen.randrange(PAGE) :]
        elif kind == "noise":
            made[at : at + PAGE] = chosen.randbytes(PAGE)
        elif kind == "pointers":  # where the cells of a page lie
            start = at + (108 if page == 0 else 8) + 2 * chosen.randrange(20)
            made[start : start + 2] = chosen.randrange(PAGE).to_bytes(2, "big")
        elif kind == "header":  # of the file
            made[chosen.randrange(100)] = chosen.randrange(256)
        else:  # a tables' statement, or a name
            words = (b"CREATE TABLE", b"signatures", b"writers", b"run_metadata", b"every", b"train")
            word = chosen.choice(words)
            found = content.find(word, chosen.randrange(len(content)))
            if found >= 0:
                made[found + chosen.randrange(len(word))] = chosen.randrange(256)
        yield f"{kind} of page {page + 1}", bytes(made)


def use(path: Path) -> list[str]:
    """Ask for everything, whatever has failed before; return the errors that have no name of ours."""
    unnamed: list[str] = []
    session = tv.SavedSession(path)

    def ask(what: str, *arguments: object) -> object:
        try:
            found = getattr(session, what)
            return found(*arguments) if callable(found) else found
        except NAMED:
            return None
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            unnamed.append(f"{what}: {type(error).__name__}: {error}")
            return None

    for table in ("signatures", "processes", "traces"):
        ask(table)
    for trace in range(11):
        ask("read", trace)
    session_state(session)
    commands: list[dict[str, object]] = [
        {"do": "trace_next"},
        {"do": "trace_every", "n": 3, "signature": 1},
        {"do": "delete", "traces": [1]},
        {"do": "trace_none"},
    ]
    for command in commands:
        try:
            obey(session, command)
        except (*NAMED, ValueError):
            pass
        except Exception as error:  # noqa: BLE001
            unnamed.append(f"{command}: {type(error).__name__}: {error}")
    ask("save", path.with_name("copy.tfvis"))
    session.close()
    for file in path.parent.glob("*.tfvis*"):
        file.unlink()
    return unnamed
