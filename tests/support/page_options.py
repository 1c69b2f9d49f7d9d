"""The options that an exported page holds."""

import json
import re
from typing import Any


def page_options(page: str) -> dict[str, Any]:
    """Return the options of the timeline in the text of a page."""
    found = re.search(r'id="tfvis-options">(.*?)</script>', page)
    assert found
    options: dict[str, Any] = json.loads(found[1])
    return options
