"""Why JAX traced functions again: its explanations in several versions, and in recordings."""

import logging
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tfvis_nb as tv
from tests.support.texts import figures_of
from tfvis_nb.analysis import functions, retraces, why_not
from tfvis_nb.recording.jax.cache_misses import explanation

OPTION = "jax_explain_cache_misses"
LOGGERS = ("jax._src.pjit", "jax._src.interpreters.partial_eval", "jax._src.compiler")

Row = tuple[str, str, str | None, str | None]

NEW = """TRACING CACHE MISS at /a/train.py:9:4 (main):
  never seen function:
    make.<locals>.step id=139 defined at /a/train.py:7
  but seen another function defined on the same line; maybe the function is
  being re-defined repeatedly, preventing caching?"""
HEADS = {
    "0.4.30": "TRACING CACHE MISS at /a/train.py:9 (main) because:\n  for step defined at /a/train.py:7\n",
    "0.5": "TRACING CACHE MISS at /a/train.py:9:4 (main) costing 12.345 ms because:\n"
    "  for step defined at /a/train.py:7\n"
    "  all previously seen cache keys are different. Closest previous key:\n",
    "0.9": "TRACING CACHE MISS at /a/train.py:9:4 (main):\n  for step defined at /a/train.py:7\n"
    "  all previously seen cache keys differ. For the closest previous key:\n",
}
HINT = (
    "where weak_type=True often means a Python builtin numeric value, and \nweak_type=False means an Array."
)


@pytest.mark.parametrize(
    ("version", "text", "expected"),
    [
        (
            "0.4.30",
            (
                "  never seen input type signature:\n    a: f32[11],  b: i32[]\n"
                "  closest seen input type signature has 2 mismatches, including:\n"
                "    * at a, seen f32[10], but now given f32[11]\n    * at b, seen i32[], but now given f32[]"
            ),
            [("a", "shape", "f32[10]", "f32[11]"), ("b", "dtype", "i32[]", "f32[]")],
        ),
        (
            "0.4.30",
            (
                "  closest seen input type signature has 1 mismatches, including:\n"
                f"    * at a, seen f32[]{{weak_type=True}}, but now given f32[]{{weak_type=False}}\n{HINT}"
            ),
            [("a", "dtype", "f32[]{weak_type=True}", "f32[]{weak_type=False}")],
        ),
        (
            "0.4.30",
            (
                "  never seen input pytree\n  closest seen input pytree has 1 mismatches, including:\n"
                "    * at args[0]['x'], seen list of length 2 but now given list of length 3,"
                "      so the lengths do not match"
            ),
            [("args[0]['x']", "structure", "list of length 2", "list of length 3")],
        ),
        (
            "0.4.30",
            (
                "  never seen passing 1 positional args and 1 keyword args with keys:\n    'b'\n"
                "  closest seen is passing no keyword args"
            ),
            [("args", "structure", None, "1 positional args and 1 keyword args")],
        ),
        (
            "0.4.30",
            (
                "  tracing context doesn't match, e.g. due to config or context manager\n"
                "  closest seen context tuple differs at positions:\n    3"
            ),
            [("", "context", None, None)],
        ),
        (
            "0.5",
            (
                "  * key with different input types:\n      types now: a: f32[11], b: i32[]\n"
                "        * at a, now f32[11] and before f32[10]"
            ),
            [("a", "shape", "f32[10]", "f32[11]")],
        ),
        (
            "0.5",
            (
                "  * key with different input types:\n      types now: a: i32[10]\n"
                "        * at a, now i32[10] and before f32[11]\n"
                "  * key with different input types:\n      types now: a: i32[10]\n"
                "        * at a, now i32[10] and before f32[10]"
            ),
            [("a", "dtype", "f32[10]", "i32[10]")],
        ),
        (
            "0.5",
            "  * key with different value of static args:\n      now 2, 'x' and before 1, 'x'",
            [("a static argument", "value", "1, 'x'", "2, 'x'")],
        ),
        (
            "0.5",
            (
                "  * key with different input pytree:\n      now: PyTreeDef((([*, *],), {}))\n"
                "      before: PyTreeDef((([*],), {}))\n"
                "      * at args[0], now list of length 2 and before list of length 1,"
                " so the lengths do not match"
            ),
            [("args[0]", "structure", "list of length 1", "list of length 2")],
        ),
        (
            "0.5",
            (
                "  * key with different number of args and kwargs, but same total number.\n"
                "      now 1 args and kwargs with keys ['b']\n      before 2 args and kwargs with keys []"
            ),
            [("args", "structure", "2 args and kwargs with keys []", "1 args and kwargs with keys ['b']")],
        ),
        (
            "0.5",
            (
                "  * key with different tracing context, e.g. due to config or context manager.\n"
                "    found differences at positions\n      [3]: now True and before False\n"
                "    compare to tuple returned by config.trace_context() in jax/_src/config.py."
            ),
            [("", "context", None, None)],
        ),
        (
            "0.9",
            "  different input types:\n  * at a, now f32[8@x] and before f32[8]",
            [("a", "sharding", "f32[8]", "f32[8@x]")],
        ),
        (
            "0.9",
            (
                "  different input types:\n  * at a['w'], now bf16[4,2] and before f32[4,3]\n"
                "  * at n, now i32[]{weak_type=False} and before i32[]{weak_type=True}"
                "https://docs.jax.dev/en/latest/type_promotion.html#weak-types"
            ),
            [
                ("a['w']", "shape", "f32[4,3]", "bf16[4,2]"),
                ("a['w']", "dtype", "f32[4,3]", "bf16[4,2]"),
                ("n", "dtype", "i32[]{weak_type=True}", "i32[]{weak_type=False}"),
            ],
        ),
        (
            "0.9",
            (
                "  different input pytree:\n  * at input path [0][1],"
                " now <class 'jax.Static'> with pytree metadata Static(val=(1, 2))"
                " and before <class 'jax.Static'> with pytree metadata Static(val=(1, 3)),"
                " so the pytree node metadata does not match\n"
                "  * at input path [1]['b'], now <class 'list'> and before <class 'tuple'>,"
                " so their Python types differ"
            ),
            [("args[1]", "value", "(1, 3)", "(1, 2)"), ("kwargs['b']", "structure", "tuple", "list")],
        ),
        (
            "0.9",
            (
                "  Tracing context doesn't match, e.g. due to config or context manager.\n"
                "  * enable_x64 differs: now True and before False"
            ),
            [("", "context", "enable_x64=False", "enable_x64=True")],
        ),
    ],
)
def test_explanations_of_several_versions(version: str, text: str, expected: list[Row]) -> None:
    found = explanation(HEADS[version] + text)
    assert found is not None
    assert (found.function, found.file, found.line) == ("step", "/a/train.py", "7")
    assert [tuple(change.values()) for change in found.changes or ()] == expected


