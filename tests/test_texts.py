"""The catalogue of notes and errors."""

import ast
import copy
import json
import os
import pickle
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from string import Formatter

import pytest

import tfvis_nb
from tests.support.requirements import of_extra
from tests.support.texts import fields
from tfvis_nb import events
from tfvis_nb.texts import Text, catalogue, id_of, notes_from_json, text_of
from tfvis_nb.writing.save import save

PACKAGE = Path(tfvis_nb.__file__).parent


def rendered(key: str) -> list[str]:
    """Render a template with counts of one and of several, and with names for all other figures."""
    wanted = fields(key)
    counts = (1, 1234) if any("|" in form for form in wanted.values()) else (1234,)
    return [
        Text(key, **{field: count if form else f"<{field}>" for field, form in wanted.items()})
        for count in counts
    ]


@cache
def modules() -> list[list[ast.AST]]:
    """Return what stands in each module, the module itself first."""
    return [[*ast.walk(ast.parse(path.read_text("utf-8")))] for path in PACKAGE.rglob("*.py")]


def calls() -> Iterator[ast.Call]:
    """Yield the calls of `Text`: search has a class of this name as well."""
    for nodes in modules():
        module = nodes[0]
        assert isinstance(module, ast.Module)
        if not any(
            isinstance(node, ast.ImportFrom) and node.module == "tfvis_nb.texts" for node in module.body
        ):
            continue
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Text":
                yield node


def keys(node: ast.expr) -> set[str]:
    """Return the ids that an expression may be."""
    return {
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and part.value in catalogue()
    }


@pytest.mark.parametrize("key", sorted(catalogue()))
def test_each_text_contains_its_figures(key: str) -> None:
    for text in rendered(key):
        for field, form in fields(key).items():
            assert form or f"<{field}>" in text


@pytest.mark.parametrize(
    ("key", "extra"),
    [
        ("mcp_extra_missing", "mcp"),
        ("dataset_extra_missing", "fleet"),
        ("no_typesetter", "pictures"),
        ("grpc_missing", "remote"),
        ("sql_extra_missing", "sql"),
    ],
)
def test_missing_packages_are_those_of_the_extra(key: str, extra: str) -> None:
    wanted = set(re.findall("'(.+?)'", catalogue()[key]))
    assert wanted
    assert wanted <= set(of_extra(extra))


def test_no_advice_depends_on_how_the_package_was_installed() -> None:
    assert [key for key, text in catalogue().items() if re.search("pip install '?tfvis", text)] == []


def test_each_id_is_used_and_each_used_id_is_in_the_catalogue() -> None:
    written = {
        node.value
        for node in chain.from_iterable(modules())
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    in_texts = {name for template in catalogue().values() for _, name, _, _ in Formatter().parse(template)}
    assert set(catalogue()) <= written | in_texts


def test_each_text_is_given_the_figures_of_its_template() -> None:
    found = list(calls())
    assert found
    for call in found:
        given = {keyword.arg for keyword in call.keywords}
        if isinstance(call.args[0], ast.Constant):
            assert call.args[0].value in catalogue()
        for key in keys(call.args[0]):
            assert None in given or given == set(fields(key)), ast.unparse(call)


def test_ids_are_unique_over_the_packages() -> None:
    packages = json.loads((PACKAGE / "texts.json").read_text("utf-8"))
    assert sum(map(len, packages.values())) == len(catalogue())


def test_copied_and_pickled_texts_keep_id_and_figures() -> None:
    text = Text("unreadable", label="a.pb", reason=ValueError("odd"))
    for one in (pickle.loads(pickle.dumps(text)), copy.copy(text), copy.deepcopy(text)):
        assert (one, one.id, one.figures) == (text, "unreadable", {"label": "a.pb", "reason": "odd"})


def test_pickled_and_raised_errors_keep_id_and_figures() -> None:
    with pytest.raises(tfvis_nb.TraceFormatError) as caught:
        tfvis_nb.read_trace(b"<!doctype html>")
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.id, error.figures["label"], error.foreign) == ("foreign_format", "15 bytes", True)
    assert str(error) == str(caught.value)


@pytest.mark.parametrize("suffix", [".parquet", ".json"])
def test_notes_keep_ids_and_figures_in_files(tmp_path: Path, suffix: str) -> None:
    note = Text("scheduled_repaired", ops=9300)
    table = events.build({"start_ns": [5], "duration_ns": [1], "kind": ["op"]})
    trace = tfvis_nb.Trace(table, notes=[note, "mine"])
    (path,) = save(trace, tmp_path / f"trace{suffix}")
    read = tfvis_nb.read_trace(path)
    assert read.notes[:2] == trace.notes
    assert isinstance(read.notes[0], Text)
    assert (read.notes[0].id, read.notes[0].figures) == (note.id, note.figures)
    assert id_of(read.notes[1]) == ""


@pytest.mark.parametrize(
    "ids",
    [7, [], [[["scheduled_repaired"], {}]], [["no id", {}]], [["scheduled_repaired", {"ops": "many"}]]],
    ids=str,
)
def test_ids_of_others_are_left_out(ids: object) -> None:
    notes = notes_from_json({"notes": ["mine"], "note_ids": ids})
    assert notes == ["mine"]
    assert id_of(notes[0]) == ""


def test_other_words_have_no_id() -> None:
    assert id_of("mine") == ""
    assert (text_of(ValueError("mine")), text_of(ValueError("mine")).id) == ("mine", "")
    assert tfvis_nb.TraceFormatError("mine").id == ""


def test_errors_can_be_encoded(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.pb")
    path.write_bytes(b"no trace")
    with pytest.raises(tfvis_nb.TraceFormatError) as raised:
        tfvis_nb.read_trace(path)
    assert "\\udcff.pb" in str(raised.value).encode().decode()
    assert json.dumps(text_of(raised.value).figures, ensure_ascii=False).encode()
