"""The content of a recorded session, read from its file."""

import tfvis_nb as tv


def runs_of(session: tv.SavedSession) -> dict[str, int]:
    """How many runs each signature has, by its label."""
    table = session.signatures
    return dict(zip(table["label"].tolist(), table["runs"].tolist(), strict=True))


def counted(session: tv.SavedSession) -> dict[str, tuple[int, int]]:
    """How many runs and traces each signature has, by its label."""
    table = session.signatures
    runs, traces = table["runs"].tolist(), table["traces"].tolist()
    return dict(zip(table["label"].tolist(), zip(runs, traces, strict=True), strict=True))
