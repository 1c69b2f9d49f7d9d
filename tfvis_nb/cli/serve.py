"""``tfvis-nb serve``: the monitor of a job in a browser, without a notebook."""

import errno
import html
import logging
import signal
import socket
import sqlite3
import ssl
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import click

from tfvis_nb.cli.errors import Failure, note, unreadable
from tfvis_nb.cli.open import shown
from tfvis_nb.cli.parameters import FILE
from tfvis_nb.cli.verb import verb
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.serving import MonitorServer
from tfvis_nb.serving.access import validate_token
from tfvis_nb.texts import Text, text_of

_BY_SIGNAL = 128
"""The exit code of a process ended by a signal is this plus the number of the signal."""

_SAVED = (".gz", ".pickle", ".pkl", ".xz")
"""How names of files end that tftracer saved. Jobs write other files, which may not exist yet."""

_ONWARD = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>tfvis-nb</title>
<meta http-equiv="refresh" content="0; url={url}">
"""


_ABOUT = """
RUN.tfvis is the file of a TraceSession, which may not exist yet, or one that tftracer saved. Only this
machine can reach the page, and only at the printed address, which contains a token.
"""

_EXAMPLES = """
tfvis-nb serve run.tfvis
tfvis-nb serve run.tfvis --port 8765 --no-browser    # elsewhere: ssh -L 8765:localhost:8765 HOST
tfvis-nb serve run.tfvis --host 0.0.0.0 --certfile cert.pem --keyfile key.pem --token-file token
"""


@verb("serve", _ABOUT, _EXAMPLES, more_codes=", 130 ended by Ctrl-C, 143 by SIGTERM")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen on; 0 for any free one.",
)
@click.option(
    "--host", metavar="HOST", default="127.0.0.1", show_default=True, help="Name or address to listen at."
)
@click.option(
    "--token-file", metavar="FILE", type=FILE, help="File with the token; by default a random one is printed."
)
@click.option("--certfile", metavar="FILE", type=FILE, help="Certificate (PEM) to encrypt with.")
@click.option("--keyfile", metavar="FILE", type=FILE, help="Its key, unless the same file holds it.")
@click.option(
    "--allowed-host",
    metavar="NAME",
    multiple=True,
    help="Another host name that browsers may use, such as a proxy's; repeatable.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.argument("session", metavar="RUN.tfvis", type=FILE)
def command(session: Path, **options: Any) -> int:
    """Serve a session until Ctrl-C."""
    with _as_session(session) as path:
        return _serve(path, SimpleNamespace(**options))


def _serve(path: Path, arguments: SimpleNamespace) -> int:
    _check_session(path)
    if arguments.keyfile and not arguments.certfile:
        raise click.UsageError(Text("keyfile_option_alone"))
    token = None if arguments.token_file is None else _token_in(arguments.token_file)
    try:
        server = MonitorServer(
            path,
            host=arguments.host,
            port=arguments.port,
            token=token,
            certfile=arguments.certfile,
            keyfile=arguments.keyfile,
            allowed_hosts=arguments.allowed_host,
        )
    except ValueError as error:
        raise click.UsageError(text_of(error)) from None
    # It warns about each client that does not trust the certificate.
    logging.getLogger("tornado.general").setLevel(logging.ERROR)
    with _ended_by_signals():
        _start(server, arguments)
        try:
            _say(server, path, arguments)
            if arguments.no_browser:
                server.join()
            else:
                _show(server)
        finally:
            server.stop()
    return 0


@contextmanager
def _as_session(path: Path) -> Iterator[Path]:
    """Return the path, or that of a session converted from tftracer."""
    from tfvis_nb.compat.import_tftracer import converted, may_be_tftracers
    from tfvis_nb.core.errors import TraceFormatError

    if path.suffix.lower() in _SAVED and not path.exists():
        raise Failure(Text("no_such_file", path=path))
    try:
        if not path.is_file() or not may_be_tftracers(path):
            yield path
            return
        folder = TemporaryFolder()
    except OSError as error:
        raise unreadable(path, error) from None
    with folder:
        session = folder.path / f"{path.name}.tfvis"
        try:
            notes = converted(path, session)
        except TraceFormatError as error:
            raise Failure(text_of(error)) from None
        for one in notes:
            note(f"{path}: {one}")
        yield session


def _check_session(path: Path) -> None:
    """Reject other kinds of files; a missing file may still appear."""
    from tfvis_nb.core.errors import TraceFormatError
    from tfvis_nb.session import open_session

    if path.exists() and not path.is_file():
        raise Failure(Text("no_session_file", path=path))
    for again in (True, False):
        try:
            open_session(path).close()
        except FileNotFoundError:
            return
        except TraceFormatError as error:
            if again:
                time.sleep(0.5)  # a job may be creating it right now
                continue
            raise Failure(text_of(error)) from None
        except (sqlite3.Error, OSError) as error:
            raise Failure(Text("session_unreadable", path=path, reason=error)) from None
        return


def _token_in(path: Path) -> str:
    try:
        token = validate_token(path.read_text(encoding="utf-8").strip())
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise Failure(Text("no_such_file", path=path)) from None
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise Failure(Text("no_text_file", path=path)) from None
    except ValueError as error:
        raise Failure(text_of(error).named(path)) from None
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        note(Text("token_readable_by_others", path=path))
    return token


def _start(server: MonitorServer, arguments: SimpleNamespace) -> None:
    try:
        server.start()
    except ssl.SSLError as error:
        files = " and ".join(map(str, filter(None, (arguments.certfile, arguments.keyfile))))
        what = error.reason or str(error)
        raise Failure(Text("no_certificate", files=files, reason=what)) from None
    except FileNotFoundError as error:
        if error.filename is None and error.strerror is None:
            raise Failure(text_of(error)) from None  # the front end
        files = " or ".join(map(str, filter(None, (arguments.certfile, arguments.keyfile))))
        raise Failure(Text("no_such_file", path=files)) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        where = f"{arguments.host}, port {arguments.port}" if arguments.port else arguments.host
        raise Failure(
            Text("cannot_serve", where=where, reason=why, advice=_what_helps(error, arguments.port))
        ) from None


def _what_helps(error: OSError, port: int) -> str:
    if port and error.errno in (errno.EADDRINUSE, errno.EACCES):
        return Text("try_free_port")
    if isinstance(error, socket.gaierror) or error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
        return Text("try_own_host")
    return Text("try_other_port")


def _say(server: MonitorServer, path: Path, arguments: SimpleNamespace) -> None:
    """Print the facts, and last the address: a program that waits for it may end this process immediately."""
    if arguments.token_file is not None:
        note(Text("address_of_token_file", path=arguments.token_file))
    if not path.exists():
        note(Text("session_not_there_yet", path=path))
    if not server.loopback and not server.secure:
        note(Text("not_encrypted"))
    note(Text("ctrl_c_ends_server"))
    print(server.url if arguments.token_file is None else server.address, flush=True)  # noqa: T201


def _show(server: MonitorServer) -> None:
    """Show it in a browser, and wait until it ends."""
    # Through a private file that redirects there, because all users can see a browser's arguments.
    with TemporaryFolder() as folder:
        page = folder.path / "monitor.html"
        page.write_text(_ONWARD.format(url=html.escape(server.url)), encoding="utf-8")
        if not shown(page):
            note(Text("browser_for_address"))
        server.join()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM or a closed terminal end the process as cleanly as Ctrl-C does."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(_BY_SIGNAL + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Under nohup, closing the terminal must not end it.
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
