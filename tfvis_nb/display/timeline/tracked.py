"""A timeline with the user's own tracks."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tfvis_nb.core.trace import Trace
from tfvis_nb.display.pages.static_html import QUICK
from tfvis_nb.display.shaping.tracks import OwnTrack, checked_tracks, drawn_tracks
from tfvis_nb.display.timeline.viewed import ViewedTimeline


class TrackedTimeline(ViewedTimeline):
    """The own tracks of `TimelineWidget`; `_shown` has its events at the times drawn."""

    _trace: Trace
    _shown: Trace
    _own: dict[str, OwnTrack]

    def _store_changed(self) -> None:
        """Store the changed timeline in the notebook's file, unless its trace is large."""
        # A closed timeline is not shown anywhere.
        if self._drawn and len(self._trace.events) <= QUICK:
            self._store_again()

    def add_track(self, name: str, table: Any) -> None:
        """Draw a table below the lanes, replacing another track of this name.

        Bars have the columns ``start_ns``, ``duration_ns`` or ``end_ns``, and ``name``; values over time have
        ``time_ns``, ``value`` and optionally ``unit``, such as ``"bytes"`` or ``"%"``. Times are epoch
        nanoseconds. Pages and pictures of the timeline show the tracks, except for anonymized pages.

        Parameters
        ----------
        name
            Name of the track.
        table
            A DataFrame, or data that pandas converts to one. All tracks together have at most 20,000 rows.

        Raises
        ------
        TypeError, ValueError
            If the table has other columns or an invalid value, which the message names.

        Examples
        --------
        >>> import pandas as pd
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> columns = {"start_ns": [5, 9], "duration_ns": [3, 90], "kind": ["op", "op"]}
        >>> widget = tv.show_timeline(tv.Trace(events.build(columns)))
        >>> widget.add_track("phases", {"start_ns": [5], "end_ns": [50], "name": ["warm-up"]})
        >>> widget.add_track("loss", pd.DataFrame({"time_ns": [8, 99], "value": [2.5, 1.5]}))
        >>> list(widget.tracks)
        ['phases', 'loss']
        """
        self.tracks = {**self._own, name: table}

    @property
    def tracks(self) -> dict[str, pd.DataFrame]:
        """The tables that `add_track` has drawn, by name; settable."""
        return {name: track.table for name, track in self._own.items()}

    @tracks.setter
    def tracks(self, tables: Any) -> None:
        self._own = checked_tracks(tables, self._trace)
        self.set_trait("_tracks", drawn_tracks(self._own, self._trace, self._shown))
        self._store_changed()
