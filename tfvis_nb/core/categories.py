"""Search a column of categories: each distinct value once, the answers spread over the rows."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd


def spread(column: pd.Series, answer: Callable[[str], object]) -> np.ndarray:
    """Return for each row what `answer` says of its text; 0 or False where there is none.

    Parameters
    ----------
    column
        A categorical column.
    answer
        Called once for each category. All answers have one type: bool or a number.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.core.categories import spread
    >>> spread(pd.Series(["ab", "c", "ab"], dtype="category"), len).tolist()
    [2, 1, 2]
    """
    answers = np.array([answer(str(word)) for word in column.cat.categories] or [False])
    # Missing values have the code -1, which is the last.
    found: np.ndarray = np.append(answers, np.zeros(1, answers.dtype))[column.cat.codes.to_numpy()]
    return found


def containing(column: pd.Series, pattern: re.Pattern[str]) -> np.ndarray:
    """Tell for each row whether `pattern` is somewhere in its text.

    Examples
    --------
    >>> import re
    >>> import pandas as pd
    >>> from tfvis_nb.core.categories import containing
    >>> containing(pd.Series(["MemcpyH2D", "MatMul"], dtype="category"), re.compile("H2D")).tolist()
    [True, False]
    """
    return spread(column, lambda text: pattern.search(text) is not None)


def beginning(column: pd.Series, pattern: re.Pattern[str]) -> np.ndarray:
    """Tell for each row whether its text begins with `pattern`."""
    return spread(column, lambda text: pattern.match(text) is not None)


def is_kind(events: pd.DataFrame, kind: str) -> np.ndarray:
    """Tell which events are of a kind.

    Examples
    --------
    >>> from tfvis_nb import events
    >>> from tfvis_nb.core.categories import is_kind
    >>> is_kind(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}), "op").tolist()
    [True]
    """
    return spread(events["kind"], lambda text: text == kind)
