"""Many traces: datasets, their analyses, timelines and heat maps. Nothing else imports it unless it is used.

>>> import pandas as pd
>>> from tfvis_nb.fleet import fleet_heat_map
>>> tasks = ["worker:0", "worker:1"]
>>> table = pd.DataFrame({"run": "a", "step": [1, 1], "task": tasks, "duration_ns": [5, 9]})
>>> fleet_heat_map(table)[("a", 1)].tolist()
[5.0, 9.0]
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
