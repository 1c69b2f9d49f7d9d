"""Who is refused: whoever has no token, and every page of another site."""

import base64
import hashlib
import re
import socket
from pathlib import Path

import pytest

from tests.serving.client import Answer, Viewer, ask
from tests.support.texts import raises_id
from tfvis_nb.serving import MonitorServer
from tfvis_nb.texts import Text

ADDRESSES = [
    ("GET", "/"),
    ("GET", "/serve.js"),
    ("GET", "/api/socket"),
    ("GET", "/api/save"),
    ("GET", "/no-such-address"),
    ("DELETE", "/api/save"),
]
every_address = pytest.mark.parametrize(("method", "place"), ADDRESSES)

TOKEN = "a-token-of-16-ch"


def enter(server: MonitorServer, **headers: str) -> Answer:
    """Open the address that is printed."""
    return ask(server, f"/?token={server.token}", token="", more=headers)


def key_of(answer: Answer) -> str:
    """The cookie of the page."""
    (key,) = re.findall(r'"tfvis-nb-key", "([\w-]{43})"', answer.body.decode())
    return str(key)


def cookie_of(answer: Answer) -> str:
    return answer.headers["Set-Cookie"].partition(";")[0]


@every_address
def test_without_a_token(server: MonitorServer, method: str, place: str) -> None:
    answer = ask(server, place, method, token="")
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("token")
    assert b"this needs the token: open the whole address that was printed" in answer.body.lower()
    assert server.token.encode() not in answer.body


@every_address
@pytest.mark.parametrize("token", ["x", "\u00e4\u00f6", "Basic", "A" * 5000])
def test_with_a_wrong_token(server: MonitorServer, method: str, place: str, token: str) -> None:
    answer = ask(server, place, method, token=token.encode().decode("latin-1"))
    assert answer.status == 403
    assert b"the token is wrong" in answer.body.lower()


@pytest.mark.parametrize("scheme", ["Bearer", "Basic", ""])
def test_another_scheme(server: MonitorServer, scheme: str) -> None:
    answer = ask(server, "/api/save", token="", Authorization=f"{scheme} {server.token}")
    assert answer.status == 403


@pytest.mark.parametrize(
    "query", ["token=", "token=x", "token=%00", "token=x&token={}", "&".join(["a"] * 500)]
)
def test_a_wrong_token_in_the_address(server: MonitorServer, query: str) -> None:
    answer = ask(server, "/?" + query.format(server.token), token="")
    assert answer.status in (401, 403)
    assert "Set-Cookie" not in answer.headers


def style_of(page: str) -> str:
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    return str(style)


def test_who_opens_it_without_a_token_is_told_in_a_page(server: MonitorServer) -> None:
    answer = ask(server, "/", token="")
    assert answer.status == 401
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    page = answer.body.decode()
    assert "<h1>Open the printed address</h1>" in page
    assert "?token=" in page
    assert "<script" not in page
    # The browser takes this style and no other, and nothing else.
    digest = base64.b64encode(hashlib.sha256(style_of(page).encode()).digest()).decode()
    assert answer.headers["Content-Security-Policy"] == (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        f" img-src data:; style-src 'sha256-{digest}'"
    )
    assert "@media (prefers-color-scheme: dark)" in style_of(page)
    for refused in (ask(server, "/?token=wrong", token=""), ask(server, "/", Host="evil.example")):
        assert refused.headers["Content-Type"] == "text/html; charset=utf-8"
        assert b"<main>" in refused.body
    assert ask(server, "/api/save", token="").headers["Content-Type"] == "application/json"


def test_a_token_in_another_address_is_none(server: MonitorServer) -> None:
    assert ask(server, f"/api/save?token={server.token}", token="").status == 401
    assert ask(server, f"/?token={server.token}", "POST", token="").status == 401


