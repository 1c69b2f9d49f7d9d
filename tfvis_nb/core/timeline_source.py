"""Sources with their own kind of timeline."""

from abc import ABC, abstractmethod
from typing import Any


class TimelineSource(ABC):
    """A source that `tfvis_nb.show_timeline` asks to show itself, such as a dataset of traces."""

    @abstractmethod
    def show_timeline(self, *args: Any, **options: Any) -> Any:
        """Show the source."""
