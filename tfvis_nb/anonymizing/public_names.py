"""The names made by TensorFlow, XLA, JAX, CUDA and Horovod, listed in ``public_names.json``.

* ``ops``, ``words``: kept as part of a name, between underscores or alone: op types, activities of the
  runtime, scopes such as ``gradients`` and parts of device names.
* ``identifiers``: kept only as a whole name, such as HLO opcodes, JAX primitives and names of thread pools.
* ``facts``: kept before ``=`` or ``:`` in texts of a profiler.
* ``attributes``: the attributes of TensorFlow's ops.
* ``kernels``: words in names of kernels and XLA instructions, in lower case.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

_LETTERS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PARTITION = re.compile(r"[SV]\d+|\d+[a-zA-Z]{0,3}")
"""Suffixes of copies of nodes and of versions of ops, and numbers with units."""
_CALL = re.compile(r"(?:cuda|cu|hip|nccl)[A-Z]")
"""Functions of CUDA, HIP and NCCL, whose names consist of words of kernels."""
_SHORT = 2
"""Maximum letters of short words kept in names of kernels: type codes such as ``f`` and ``nt``."""


@cache
def public(group: str) -> frozenset[str]:
    """Return a group of ``public_names.json``."""
    return _groups()[group]


@cache
def _groups() -> dict[str, frozenset[str]]:
    groups = json.loads(Path(__file__).with_name("public_names.json").read_text(encoding="utf-8"))
    return {group: frozenset(" ".join(lines).split()) for group, lines in groups.items()}


def is_public_part(part: str) -> bool:
    """Return whether a part of a name between underscores is kept.

    >>> is_public_part("MatMul"), is_public_part("S18"), is_public_part("fraud")
    (True, True, False)
    """
    return (
        (len(part) <= 1 and part.isascii())
        or part in public("words")
        or part in public("ops")
        or bool(_PARTITION.fullmatch(part))
        or (_CALL.match(part) is not None and _are_kernel_words(part))
    )


def is_kernel_part(part: str) -> bool:
    """Return whether a part of the name of a kernel or an instruction is kept.

    >>> is_kernel_part("EigenMetaKernel"), is_kernel_part("tilesize64x64x32"), is_kernel_part("FraudKernel")
    (True, True, False)
    """
    return is_public_part(part) or (part.isascii() and _are_kernel_words(part))


def _are_kernel_words(part: str) -> bool:
    words = _LETTERS.findall(part)
    return all(len(word) <= _SHORT or word.lower() in public("kernels") for word in words)
