"""Number the rows of several columns by their values, and lanes, devices or nodes by their keys."""

import numpy as np
import pandas as pd


def number_rows(*columns: pd.Series | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number rows by their values in some columns, in order of appearance.

    Returns the number of each row, and the position of the first row of each number (both int64). Missing
    values equal each other and nothing else. pandas has `factorize` of a MultiIndex for this, which in
    pandas 2.2 fails without rows, and ``groupby(...).ngroup()``, which by default gives rows with a missing
    value no number.

    >>> number, first = number_rows(np.array([7, 7, 3, 7]), pd.Series(["a", None, "a", "a"]))
    >>> number.tolist(), first.tolist()
    ([0, 1, 2, 0], [0, 1, 2])
    """
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes, values = pd.factorize(column, use_na_sentinel=False)
        number = pd.factorize(number * len(values) + codes)[0].astype(np.int64, copy=False)
    return number, np.flatnonzero(np.diff(np.maximum.accumulate(number), prepend=-1))
