"""Unpacks the code of an exported page."""

import base64
import gzip

LETTERS = "%()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~"
"""The digits of base 85 in pages."""


def unpacked_code(packed: str) -> str:
    """Return the code in the text of a page's element ``tfvis-code``."""
    ascii85 = "".join(chr(ord("!") + LETTERS.index(letter)) for letter in packed)
    return gzip.decompress(base64.a85decode(ascii85)).decode()
