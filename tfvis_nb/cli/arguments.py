"""The verbs of ``tfvis-nb`` and what each can be asked: parsers, and nothing that takes long to import."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tfvis_nb.cli.verb_parser import Once, VerbParser

VERBS = {
    "open": "show traces in a browser, as one page that needs no network",
    "export": "write traces as a page, a Chrome trace or a table",
    "convert": "the same as export",
    "info": "say what traces hold: steps, devices, busy times, longest ops, transfers",
    "serve": "show a job in a browser while it runs, and trace what is asked for there",
    "run": "trace a Python script, unchanged",
    "doctor": "find out what recording and showing lack here, and what mends it",
    "completion": "write the completion of these words for a shell",
}
"""Verb to what it does."""

SHELLS = ("bash", "zsh", "fish")

_EXIT_CODES = "exit codes: 0 done, 1 failed, 2 wrong arguments"
_OF_SERVE = ", 130 ended by Ctrl-C, 143 by SIGTERM"


def _parser(
    verb: str, examples: str, needed: dict[str, str], more: str = "", codes: str = _EXIT_CODES
) -> VerbParser:
    parser = VerbParser(
        prog=f"tfvis-nb {verb}",
        description=VERBS[verb][0].upper() + VERBS[verb][1:] + "." + more,
        epilog=f"examples:\n{examples}\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    parser._needed = needed  # noqa: SLF001
    parser.add_argument("-h", "--help", action="store_true", help="show this text")
    return parser


def parser_of(verb: str) -> VerbParser:
    """Return the parser of a verb's arguments.

    Examples
    --------
    >>> from tfvis_nb.cli.arguments import parser_of
    >>> parser_of("export").checked(["step.pb", "-o", "step.html"]).output
    'step.html'
    """
    return _BUILDERS[verb](verb)


def top_parser() -> VerbParser:
    """Return the parser whose help lists the verbs."""
    verbs = "\n".join(f"  {verb:<11} {what}" for verb, what in VERBS.items())
    parser = VerbParser(
        prog="tfvis-nb",
        usage="tfvis-nb VERB ...",
        description="See every op, kernel, copy and network transfer of a TensorFlow step.",
        epilog=f"verbs:\n{verbs}\n\ntfvis-nb VERB --help says what a verb can be asked.\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="store_true", help="show this text")
    parser.add_argument("--version", action="store_true", help="show the version")
    return parser


_TRACES = (
    " A TRACE is a file, a folder or a pattern: whatever tfvis_nb.read_trace reads."
    "\nSeveral are steps, ranks or hosts of one run; so are those that the file of a TraceSession keeps."
)


def _add_traces(parser: VerbParser) -> None:
    parser.add_argument("traces", metavar="TRACE", nargs="*", help="a file, a folder or a pattern")


def _add_page(parser: VerbParser) -> None:
    from tfvis_nb.display.options import COLOR_BY, GROUP_BY

    add = parser.add_argument
    add("--title", help="of the picture; the file's name unless given")
    add(
        "--time-range",
        metavar="START:END",
        help="only events that overlap it: with a unit (ns, us, ms, s) from the first event on, such as"
        " 10ms:25ms or -1ms:1ms; without one, epoch nanoseconds; either end may be left out",
    )
    add("--group-by", choices=GROUP_BY, help="how the lanes of the page are grouped")
    add("--color-by", choices=COLOR_BY, help="what the colours of the page mean")
    add("--lane-filter", metavar="TEXT", help="the page shows lanes that contain this at first")
    add("--any-size", action="store_true", help="write a page of more than 50 MB, too")


def _open(verb: str) -> VerbParser:
    examples = """\
  tfvis-nb open step.pb
  tfvis-nb open rank*.json --title allreduce
  tfvis-nb open logs/ --time-range 1s:1500ms -o part.html
"""
    parser = _parser(verb, examples, {"traces": "TRACE"}, _TRACES)
    _add_traces(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the page there, not to a temporary file"
    )
    parser.add_argument("--no-browser", action="store_true", help="only say where the page is")
    _add_page(parser)
    return parser


def _export(verb: str) -> VerbParser:
    examples = f"""\
  tfvis-nb {verb} step.pb -o step.html --color-by op
  tfvis-nb {verb} logs/plugins/profile/2026_01_31 -o run.json.gz
  tfvis-nb {verb} worker*.xplane.pb -o run.parquet --time-range :100ms
