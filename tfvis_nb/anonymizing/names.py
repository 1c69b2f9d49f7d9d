"""Replace the names in texts consistently."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tfvis_nb.core.phases import is_optimizer
from tfvis_nb.core.places import ADDRESS, address

_PHRASES = (
    r"External id|Ev Idx|Input Dims|Input type|Fwd thread id|Sequence number|registers per thread"
    r"|shared memory|memory bandwidth \(GB/s\)"
)
"""Multi-word facts that PyTorch's profiler writes before ``=``."""
_ENUMERATIONS = (
    r"region_type=(?:output|temp|persist|dynamic|unknown)\b|execution_mode=default\b"
    r"|\bkind(?:_src|_dst)?:(?:array|device|device_static|managed|managed_static|pageable|pinned|unknown)\b"
    r"|cat=(?:cuda_runtime|cuda_driver|user_annotation|cpu_op|python_function|Trace)\b"
    r"|(?<= )(?:from|to)(?= /)"
)
"""Words of profilers, with the facts whose values they are."""
_LETTER = r"[A-Za-z0-9_\u0080-\U0010ffff]"
_NAME = rf"{_LETTER}+(?:-{_LETTER}+)*"
_TOKEN = re.compile(rf"(?P<kept>(?:{_PHRASES})(?==)|{_ENUMERATIONS})|{_NAME}")
_FACT = re.compile(r"[\"']?\s?[=:](?!:)")
_WORD = re.compile(rf"{_LETTER}+")
_PREFIX = re.compile(r"__(?:inference|forward|backward)_")
_NUMBERED = re.compile(r"(?:_\d+)+$")
_MANGLED = re.compile(r"(S\d*_|T\d*_|L[a-z]n?\d+E)|(\d+)")
_MARKS: tuple[tuple[Callable[[str], object], str], ...] = (
    (is_optimizer, "distributedoptimizer"),
    (re.compile("compil", re.IGNORECASE).search, "compiling"),
)
"""Analyses recognise these names, so replacements must keep the parts they look for."""
_LETTERS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PARTITION = re.compile(r"[SV]\d+|\d+[a-zA-Z]{0,3}")
"""Suffixes of copies of nodes and of versions of ops, and numbers with units."""
_CALL = re.compile(r"(?:cuda|cu|hip|nccl)[A-Z]")
"""Functions of CUDA, HIP and NCCL, whose names consist of words of kernels."""
_SHORT = 2
"""Maximum letters of short words kept in names of kernels: type codes such as ``f`` and ``nt``."""


class Names:
    """Replacements of names, shared by several texts and traces.

    Public words (see `public`), numbers, single letters and punctuation stay, so
    scopes, suffixes and the grammar of labels are preserved.

    Examples
    --------
    >>> from tfvis_nb.anonymizing.names import Names
    >>> names = Names()
    >>> names.replaced("fraud/dense_1/MatMul", "op"), names.replaced("gradients/fraud/score_grad", "op")
    ('layer1/layer2_1/MatMul', 'gradients/layer1/op1_grad')
    >>> names.replaced("/job:payroll/task:1/device:GPU:0", "device")
    '/job:device1/task:1/device:GPU:0'
    """

    def __init__(self) -> None:
        self._parts: dict[str, str] = {}
        self._identifiers: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def originals(self) -> list[str]:
        """Return all texts that were replaced."""
        return list(self._parts)

    def replaced(
        self, text: str, role: str, *, kernel: bool = False, known: frozenset[str] = frozenset()
    ) -> str:
        """Return a text with replaced names.

        Parameters
        ----------
        text
            Any text from a trace.
        role
            The prefix of new replacements; scopes before a ``/`` are called ``layer``.
        kernel
            Whether it is the name of a kernel or of an XLA instruction.
        known
            Words that stay unless they are replaced elsewhere.
        """

        def other(match: re.Match[str]) -> str:
            token, end = match[0], match.end()
            if match.lastgroup or _is_fact(text, token, end):
                return token
            if "-" in token and token in public("identifiers"):
                return token
            of = "layer" if text[end : end + 1] == "/" and role in ("op", "tensor") else role
            of = "file" if text[end : end + 3] == ".py" else of
            return _WORD.sub(lambda word: self._identifier(word[0], of, known, kernel=kernel), token)

        made, at, after = "", 0, 0
        while found := ADDRESS.search(text, after):
            after = found.start() + 1
            if host := address(found[0]):
                made += _replaced_tokens(text, at, found.start(), other) + self._part(host, "host")
                at = after = found.end()
        return made + _replaced_tokens(text, at, len(text), other)

    def _identifier(self, name: str, role: str, known: frozenset[str], *, kernel: bool) -> str:
        if name.isascii() and (name.isdigit() or len(name) == 1):
            return name
        if name in known and name not in self._parts:
            return name
        prefix = match[0] if (match := _PREFIX.match(name)) else ""
        number = match[0] if (match := _NUMBERED.search(name, len(prefix))) else ""
        stem = name[len(prefix) : len(name) - len(number)]
        if stem not in self._identifiers:
            is_mangled = stem.startswith("_Z") and kernel
            self._identifiers[stem] = (
                self._demangled(stem, role) if is_mangled else self._stem(stem, role, kernel=kernel)
            )
        return prefix + self._identifiers[stem] + number

    def _stem(self, stem: str, role: str, *, kernel: bool) -> str:
        if stem in public("identifiers"):
            return stem
        keeps: Callable[[str], bool] = is_kernel_part if kernel else is_public_part
        parts: list[str] = []
        unknown: list[str] = []
        for part in (*stem.split("_"), None):
            if part is not None and (not keeps(part) or (unknown and part.isdigit())):
                unknown.append(part)
                continue
            if unknown:
                # Numbers at the end of replaced names distinguish executions and copies.
                last = next(at for at in range(len(unknown), 0, -1) if not unknown[at - 1].isdigit())
                parts += [self._part("_".join(unknown[:last]), role), *unknown[last:]]
                unknown = []
            if part is not None:
                parts.append(part)
        return "_".join(parts)

    def _part(self, part: str, role: str) -> str:
        if part in public("identifiers"):
            return part
        if part not in self._parts:
            role = next((marked for marks, marked in _MARKS if marks(part)), role)
            self._counts[role] = self._counts.get(role, 0) + 1
            self._parts[part] = f"{role}{self._counts[role]}"
        return self._parts[part]

    def _demangled(self, name: str, role: str) -> str:
        """Replace the identifiers in a mangled C++ name, where each follows its length."""
        mangled, at = "", 0
        while match := _MANGLED.search(name, at):
            mangled += name[at : match.start()]
            at = match.end()
            if match[1]:
                mangled += match[1]
                continue
            length = int(match[2])
            word = name[at : at + length]
            word = self._stem(word, role, kernel=True)
            mangled += f"{len(word)}{word}"
            at += length
        return mangled + name[at:]


def _replaced_tokens(text: str, start: int, end: int, other: Callable[[re.Match[str]], str]) -> str:
    made = ""
    for token in _TOKEN.finditer(text, start, end):
        made += text[start : token.start()] + other(token)
        start = token.end()
    return made + text[start:end]


def is_public(text: str) -> bool:
    """Return whether no name in a text would be replaced.

    >>> is_public("worker 1"), is_public("payroll")
    (True, False)
    """
    return Names().replaced(text, "name") == text


def _is_fact(text: str, token: str, end: int) -> bool:
    return token in public("facts") and _FACT.match(text, end) is not None


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
