"""Write docs/metrics.md, a template with metrics and thresholds, docs/glossary.md and js/host/messages.ts.

``python docs/build_metrics.py`` writes the files, ``--check`` fails if one is not up to date.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.metrics import MODULES, definitions
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.display import messages
from tfvis_nb.display.dashboard.tabs_widget import PanelsWidget
from tfvis_nb.display.messages import Change, messages_of
from tfvis_nb.display.monitor.monitor_widget import MonitorWidget
from tfvis_nb.display.store.answers import Answers
from tfvis_nb.display.timeline.view import TimelineView
from tfvis_nb.fleet.analysis import MODULES as FLEET_MODULES
from tfvis_nb.fleet.widget.heat_map import HeatMapWidget
from tfvis_nb.session.commands import COMMANDS

_DOCS = Path(__file__).parent
PAGE = _DOCS / "metrics.md"
TEMPLATE = _DOCS / "templates" / "metrics.md"
MESSAGES = _DOCS.parent / "js" / "host" / "messages.ts"
GLOSSARY = _DOCS.parent / "tfvis_nb" / "core" / "glossary.json"
_GLOSSARY_HEAD = (
    "# Glossary\n\nThe words of this documentation. The timeline shows the same explanations as tooltips.\n\n"
)


def pages() -> dict[Path, str]:
    """Return each file that is written here, with its text."""
    parts = json.loads(GLOSSARY.read_text(encoding="utf-8"))
    terms = sorted(item for part in parts.values() for item in part.items())
    glossary = f"{_GLOSSARY_HEAD}{_table(('term', 'meaning'), terms)}\n"
    return {PAGE: metrics(), _DOCS / "glossary.md": glossary, MESSAGES: message_types()}


def metrics() -> str:
    """Return the text of docs/metrics.md.

    Raises
    ------
    ValueError
        If the template lacks an analysis, or has one that does not exist.
    """
    template = TEMPLATE.read_text(encoding="utf-8")
    named = re.findall(r"\{\{ figures (\w+) \}\}", template)
    analyses = sorted([*MODULES, *FLEET_MODULES])
    if sorted(named) != analyses:
        raise ValueError(f"{TEMPLATE} has tables of {sorted(named)}; the analyses are {analyses}")
    text = re.sub(r"\{\{ figures (\w+) \}\}", lambda match: _definitions(match[1]), template)
    return text.replace("{{ thresholds }}", _thresholds())


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


def _record(record: Any) -> str:
    hints = get_type_hints(record)
    lines = "".join(f"  {name}: {_typescript(hint)};\n" for name, hint in hints.items())
    return f"/** {inspect.getdoc(record)} */\nexport interface {record.__name__} {{\n{lines}}}\n"


def _typescript(hint: Any) -> str:
    known = {int: "number", float: "number", str: "string", type(None): "null", Change: "Change"}
    if hint in known:
        return known[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return str(parts[1])
    if origin is Literal:
        return " | ".join(map(json.dumps, parts))
    if origin is list:
        return f"readonly {_typescript(parts[0])}[]"
    return " | ".join(map(_typescript, parts))  # of a union


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