def test_new_functions_and_other_messages() -> None:
    found = explanation(NEW)
    assert found is not None
    assert (found.function, found.line, found.changes) == ("step", "7", [])
    unknown = explanation(HEADS["0.4.30"] + "explanation unavailable! please open an issue")
    assert unknown is not None
    assert unknown.changes is None
    assert explanation(HEADS["0.9"] + "  it rained") is None
    assert explanation("TRACING CACHE MISS for another reason") is None


def made() -> tuple[Any, Any]:
    """Return two functions that JAX has not seen."""

    @jax.jit
    def total(a: Any) -> Any:
        return jnp.sum(a * 2)

    @partial(jax.jit, static_argnums=1)
    def power(a: Any, n: int) -> Any:
        return a**n

    return total, power


def recorded(run: Callable[[], Any]) -> tv.Trace:
    with tv.trace() as t:
        run()
    return t


def changes(trace: tv.Trace, name: str) -> list[list[Any]]:
    table = retraces(trace)
    assert not why_not(table)
    rows = table[table["name"] == name][["argument", "change", "before", "after"]]
    return list(rows.to_numpy().tolist())


@pytest.mark.slow
def test_arguments_that_change() -> None:
    total, power = made()
    arrays = [jnp.ones(size) for size in (10, 11)]
    whole = jnp.ones(10, jnp.int32)

    def run() -> None:
        total(arrays[0])
        for a in (arrays[1], whole):
            total(a).block_until_ready()  # another type
        for n in (2, 2, 3):
            power(arrays[0], n).block_until_ready()

    t = recorded(run)
    assert changes(t, "total") == [["a", "shape", "f32[10]", "f32[11]"], ["a", "dtype", "f32[10]", "i32[10]"]]
    ((argument, *value),) = changes(t, "power")
    assert argument in {"args[1]", "a static argument"}  # JAX before 0.9 does not name it.
    assert value == ["value", "2", "3"]
    table: Any = retraces(t).set_index("name")
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(at for at, text in enumerate(lines, 1) if text.endswith("# another type"))
    assert set(table.loc["total", "line"]) == {f"tests/recording/test_jax_retraces.py:{line}"}
    found: Any = functions(t).set_index("name")
    counts = found.loc[["total", "power"], ["calls", "traces", "retraces"]]
    assert counts.to_numpy().tolist() == [[3, 3, 2], [3, 2, 1]]
    assert "test_jax_retraces.py:" in found.loc["total", "source"]
    assert table.loc["power", "tracing_ns"] < found.loc["power", "tracing_ns"]


