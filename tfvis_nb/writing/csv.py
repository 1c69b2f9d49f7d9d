"""Write rows of the event table as CSV, with the same columns as the front end's export."""

import pandas as pd

from tfvis_nb.core.labels import lane_label

_TEXTS = ("lane", "name", "op", "source", "destination", "tensor")
_FORMULA = r"^(?=[=+\-@\t\r])"


def rows_csv(rows: pd.DataFrame) -> str:
    """Write rows of an event table as CSV, their event ids (the index) first.

    Texts that a spreadsheet would run as a formula are prefixed with an apostrophe.

    >>> from tfvis_nb import events
    >>> table = events.build({"start_ns": [5], "duration_ns": [2], "name": ["=1"], "lane": ["ops"]})
    >>> print(rows_csv(table).splitlines()[1])
    0,0,ops,'=1,,5,2,,,,
    """
    lanes = rows[["task", "device", "lane"]].drop_duplicates().astype("str")
    labels = {tuple(lane): lane_label(*lane) for lane in lanes.itertuples(index=False)}
    keys = zip(*(rows[name].astype("str") for name in ("task", "device", "lane")), strict=True)
    table = pd.DataFrame(
        {
            "event": rows.index,
            "step": rows["step"].to_numpy(),
            "lane": [labels[key] for key in keys],
            **{
                name: rows[name].array
                for name in (
                    "name",
                    "op",
                    "start_ns",
                    "duration_ns",
                    "bytes",
                    "source",
                    "destination",
                    "tensor",
                )
            },
        }
    )
    for name in _TEXTS:
        table[name] = table[name].astype("str").str.replace(_FORMULA, "'", regex=True)
    text: str = table.to_csv(index=False, lineterminator="\n")
    return text
