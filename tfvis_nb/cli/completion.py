"""``tfvis-nb completion``: what a shell offers after ``tfvis-nb``, made from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tfvis_nb.cli.arguments import VERBS, parser_of

_FILES = ("FILE", "RUN.tfvis", "SCRIPT", "TRACE")
"""What stands for a file in the help."""


def completion_command(arguments: argparse.Namespace) -> int:
    """Write the completion of a shell; return the exit code."""
    print(script_of(arguments.shell), end="")  # noqa: T201
    return 0


def script_of(shell: str) -> str:
    """Return what makes `shell` complete the verbs and their options; files are completed where they fit.

    Examples
    --------
    >>> from tfvis_nb.cli.completion import script_of
    >>> "--time-range" in script_of("bash")
    True
    """
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _actions(verb: str) -> list[argparse.Action]:
    return parser_of(verb).actions


def _options(verb: str) -> list[argparse.Action]:
    return [action for action in _actions(verb) if action.option_strings]


def _choices(action: argparse.Action) -> list[str]:
    return [str(choice) for choice in action.choices or ()]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _help(action: argparse.Action) -> str:
    text = (action.help or "").replace("%%", "%")
    return text.replace("%(default)s", str(action.default))


def _bash() -> str:
    verbs = "\n".join(f"    {verb}) {_bash_verb(verb)} ;;" for verb in VERBS)
    return f"""\
# tfvis-nb completion for bash
_tfvis_nb() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{" ".join([*VERBS, "--help", "--version"])}' -- "$word")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{verbs}
  esac
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  fi
}}
complete -o bashdefault -o default -F _tfvis_nb tfvis-nb
"""


def _bash_verb(verb: str) -> str:
    choices = [
        f"{'|'.join(action.option_strings)}) words={_quoted(' '.join(_choices(action)))}; ;;"
        for action in _options(verb)
        if _choices(action)
    ]
    positional = [word for action in _actions(verb) if not action.option_strings for word in _choices(action)]
    options = [name for action in _options(verb) for name in action.option_strings]
    rest = f"words={_quoted(' '.join(positional))}; [[ $word == -* ]] && words={_quoted(' '.join(options))};"
    return f"case $before in {' '.join(choices)} *) {rest} ;; esac" if choices else rest


def _zsh() -> str:
    verbs = "\n".join(f"    {_quoted(f'{verb}:{what}')}" for verb, what in VERBS.items())
    cases = "\n".join(f"    {verb}) _arguments {' '.join(_zsh_verb(verb))} ;;" for verb in VERBS)
    return f"""\
#compdef tfvis-nb
# tfvis-nb completion for zsh
_tfvis_nb() {{
  local -a verbs
  verbs=(
{verbs}
  )
  if (( CURRENT == 2 )); then
    _describe 'verb' verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{cases}
  esac
}}
if [ "$funcstack[1]" = _tfvis-nb ]; then
  _tfvis_nb "$@"
else
  compdef _tfvis_nb tfvis-nb
fi
"""


def _zsh_verb(verb: str) -> list[str]:
    words = []
    for action in _options(verb):
        value = "" if action.nargs == 0 else f":{action.dest}:{_zsh_values(action)}"
        note = _help(action).translate(str.maketrans("[]:", "()-"))
        words += [_quoted(f"{name}[{note}]{value}") for name in action.option_strings]
    for action in _actions(verb):
        if not action.option_strings and action.nargs != argparse.REMAINDER:
            words.append(_quoted(f"{'*' if action.nargs == '*' else ''}:{action.dest}:{_zsh_values(action)}"))
    return words


def _zsh_values(action: argparse.Action) -> str:
    choices = _choices(action)
    if choices:
        return f"({' '.join(choices)})"
    return "_files" if action.metavar in _FILES else " "


def _fish() -> str:
    lines: list[str] = ["# tfvis-nb completion for fish"]
    lines += [
        f"complete -c tfvis-nb -n __fish_use_subcommand -f -a {verb} -d {_fish_quoted(what)}"
        for verb, what in VERBS.items()
    ]
    for verb in VERBS:
        for action in _actions(verb):
            where = f"complete -c tfvis-nb -n '__fish_seen_subcommand_from {verb}'"
            choices = f" -a {_fish_quoted(' '.join(_choices(action)))}" if action.choices else ""
            if action.option_strings:
                value = "" if action.nargs == 0 else (" -r" if action.metavar in _FILES else " -x")
                lines.append(
                    f"{where}{_fish_names(action.option_strings)}{value}{choices}"
                    f" -d {_fish_quoted(_help(action))}"
                )
            elif choices:
                lines.append(f"{where} -f{choices}")
    return "\n".join(lines) + "\n"


def _fish_names(names: Sequence[str]) -> str:
    return "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in names)


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
