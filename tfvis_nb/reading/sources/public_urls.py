"""URLs and messages without secrets: nothing that is stored, logged or shown has a password or a token."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

WEB = frozenset(("http", "https"))

_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"<>]*", re.IGNORECASE)
_WEB_SECRETS = re.compile(r"(?<=://)[^/?#]*@|[?#].*", re.DOTALL)
# Outside the web, a container may stand before "@", and "?" in a pattern is any letter.
_SECRETS = re.compile(r"(?<=://)[^/?#@]*:[^/?#]*@|\?[\w.~%-]+=.*", re.DOTALL)
_SHORTEST_SECRET = 4


def public_url(url: str) -> str:
    """Return a URL without passwords, tokens and queries, such as those of a presigned link.

    >>> public_url("zip://a.pb::https://me:secret@host/a.zip?X-Amz-Signature=5")
    'zip://a.pb::https://host/a.zip'
    >>> public_url("s3://key:secret@bucket/step?.pb"), public_url("abfs://logs@account/a.pb?sig=5")
    ('s3://bucket/step?.pb', 'abfs://logs@account/a.pb')
    """
    layers = (
        (_WEB_SECRETS if layer.partition("://")[0].lower() in WEB else _SECRETS).sub("", layer)
        for layer in url.split("::")
    )
    return "::".join(layers)


def public_text(text: str, options: Mapping[str, Any]) -> str:
    """Return a message without the secrets of its URLs, and without the values of some options.

    >>> public_text("no key pst! for http://me:pw@host/a.pb?sig=5", {"secret": "pst!"})
    'no key *** for http://host/a.pb'
    """
    for value in _values(options):
        text = text.replace(value, "***")
    return _URL.sub(lambda match: public_url(match[0]), text)


def _values(options: Any) -> Iterator[str]:
    if isinstance(options, str):
        yield from [options] if len(options) >= _SHORTEST_SECRET else []
    elif isinstance(options, Mapping):
        for value in options.values():
            yield from _values(value)