def test_the_token_goes_from_the_address_into_a_key_of_this_port(server: MonitorServer) -> None:
    entered = enter(server)
    assert entered.status == 200
    assert server.token.encode() not in entered.body
    nonce = re.findall(r"script-src 'nonce-([\w-]+)'", entered.headers["Content-Security-Policy"])
    assert re.findall(r"<script[^>]*>", entered.body.decode()) == [f'<script nonce="{nonce[0]}">']
    assert ask(server, "/api/save", token=key_of(entered)).status == 200
    for wrong in ("none", key_of(entered)[:-1], cookie_of(entered).partition("=")[2]):
        assert ask(server, "/api/save", token=wrong).status == 403


def test_sockets_take_the_key_of_the_page(server: MonitorServer) -> None:
    key = key_of(enter(server))
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
    with Viewer(server, token="", headers={**own, "Sec-WebSocket-Protocol": f"tfvis-nb, {key}"}) as viewer:
        assert viewer.socket.selected_subprotocol == "tfvis-nb"
        assert viewer.now()["name"] == "run.tfvis"
    for protocols, status in (
        ("tfvis-nb", 403),
        ("tfvis-nb, ", 403),
        ("tfvis-nb, none", 403),
        (f"tfvis-nb, {key[:-1]}", 403),
        (f"tfvis-nb, {key}, {key}", 403),
        (f"tfvis-nb, {cookie_of(enter(server)).partition('=')[2]}", 403),
        (f"other, {key}", 401),
        (key, 401),
        ("", 401),
    ):
        answer = ask(server, "/api/socket", token="", more={"Sec-WebSocket-Protocol": protocols})
        assert answer.status == status, protocols
    # A wrong header is not made up for.
    answer = ask(server, "/api/socket", token="x", more={"Sec-WebSocket-Protocol": f"tfvis-nb, {key}"})
    assert answer.status == 403


def test_the_cookie_is_for_the_page_alone(server: MonitorServer) -> None:
    # The browser sends it to whoever else serves on this host.
    entered = enter(server)
    _, *attributes = entered.headers["Set-Cookie"].split("; ")
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    cookie = cookie_of(entered)
    assert cookie.startswith(f"tfvis-nb-{server.port}=")
    for secret in (server.token, key_of(entered)):
        assert secret not in cookie
    for place in ("/", "/serve.js"):
        answer = ask(server, place, token="", Cookie=cookie)
        assert answer.status == 200
        assert key_of(entered).encode() not in answer.body
    for method, place in ADDRESSES[2:]:
        assert ask(server, place, method, token="", Cookie=cookie).status == 401
    # Others on this host, and such as are no cookies by the book.
    others = f'_xsrf=2|a|b; username-127-0-0-1="2|1:0"; {{"a": 1}}; {cookie}; x'
    assert ask(server, "/", token="", Cookie=others).status == 200
    for wrong in (cookie + "0", cookie[:-1], cookie.partition("=")[0] + "=", cookie.partition("=")[2]):
        assert ask(server, "/", token="", Cookie=wrong).status == 401


def test_a_page_outlives_a_start_with_the_same_token_alone(path: Path) -> None:
    with MonitorServer(path, token=TOKEN) as server:
        entered = enter(server)
    with MonitorServer(path, port=server.port, token=TOKEN) as again:
        assert ask(again, "/api/save", token=key_of(entered)).status == 200
        assert ask(again, "/", token="", Cookie=cookie_of(entered)).status == 200
    with MonitorServer(path, port=server.port) as other:
        assert ask(other, "/api/save", token=key_of(entered)).status == 403
        assert ask(other, "/", token="", Cookie=cookie_of(entered)).status == 401


def test_a_link_on_another_page_is_followed(server: MonitorServer) -> None:
    # Of a terminal in a browser, or of the file that starts the browser. A strict cookie is not sent with
    # a redirect then, but with what this page asks for.
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    entered = enter(server, **link)
    assert entered.status == 200
    assert b'location.replace("./" + location.hash)' in entered.body
    assert ask(server, "/", token="", Cookie=cookie_of(entered)).status == 200
    for headers in (
        {"Sec_Fetch_Dest": "iframe"},
        {"Sec_Fetch_Mode": "no-cors"},
        {"Origin": "http://a.example"},
    ):
        assert enter(server, **{**link, **headers}).status == 403


