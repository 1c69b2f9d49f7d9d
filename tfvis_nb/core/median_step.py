"""The median step of several, which a slow first step has no part in."""

import numpy as np

from tfvis_nb.core.thresholds import SLOW_STEP_RATIO


def lower_median(took: np.ndarray) -> int:
    """Return the index of the median duration; the lower one of two, the first of equal ones.

    It is a real step, so that differences from it add up.
    """
    return int(np.argsort(took, kind="stable")[(len(took) - 1) // 2])


def is_first_slow(took: np.ndarray) -> bool:
    """Return whether the first step takes `SLOW_STEP_RATIO` times the median of the others.

    Two steps do not show which one is typical.
    """
    if len(took) < 3:
        return False
    return bool(took[0] >= SLOW_STEP_RATIO * max(int(took[1:][lower_median(took[1:])]), 1))


def median_of(took: np.ndarray) -> int:
    """Return the index of the median step, which is that of the others if the first step is slow.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.core.median_step import median_of
    >>> median_of(np.array([50, 10, 11, 12])), median_of(np.array([10, 12, 11, 13]))
    (2, 2)
    """
    first = int(is_first_slow(took))
    return first + lower_median(took[first:])
