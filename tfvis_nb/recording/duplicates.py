"""Find rows of a profile that are also in the trace of a session run."""

import numpy as np
import pandas as pd

from tfvis_nb.events import NO_STEP

CLOSE_NS = 250_000
"""The largest difference between two recorded starts of one execution; both use the machine's clock."""


def repeats(profile: pd.DataFrame, sessions: pd.DataFrame) -> np.ndarray:
    """Return the step of the same execution in a session's trace for each row of a profile, or `NO_STEP`."""
    steps = np.full(len(profile), NO_STEP, dtype="int64")
    ours = _executions(profile)
    theirs = _executions(sessions).assign(step=sessions["step"].astype("int64"))
    if ours.empty or theirs.empty:
        return steps
    pairs = pd.merge_asof(
        ours.reset_index(names="row"),
        theirs,
        on="start_ns",
        by=["name", "op"],
        direction="nearest",
        tolerance=CLOSE_NS,
    )
    known = pairs["step"].notna()
    steps[pairs.loc[known, "row"]] = pairs.loc[known, "step"].astype("int64")
    return steps


def steps_of_runs(step: np.ndarray, run: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Give all rows of a profile's step to the session run with most of its repeated rows.

    For each row of the profile, `step` is its step there, `run` the session run whose row it repeats
    (`NO_STEP` for none), and `otherwise` its step if it is not part of a session run.

    >>> steps_of_runs(np.array([0, 0, 1, -1]), np.array([7, -1, -1, -1]), np.array([20, 20, 21, -1])).tolist()
    [7, 7, 21, -1]
    """
    repeated = (run != NO_STEP) & (step != NO_STEP)
    counts = pd.DataFrame({"step": step[repeated], "run": run[repeated]}).value_counts().reset_index()
    run_of = counts.drop_duplicates("step").set_index("step")["run"]
    known = np.isin(step, run_of.index)
    result = otherwise.copy()
    result[known] = run_of.loc[step[known]].to_numpy()
    return result


def _executions(table: pd.DataFrame) -> pd.DataFrame:
    """Return name, op and start of executor rows, with their index."""
    rows = table[table["kind"].isin(["op", "transfer", "collective"])]
    return pd.DataFrame(
        {"name": rows["name"].astype("str"), "op": rows["op"].astype("str"), "start_ns": rows["start_ns"]}
    )
