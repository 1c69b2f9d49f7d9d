"""``python -m tfvis_nb`` is the command ``tfvis-nb``."""

import sys

from tfvis_nb.cli import main

if __name__ == "__main__":
    sys.exit(main())