@pytest.mark.slow
def test_functions_traced_before_the_recording_and_made_anew() -> None:
    a, longer = jnp.ones(3), jnp.ones(4)
    early = jax.jit(lambda x: x - 3)
    early(a)

    def run() -> None:
        early(longer).block_until_ready()
        for _ in range(3):
            jax.jit(lambda x: x + 5)(a).block_until_ready()

    t = recorded(run)
    rows = changes(t, "<lambda>")
    assert rows[0] == ["x", "shape", "f32[3]", "f32[4]"]
    assert [row[1] for row in rows[1:]] == ["function"] * 2
    assert functions(t).set_index("name").loc["<lambda>", "retraces"] == 3


@pytest.mark.slow
def test_the_finding_names_the_argument() -> None:
    total, _ = made()
    arrays = [jnp.ones(size) for size in range(20, 25)]

    def run() -> None:
        for a in arrays:
            total(a).block_until_ready()

    t = recorded(run)
    (found,) = t.findings["figures"][t.findings["id"] == "retracing"]
    assert (found["name"], found["argument"], found["change"]) == ("total", "a", "shape")
    (finding,) = t.findings[t.findings["id"] == "retracing"].to_dict("records")
    assert "a changes, such as from f32[20] to f32[24]" in finding["text"]
    assert "tf." not in finding["advice"]


@pytest.mark.slow
def test_nothing_is_printed_or_left(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    total, _ = made()
    before = [vars(sys.modules[name]).get("logger") for name in LOGGERS]

    def run() -> None:
        for size in (31, 32):
            total(jnp.ones(size)).block_until_ready()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        recorded(run)
    assert not [record for record in caplog.records if "CACHE MISS at" in record.getMessage()]
    assert not getattr(jax.config, OPTION)
    assert [vars(sys.modules[name]).get("logger") for name in LOGGERS] == before


@pytest.mark.slow
def test_the_option_of_the_program_stays_on(caplog: pytest.LogCaptureFixture) -> None:
    total, _ = made()
    jax.config.update(OPTION, True)
    try:
        a = jnp.ones(41)
        t = recorded(lambda: (total(a).block_until_ready(), total(a[:40]).block_until_ready()))
        assert getattr(jax.config, OPTION)
    finally:
        jax.config.update(OPTION, False)
    assert changes(t, "total")
    assert [record for record in caplog.records if "CACHE MISS at" in record.getMessage()]


@pytest.mark.slow
def test_messages_of_another_version_are_a_note() -> None:
    total, _ = made()
    module: Any = next(sys.modules[name] for name in LOGGERS if hasattr(sys.modules[name], "logger"))

    def run() -> None:
        total(jnp.ones(51)).block_until_ready()
        module.logger.log(logging.WARNING, "TRACING CACHE MISS: the reason is elsewhere")

    assert len(figures_of(recorded(run).notes, "jax_explanations_unread")) == 1


@pytest.mark.slow
def test_without_source_jax_explains_nothing() -> None:
    total, _ = made()
    with tv.trace(source=False) as t:
        assert not getattr(jax.config, OPTION)
        for size in (61, 62):
            total(jnp.ones(size)).block_until_ready()
    assert why_not(retraces(t)).id == "signatures_not_recorded"