"""
    formats = (
        "\nThe suffix of FILE says what is written: .html a page that needs no network, .json or .json.gz"
        "\na Chrome trace for Perfetto, .parquet everything as a table that tfvis_nb reads back."
    )
    parser = _parser(verb, examples, {"traces": "TRACE", "output": "-o FILE"}, _TRACES + formats)
    _add_traces(parser)
    parser.add_argument("-o", "--output", metavar="FILE", action=Once, help="what to write")
    _add_page(parser)
    return parser


def _info(verb: str) -> VerbParser:
    examples = """\
  tfvis-nb info step.pb
  tfvis-nb info logs/ --json | jq '.lanes[] | select(.kind == "kernel")'
"""
    parser = _parser(verb, examples, {"traces": "TRACE"}, _TRACES)
    _add_traces(parser)
    parser.add_argument("--json", action="store_true", help="for machines: everything, ns and bytes")
    parser.add_argument(
        "--top", metavar="N", type=_count, default=5, help="how many rows of each table (%(default)s)"
    )
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows")
    return int(text)


def _serve(verb: str) -> VerbParser:
    examples = """\
  tfvis-nb serve run.tfvis
  tfvis-nb serve run.tfvis --port 8765 --no-browser    # elsewhere: ssh -L 8765:localhost:8765 HOST
  tfvis-nb serve run.tfvis --host 0.0.0.0 --certfile cert.pem --keyfile key.pem --token-file token
"""
    more = (
        " RUN.tfvis is the file of a TraceSession, which need not be there yet, or one that tftracer saved."
        "\nOnly this machine can reach it, and only with the address that is printed, which has a token."
    )
    parser = _parser(verb, examples, {"session": "RUN.tfvis"}, more, _EXIT_CODES + _OF_SERVE)
    add = parser.add_argument
    add(
        "--port",
        metavar="N",
        type=_port,
        default=0,
        help="from 1 to 65535; 0 for any that is free (%(default)s)",
    )
    add(
        "--host",
        metavar="HOST",
        default="127.0.0.1",
        help="where to be reached (%(default)s: from here alone)",
    )
    add("--token-file", metavar="FILE", help="a file with the token; a random one is printed unless given")
    add("--certfile", metavar="FILE", help="the certificate (PEM) to encrypt with")
    add("--keyfile", metavar="FILE", help="its key, unless the same file holds it")
    add(
        "--allowed-host",
        metavar="NAME",
        action="append",
        default=[],
        help="another name under which browsers may ask, such as a proxy's; repeatable",
    )
    add("--no-browser", action="store_true", help="only say where it is")
    add("session", metavar="RUN.tfvis", nargs="?", help="the file of a session")
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 16:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no port; it is from 1 to 65535, or 0 for any that is free"
        )
    return int(text)


def _run(verb: str) -> VerbParser:
    from tfvis_nb.recording.options import LEVELS, MODES

    examples = """\
  tfvis-nb run train.py --epochs 1
  tfvis-nb run -o step.html -o step.parquet --mode session train.py
"""
    more = (
        " What stands behind the script is its own."
        "\nThe exit code is the script's; 1 when that is 0, and the trace could not be written."
    )
    parser = _parser(verb, examples, {"script": "the script"}, more)
    add = parser.add_argument
    add(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        help="write the trace there, by suffix: .html, .json, .json.gz, .parquet, .pb; repeatable"
        " (SCRIPT.trace.html in this folder)",
    )
    add("--mode", choices=MODES, default="auto", help="as of %%%%trace (%(default)s)")
    add("--level", choices=sorted(LEVELS), default="full", help="of session runs (%(default)s)")
    add("--steps", action="store_true", help="keep whole steps only")
    add("--no-partition-graphs", action="store_true", help="leave out the graphs that were executed")
    add("script", metavar="SCRIPT", nargs="?", help="a Python file")
    add("args", metavar="ARG", nargs=argparse.REMAINDER, help="the script's own arguments")
    return parser


def _doctor(verb: str) -> VerbParser:
    parser = _parser(verb, "  tfvis-nb doctor\n", {}, " Exits with 1 when something has to be mended.")
    parser.add_argument("--json", action="store_true", help="for machines")
    return parser


def _completion(verb: str) -> VerbParser:
    examples = """\
  tfvis-nb completion bash > ~/.local/share/bash-completion/completions/tfvis-nb
  tfvis-nb completion zsh > "${fpath[1]}/_tfvis-nb"
  tfvis-nb completion fish > ~/.config/fish/completions/tfvis-nb.fish
"""
    parser = _parser(verb, examples, {"shell": "the shell"})
    parser.add_argument("shell", metavar="SHELL", nargs="?", choices=SHELLS, help=", ".join(SHELLS))
    return parser


_BUILDERS: dict[str, Callable[[str], VerbParser]] = {
    "open": _open,
    "export": _export,
    "convert": _export,
    "info": _info,
    "serve": _serve,
    "run": _run,
    "doctor": _doctor,
    "completion": _completion,
}
