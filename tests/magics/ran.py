"""The result of running a cell."""

from typing import Any

from IPython.utils.capture import capture_output

VIEW = "application/vnd.jupyter.widget-view+json"


class Ran:
    """What one cell did."""

    def __init__(self, shell: Any, cell: str, **options: bool) -> None:
        with capture_output() as captured:
            self.result = shell.run_cell(cell, **options)
        self.text = captured.stdout
        self.views = [output.data[VIEW]["model_id"] for output in captured.outputs if VIEW in output.data]
        self.error = self.result.error_before_exec or self.result.error_in_exec
