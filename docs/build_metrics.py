"""Write docs/metrics.md and the pages below it, docs/glossary.md, parts of the skill, and types in js/.

``python docs/build_metrics.py`` writes the files, ``--check`` fails if one is not up to date.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.metrics import MODULES, definitions
from tfvis_nb.core.palette import ACTIVITIES, LABELS
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.display import messages
from tfvis_nb.display.dashboard.tabs_widget import PanelsWidget
from tfvis_nb.display.messages import Change, messages_of
from tfvis_nb.display.monitor.monitor_widget import MonitorWidget
from tfvis_nb.display.overview.card import OverviewCard, OverviewLine
from tfvis_nb.display.pages.page import PageTabs
from tfvis_nb.display.store.answers import Answers, OutlineHeader, PartHeader
from tfvis_nb.display.tabs.blocks import Block, Cell, ColumnUnit
from tfvis_nb.display.timeline.view import TimelineView
from tfvis_nb.display.wire.bars import BarsHeader, EntriesHeader
from tfvis_nb.display.wire.code import Totals
from tfvis_nb.display.wire.counters import CounterFigures
from tfvis_nb.display.wire.details import DetailsHeader, StepPartsHeader
from tfvis_nb.display.wire.header import TimelineHeader
from tfvis_nb.display.wire.waiting import WaitingHeader
from tfvis_nb.fleet.analysis import MODULES as FLEET_MODULES
from tfvis_nb.fleet.widget.cells import GridHeader
from tfvis_nb.fleet.widget.fleet_widget import HeatMapWidget
from tfvis_nb.session.commands import COMMANDS
from tfvis_nb.session.snapshot import MonitorState

_DOCS = Path(__file__).parent
_TEMPLATES = _DOCS / "templates"
INDEX = _DOCS / "metrics.md"
SKILL = _DOCS.parent / "tfvis_nb" / "skill" / "references"
_JS = _DOCS.parent / "js"
MESSAGES = _JS / "host" / "messages.ts"
SCHEMA = _JS / "model" / "wire" / "schema.ts"
GLOSSARY = _DOCS.parent / "tfvis_nb" / "core" / "glossary.json"
_GLOSSARY_HEAD = (
    "# Glossary\n\nThe words of this documentation. The timeline shows the same explanations as tooltips.\n\n"
)


def pages() -> dict[Path, str]:
    """Return each file that is written here, with its text."""
    parts = json.loads(GLOSSARY.read_text(encoding="utf-8"))
    terms = sorted(item for part in parts.values() for item in part.items())
    glossary = f"{_GLOSSARY_HEAD}{_table(('term', 'meaning'), terms)}\n"
    skill = {
        SKILL / path.name: _filled(path.read_text(encoding="utf-8"))
        for path in (_TEMPLATES / "skill").iterdir()
    }
    return {
        **skill,
        **metrics(),
        _DOCS / "glossary.md": glossary,
        MESSAGES: message_types(),
        SCHEMA: schema_types(),
    }


def metrics() -> dict[Path, str]:
    """Return docs/metrics.md and the pages that it lists, one for each group of analyses.

    Raises
    ------
    ValueError
        If the templates lack an analysis, or have one that does not exist.
    """
    index = (_TEMPLATES / INDEX.name).read_text(encoding="utf-8")
    names = re.findall(r"^(metrics/[\w-]+)$", index, re.MULTILINE)
    templates = {name: (_TEMPLATES / f"{name}.md").read_text(encoding="utf-8") for name in names}
    named = {name: re.findall(r"\{\{ figures (\w+) \}\}", template) for name, template in templates.items()}
    listed, wanted = sorted(chain(*named.values())), sorted([*MODULES, *FLEET_MODULES])
    if listed != wanted:
        raise ValueError(f"{_TEMPLATES} has tables of {listed}; the analyses are {wanted}")
    rows = [
        (
            f"[{templates[name].partition(chr(10))[0].removeprefix('# ')}]({name}.md)",
            ", ".join(f"[`{each}`]({name}.md#{each})" for each in analyses),
        )
        for name, analyses in named.items()
        if analyses
    ]
    texts = {_DOCS / f"{name}.md": _filled(template) for name, template in templates.items()}
    return {INDEX: index.replace("{{ pages }}", _table(("page", "metrics"), rows)), **texts}


def _filled(template: str) -> str:
    text = re.sub(r"\{\{ figures (\w+) \}\}", lambda match: _definitions(match[1]), template)
    return text.replace("{{ activities }}", _activities()).replace("{{ thresholds }}", _thresholds())


def _activities() -> str:
    meanings = json.loads(GLOSSARY.read_text(encoding="utf-8"))["tooltips"]
    names = [LABELS[name] for name in (*ACTIVITIES[:-1], "idle", "unknown")]
    return _table(("activity", "meaning"), [(name, meanings[name]) for name in names])


def _definitions(name: str) -> str:
    if name in FLEET_MODULES:
        figures = importlib.import_module(f"tfvis_nb.fleet.analysis.{FLEET_MODULES[name]}").FIGURES
    else:
        figures = definitions(name)
    rows = [(f"`{column}`", text) for column, text in figures.items()]
    return _table(("metric", "definition"), rows)


def _thresholds() -> str:
    rows = [
        (f"`{name}.{constant}`", f"{threshold.value:g}", threshold.meaning)
        for name, rule in RULES.items()
        for constant, threshold in rule.thresholds.items()
    ]
    slow = "a step of at least this multiple of the median is slow, or has more work; also in the timeline"
    return _table(
        ("threshold", "value", "meaning"), [*rows, ("`SLOW_STEP_RATIO`", f"{SLOW_STEP_RATIO:g}", slow)]
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    cells = [head, *(tuple(cell.replace("|", r"\|") for cell in row) for row in rows)]
    first, *rest = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([first, "|" + "---|" * len(head), *rest])


_WIDGETS = {
    "TimelineMessage": TimelineView,
    "TabsMessage": PanelsWidget,
    "HeatMapMessage": HeatMapWidget,
    "MonitorMessage": MonitorWidget,
}
_IMPORTS = """\
import type { Annotation } from "../model/annotations";
import type { Clause } from "../model/search/query";
import type { By } from "../model/search/range_statistics";
import type { NamedView } from "../model/view";
"""


def message_types() -> str:
    """Return the TypeScript types of messages, of questions about events, and of commands to a session."""
    owners = {**_WIDGETS, "Question": Answers}
    methods = {
        name: {kind: each.method for kind, each in messages_of(one).items()} for name, one in owners.items()
    }
    unions = [_union(name, "kind", functions) for name, functions in methods.items()]
    return "\n".join(
        [
            f"/** {messages.__doc__.partition(chr(10))[0]} Written by docs/build_metrics.py. */\n",
            _IMPORTS,
            _record(Change),
            *unions,
            _union("Command", "do", COMMANDS),
            f"export type Message = {' | '.join(_WIDGETS)};\n",
        ]
    )


def _union(name: str, key: str, functions: Mapping[str, Callable[..., Any]]) -> str:
    lines = []
    for kind, function in functions.items():
        doc = (inspect.getdoc(function) or "").partition("\n")[0]
        hints = get_type_hints(function, include_extras=True)
        _, *parameters = inspect.signature(function).parameters.values()
        items = [f'{key}: "{kind}"'] + [
            f"{each.name}{'' if each.default is each.empty else '?'}: {_typescript(hints[each.name])}"
            for each in parameters
        ]
        lines += [f"  /** {doc} */"] * bool(doc) + [f"  | {{ {'; '.join(items)} }}"]
    return f"export type {name} =\n" + "\n".join(lines) + ";\n"


_SENT = (
    *(MonitorState, OutlineHeader, TimelineHeader, PartHeader, BarsHeader, EntriesHeader, DetailsHeader),
    *(WaitingHeader, StepPartsHeader, CounterFigures, Totals, Block, PageTabs, OverviewCard, GridHeader),
)
_ALIASES = {"Block": Block, "Cell": Cell, "ColumnUnit": ColumnUnit, "OverviewLine": OverviewLine}


_LONGEST_LINE = 110


def schema_types() -> str:
    """Return the TypeScript types of the data that Python sends, with all that they contain, by module."""
    records: dict[str, Any] = {}
    for sent in _SENT:
        _add_records(sent, records)
    by_module: dict[str, list[str]] = {}
    for record in records.values():
        by_module.setdefault(record.__module__, []).append(_record(record))
    modules = [f"// {name.replace('.', '/')}.py\n\n{''.join(by_module[name])}" for name in sorted(by_module)]
    aliases = [f"export type {name} = {_spelled(alias)};\n" for name, alias in _ALIASES.items()]
    head = (
        "/** Data that Python sends. Written by docs/build_metrics.py; the modules explain the fields. */\n"
    )
    return "\n".join([head, *modules, "".join(aliases)])


def _add_records(hint: Any, records: dict[str, Any]) -> None:
    """Add the records that a type contains, by name."""
    parts = get_args(hint)
    if is_typeddict(hint):
        parts = tuple(get_type_hints(hint, include_extras=True).values())
        if records.setdefault(hint.__name__, hint) is not hint:
            raise ValueError(f"two types of the name {hint.__name__}")
    for part in parts:
        if part not in records.values():
            _add_records(part, records)


def _record(record: Any) -> str:
    items = [
        f"{name}{'?' * (get_origin(hint) is NotRequired)}: {_typescript(hint)};"
        for name, hint in get_type_hints(record, include_extras=True).items()
    ]
    if len(line := f"export interface {record.__name__} {{ {' '.join(items)} }}") <= _LONGEST_LINE:
        return f"{line}\n"
    # Lines break between items alone.
    bound = " ".join(item.replace(" ", "\0") for item in items)
    lines = textwrap.indent(textwrap.fill(bound, _LONGEST_LINE - 2, break_long_words=False), "  ").replace(
        "\0", " "
    )
    return f"export interface {record.__name__} {{\n{lines}\n}}\n"


_NAMES: dict[Any, str] = {
    int: "number",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
}
_NAMES |= {alias: name for name, alias in _ALIASES.items()}


def _typescript(hint: Any) -> str:
    return str(hint.__name__) if is_typeddict(hint) else _NAMES.get(hint) or _spelled(hint)


def _spelled(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return str(parts[1])
    if origin is Literal:
        return " | ".join(map(json.dumps, parts))
    inner = [_typescript(part) for part in parts]
    if origin is NotRequired:
        return inner[0]
    if origin in (list, Sequence):
        return (
            f"readonly ({inner[0]})[]"
            if inner[0].startswith("readonly ") or " | " in inner[0]
            else f"readonly {inner[0]}[]"
        )
    if origin is tuple:
        return f"[{', '.join(inner)}]"
    if origin is dict:
        return f"Record<{inner[0]}, {inner[1]}>"
    if origin in (Union, UnionType):
        return " | ".join(inner)
    raise TypeError(f"{hint} has no type in TypeScript")


def main() -> int:
    """Write the files, or check them; return the exit status."""
    parser = argparse.ArgumentParser(description="Write the files that are made of the code.")
    parser.add_argument("--check", action="store_true", help="fail if a file is not up to date")
    is_check = parser.parse_args().check
    stale = []
    for path, text in pages().items():
        if not is_check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(str(path.relative_to(_DOCS.parent)))
    if stale:
        sys.stderr.write(f"{', '.join(stale)}: not up to date; run make docs\n")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
