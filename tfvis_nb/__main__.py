"""``python -m tfvis_nb`` is the command ``tfvis-nb``."""

import sys


def main() -> int:
    """Run the command line of the process; Ctrl-C ends it cleanly even while its modules are imported."""
    try:
        from tfvis_nb.cli import main as run
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
