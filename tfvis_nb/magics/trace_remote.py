"""``%trace_remote``: record running processes, and show them below the cell."""

import argparse
from typing import Any

from IPython.core.error import UsageError

from tfvis_nb.magics.arguments import MagicParser
from tfvis_nb.magics.results import Results
from tfvis_nb.texts import text_of

NAME = "%trace_remote"


class TraceRemoteMagic:
    """The ``%trace_remote`` magic of one shell, whose `results` it shares with ``%%trace``."""

    def __init__(self, results: Results) -> None:
        self.parser = _parser()
        self._results = results

    def run(self, line: str) -> None:
        """Record the workers in `line`."""
        arguments = self.parser.parse(line)
        if arguments.help:
            print(self.parser.format_help())  # noqa: T201 - the answer to the user's question
            return
        name, workers = self._words(arguments)
        from tfvis_nb.recording.remote.capture import capture

        try:
            recorded = capture(
                workers,
                seconds=arguments.seconds,
                tries=arguments.tries,
                python=arguments.python,
                shapes=arguments.shapes,
                device_level=arguments.device_level,
            )
        except (ConnectionError, ImportError, ValueError) as error:
            raise UsageError(text_of(error)) from None
        self._results.bind(recorded, name)
        self._results.show(recorded, arguments, NAME)

    def _words(self, arguments: argparse.Namespace) -> tuple[str | None, list[str]]:
        """Separate the name of a variable, which comes first and has no port, from the workers."""
        words = arguments.worker
        name = words.pop(0) if words and ":" not in words[0] else None
        self.parser.check_name(name)
        return name, words


def _parser() -> MagicParser:
    parser = MagicParser(
        NAME,
        "Record running TensorFlow processes through their profiler service, all at the same time, and show"
        " them on one time axis.",
    )
    add = parser.add_argument
    add(
        "worker",
        metavar="[NAME] WORKER",
        nargs="*",
        help="host:port, or grpc://host:port; NAME is a variable",
    )
    parser.add_results()
    add("--seconds", type=float, default=2.0, help="how long to record (%(default)s)")
    add("--tries", type=int, default=3, help="how often to record while a worker runs nothing (%(default)s)")
    parser.add_profile()
    parser.add_help_option()
    return parser


def line_magic(results: Results) -> Any:
    """Return the function that IPython calls."""
    magic = TraceRemoteMagic(results)

    def run(line: str) -> None:
        magic.run(line)

    run.__doc__ = magic.parser.format_help()  # what %trace_remote? shows
    return run
