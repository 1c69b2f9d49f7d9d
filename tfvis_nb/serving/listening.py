"""Sockets that listen at every address of a host."""

import contextlib
import errno
import os
import socket
import sys
from collections.abc import Iterator
from typing import Any

_BACKLOG = 1024
"""Connections that the kernel holds until they are accepted; those beyond it try again after seconds."""


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen at every address of a host, at the same port; 0 is any that is free.

    As `tornado.netutil.bind_sockets` does, which leaves a socket open if it fails.

    Raises
    ------
    OSError
        If the host is not known or not of this machine, or if the port is in use.
    """
    sockets: list[socket.socket] = []
    with contextlib.ExitStack() as opened:
        for family, address in _addresses(host, port):
            try:
                one = _listening(family, (address[0], port, *address[2:]))
            except OSError as error:
                # IPv6 may be switched off although localhost has an address of it.
                if error.errno == errno.EADDRNOTAVAIL and (host, address[0]) == ("localhost", "::1"):
                    continue
                raise
            opened.callback(one.close)
            sockets.append(one)
            port = one.getsockname()[1]
        if not sockets:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        opened.pop_all()
    return sockets


def _addresses(host: str, port: int) -> Iterator[tuple[socket.AddressFamily, tuple[Any, ...]]]:
    """Yield families and addresses, those of IPv4 first."""
    family = socket.AF_UNSPEC if socket.has_ipv6 else socket.AF_INET
    found: list[tuple[Any, ...]] = [
        *socket.getaddrinfo(host or None, port, family, socket.SOCK_STREAM, 0, socket.AI_PASSIVE)
    ]
    for family, _, _, _, address in sorted(dict.fromkeys(found), key=lambda each: each[0]):
        # macOS has a link-local address of localhost, for which its firewall asks the user.
        is_link_local = family == socket.AF_INET6 and address[3] != 0
        if not (sys.platform == "darwin" and host == "localhost" and is_link_local):
            yield family, address


def _listening(family: socket.AddressFamily, address: tuple[Any, ...]) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name != "nt":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # Otherwise it takes IPv4 as well, for which there is a socket of its own.
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.setblocking(False)
        one.bind(address)
        one.listen(_BACKLOG)
    except OSError:
        one.close()
        raise
    return one
