"""Hosts and folders in texts: others who read a shared file must not learn them."""

import re
from ipaddress import AddressValueError, IPv6Address

_BYTE = r"(?:25[0-5]|2[0-4]\d|[01]?\d?\d)"
ADDRESS = re.compile(
    rf"(?<!\d)(?:{_BYTE}\.){{3,}}{_BYTE}(?!\d)"
    rf"|(?<![A-Za-z\d])ip[-_](?:[0-9a-f]{{8}}|(?:{_BYTE}[-_]){{3}}{_BYTE})(?![A-Za-z\d])"
    rf"|(?<!\d)(?<!\d-)(?:{_BYTE}-){{3}}{_BYTE}(?!-?\d)"
    r"|(?<![A-Za-z\d])(?:[0-9a-f]{1,4}|(?<!:):)(?::[0-9a-f]{0,4}){0,6}:[0-9a-f]{1,4}"
    rf"(?:(?:\.{_BYTE}){{3}})?(?!:?[A-Za-z\d])"
    r"|(?<![A-Za-z\d])(?:[0-9a-f]{1,4}-){7}[0-9a-f]{1,4}(?![A-Za-z\d])",
    re.IGNORECASE,
)
"""Addresses of hosts, and the names that clouds make of them: ``10.1.2.3``, ``ip-10-1-2-3``, ``fd00::1``."""
_CODE = r"(?:py|ipynb|c|cc|cpp|cu|h|hpp)"
_HOST = re.compile(
    rf"(?<![\w.-])(?:[a-z\d][\w-]*\.)+(?!{_CODE}\b)[a-z][\w-]*:\d{{2,5}}(?![\w.])"
    r"|(?<![\w.-])(?:[a-z\d][\w-]*\.)+(?:local|localdomain|internal|intranet|lan|cluster|svc)(?![\w-]|\.\w)"
    r"|(?<![\w.-])(?:[a-z\d][\w-]*\.){2,}(?:com|net|org|edu|gov)(?![\w-]|\.\w)",
    re.IGNORECASE,
)
"""Names of hosts with a port or a domain, unlike ``train.py:12`` and ``tf.data.Dataset``."""
_FOLDERS = re.compile(
    r"(?:[A-Za-z]:)?[/\\](?:home|Users)[/\\](?:[^/\\\n:;,'\"`]{1,64}[/\\](?:[^/\\\s:]+[/\\])*|[\w.@-]+)"
    r"|(?<![\w.:)>])(?:~|[A-Za-z]:)?(?:[/\\][^/\\\s:]+)+[/\\](?=[^/\\\s])"
    r"|[^\s'\"`(]*[/\\](?=[^\s/\\]+\.(?:py|ipynb)\b)"
)
"""Folders of absolute paths, a user's even with spaces, and all folders of Python files."""


def without_places(text: str) -> str:
    """Return a text with files instead of their paths, and ``host`` for names and addresses of hosts.

    >>> without_places("/home/an na/model/train.py:12 waits for worker-3.cluster.local:2222 and 10.0.0.7:80")
    'train.py:12 waits for host and host:80'
    >>> without_places("/job:worker/replica:0/task:1 runs layer1/MatMul of tf.data.Dataset")
    '/job:worker/replica:0/task:1 runs layer1/MatMul of tf.data.Dataset'
    """
    text = ADDRESS.sub(lambda found: "host" if address(found[0]) else found[0], _FOLDERS.sub("", text))
    return _HOST.sub("host", text)


def address(text: str) -> str:
    """Return the same text for all forms of an address; an empty one for what only looks like an address.

    >>> address("ip-10-1-2-3"), address("10.1.2.3"), address("12:30:45")
    ('10.1.2.3', '10.1.2.3', '')
    """
    text = text.lower()
    if ":" not in text:
        return ".".join(re.findall("[0-9a-f]+", text.removeprefix("ip")))
    try:
        is_address = bool(IPv6Address(text)) and any(letter.isdigit() for letter in text)
    except AddressValueError:
        is_address = re.fullmatch("(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", text) is not None
    return text if is_address else ""
