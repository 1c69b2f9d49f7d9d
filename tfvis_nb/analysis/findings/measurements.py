"""The measurements behind all findings, whether reported or not."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.steps.breakdown import breakdown
from tfvis_nb.analysis.unavailable import cannot_say, dtypes, why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES = {
    "share": "Fraction of the time of all steps, from 0 to 1, reported as a finding or not; NaN if the trace"
    " lacks the data.",
    "limit": "The smallest share that is reported as a finding.",
}

_COLUMNS = {
    "kind": "str",
    "share": "float64",
    "limit": "float64",
    "text": "str",
    "id": "str",
    "figures": "object",
}


@validate_input
def measurements(trace: Trace) -> pd.DataFrame:
    """Return the share of step time of each cause that findings look for.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per kind of ``trace.findings``, launches first, then the closest to its threshold, unknown
        ones last: ``kind`` (str), ``share`` and ``limit`` (float64) as in `FIGURES`, ``text`` (str), ``id``
        (str, the rule) and ``figures`` (dicts: the numbers and names in the text). `cannot_say` if no step
        takes time.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import measurements
    >>> columns = {"start_ns": [0, 100], "duration_ns": [100, 9_900], "kind": ["op"] * 2,
    ...            "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    >>> table = measurements(Trace(events.build(columns))).set_index("kind")
    >>> print(table.loc["input", "text"])
    Input wait is 1.0 % of step time (threshold 5 %).
    """
    whole = breakdown(trace)
    if why_not(whole):
        return cannot_say(_COLUMNS, why_not(whole))
    if not int(whole["step_ns"].max()):
        return cannot_say(_COLUMNS, Text("no_step_length"))
    rows = []
    for name, rule in sorted(RULES.items(), key=lambda item: not item[1].leads):
        share, limit, figures = rule.measure(rule.of(trace))
        figures |= rule.words(trace)
        rows.append((rule.kind, share, limit, rule.sentence(figures), name, figures))
    table = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(dtypes(_COLUMNS))
    near = (table["share"] / table["limit"]).fillna(-1.0).to_numpy()
    order = np.lexsort((-near, table.index.to_numpy() > 0, near < 0))
    return table.take(order).reset_index(drop=True)