@every_address
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://127.0.0.1:{port}@evil.example"},
        {"Origin": "http://127.0.0.1:{port}.evil.example"},
        {"Origin": "http://["},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_page_of_another_origin(
    server: MonitorServer, method: str, place: str, headers: dict[str, str]
) -> None:
    sent = {name: value.format(port=server.port) for name, value in headers.items()}
    answer = ask(server, place, method, more=sent)
    assert answer.status == 403
    assert Text("foreign_page").encode() in answer.body.lower()


def test_the_own_page(server: MonitorServer) -> None:
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec_Fetch_Site": "same-origin"}
    assert ask(server, "/api/save", more=own).status == 200


@every_address
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.nip.io",
        "localhost.evil.example",
        "10.0.0.1",
        "[::2]",
    ],
)
def test_a_name_that_was_made_to_point_here(
    server: MonitorServer, method: str, place: str, host: str
) -> None:
    name = host.format(port=server.port)
    answer = ask(server, place, method, Host=name, Origin=f"http://{name}")
    assert answer.status == 403
    assert b"is not allowed; to allow it, use --allowed-host" in answer.body.lower()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8888", "127.0.0.1:1", "[::1]", "[0:0::1]:80"])
def test_names_of_the_loopback(server: MonitorServer, host: str) -> None:
    # With any port: it is another one at the near end of a tunnel.
    assert ask(server, "/api/save", Host=host, Origin=f"http://{host}").status == 200


def test_allowed_names(path: Path) -> None:
    with MonitorServer(path, allowed_hosts=["Monitor.example.org", "fe80::1"]) as server:
        assert ask(server, "/api/save", Host="monitor.example.org:443").status == 200
        assert ask(server, "/api/save", Host="[fe80:0::1]").status == 200
        assert ask(server, "/api/save", Host="example.org").status == 403
    for name in ("a b", "http://a", "a/b", "", "a:80"):
        with raises_id(ValueError, "allowed_host_no_name"):
            MonitorServer(path, allowed_hosts=[name])


def test_everywhere_is_any_number_and_the_own_name(path: Path) -> None:
    with MonitorServer(path, host="0.0.0.0") as server:
        assert not server.loopback
        assert server.address == f"http://{socket.gethostname()}:{server.port}/"
        for host in (socket.gethostname(), "192.0.2.7:80", "localhost"):
            assert ask(server, "/api/save", Host=host).status == 200
        assert ask(server, "/api/save", Host="evil.example").status == 403


def test_tokens(path: Path) -> None:
    with MonitorServer(path) as one, MonitorServer(path) as other:
        assert re.fullmatch(r"[\w-]{43}", one.token)
        assert one.token != other.token
        assert one.url == f"http://127.0.0.1:{one.port}/?token={one.token}"
        # The browser sends the cookies of a host to each of its ports.
        assert cookie_of(enter(one)).partition("=")[0] != cookie_of(enter(other)).partition("=")[0]
        assert ask(other, "/", token="", Cookie=cookie_of(enter(one))).status == 401
    for token in ("", "short", "has spaces in the text", "k" * 15, "\u00fc" * 20, "a" * 20 + "\n"):
        with raises_id(ValueError, "token_too_short"):
            MonitorServer(path, token=token)
    with MonitorServer(path, token=TOKEN) as server:
        assert ask(server, "/api/save", token=TOKEN).status == 200


def test_nobody_logs_the_token(server: MonitorServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    key = key_of(enter(server))
    for protocol in (f"tfvis-nb, {key}", f"tfvis-nb, {server.token}"):
        with Viewer(server, token="", headers={"Sec-WebSocket-Protocol": protocol}) as viewer:
            viewer.now()
    ask(server, f"/nothing?token={server.token}")
    assert server.token not in caplog.text
    assert key not in caplog.text
