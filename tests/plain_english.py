"""Count free relatives ("what is", "those that") in comments and test names, and find long test names.

``python -m tests.plain_english`` fails above `MOST` in a thousand words of a group; ``--show`` lists the
places.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

MOST = 0.6
LONGEST_NAME = 60
FREE_RELATIVE = re.compile(
    r"\b(?:what (?:is|was|are|were|it|they|comes|has|a|the)|where (?:it|there|they|none)|those that|of which"
    r"|as (?:it|they) (?:is|are|was|were))\b",
    re.IGNORECASE,
)
GROUPS = {
    "tests": ("tests/*.py", "js/*.test.ts", "js/*.test.tsx"),
    "TypeScript": ("js/*.ts", "js/*.tsx", "js/*.mjs", ":!*.test.ts", ":!*.test.tsx"),
}
_STRING_OR_COMMENT = re.compile(
    r"""'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?P<comment>/\*.*?\*/|//[^\n]*)""",
    re.DOTALL,
)
_NAMED_TEST = re.compile(r"""\b(?:it|test|describe)(?:\.\w+)*\(\s*(["'`])(?P<name>.*?)\1""", re.DOTALL)


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.plain_english", description=__doc__)
    parser.add_argument("--show", action="store_true", help="list each place")
    parser.add_argument("paths", nargs="*", help="files to count; by default all that git tracks")
    given = parser.parse_args()
    kept = True
    for group, patterns in GROUPS.items():
        words = count = 0
        for path in _files(given.paths or patterns, patterns):
            for name in re.findall(rf"def (test_\w{{{LONGEST_NAME - 4},}})", path.read_text("utf-8")):
                print(f"{path}: {name} has {len(name)} letters (at most {LONGEST_NAME})")
                kept = False
            for text in _texts(path):
                places = FREE_RELATIVE.findall(text)
                words, count = words + len(text.split()), count + len(places)
                if given.show and places:
                    print(f"{path}: {' '.join(text.split())}")
        share = 1000 * count / words if words else 0
        kept &= share <= MOST
        print(
            f"{group}: {count} free relatives in {words:,} words, {share:.2f} in a thousand (at most {MOST})"
        )
    return 0 if kept else 1


def _files(paths: tuple[str, ...] | list[str], patterns: tuple[str, ...]) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True)
    files = [Path(line) for line in listed.stdout.splitlines()]
    return files if paths is patterns else [path for path in files if str(path) in paths]


def _texts(path: Path) -> Iterator[str]:
    source = path.read_text("utf-8")
    yield from _python(source) if path.suffix == ".py" else _typescript(source)


def _python(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name.replace("_", " ")


def _typescript(source: str) -> Iterator[str]:
    for match in _STRING_OR_COMMENT.finditer(source):
        yield match["comment"] or ""
    for match in _NAMED_TEST.finditer(source):
        yield match["name"]


if __name__ == "__main__":
    sys.exit(main())
