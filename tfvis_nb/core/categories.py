"""Search a categorical column: test each distinct value once and map the results to the rows."""

import re
from collections.abc import Callable
from typing import cast

import numpy as np
import pandas as pd


def map_categories(column: pd.Series, function: Callable[[str], object]) -> np.ndarray:
    """Return `function` of each row's text, called once per category; 0 or False for missing texts."""
    codes, categories = _codes(column)
    results = np.array([function(str(text)) for text in categories] or [False])
    # Missing values have the code -1, which indexes the last element.
    mapped: np.ndarray = np.append(results, np.zeros(1, results.dtype))[codes]
    return mapped


def _codes(column: pd.Series) -> tuple[np.ndarray, pd.Index]:
    # Not through the accessor `cat`, which makes a Series: small traces are searched thousands of times.
    values = cast("pd.Categorical", column.array)
    return values.codes, values.categories


def containing(column: pd.Series, pattern: re.Pattern[str]) -> np.ndarray:
    """Return for each row whether its text contains `pattern`."""
    return map_categories(column, lambda text: pattern.search(text) is not None)


def beginning(column: pd.Series, pattern: re.Pattern[str]) -> np.ndarray:
    """Return for each row whether its text starts with `pattern`."""
    return map_categories(column, lambda text: pattern.match(text) is not None)


def is_kind(events: pd.DataFrame, *kinds: str) -> np.ndarray:
    """Return whether each event has one of the given kinds."""
    codes, categories = _codes(events["kind"])
    mask = np.zeros(len(codes), bool)
    for kind in kinds:
        if kind in categories:
            mask |= codes == categories.get_loc(kind)
    return mask
