"""The training phase of an op, from the files of its stack."""

import re
from functools import cache

_OPTIMIZER = re.compile(
    r"[\\/]keras\d*(?:[\\/].*)?[\\/]optimizers?(?:_v\d)?[\\/](?!schedules)"
    r"|tensorflow[\\/]python[\\/]training[\\/](?:[a-z_]*optimizer[a-z_]*|ada\w+|ftrl|momentum|gradient_descent|rmsprop)\.py$"
)
_COMPUTES_GRADIENTS = ("compute_gradients", "minimize", "scale_loss", "get_gradients")
"""Functions of optimizers that run the model, directly or indirectly."""


@cache
def phase_of_frame(file: str, function: str) -> str | None:
    """Return the phase of ops made in a frame, if the frame is an optimizer's or a tape's."""
    if _OPTIMIZER.search(file) and function not in _COMPUTES_GRADIENTS:
        return "optimizer"
    if file.endswith(("eager/backprop.py", "eager\\backprop.py")) and function == "gradient":
        return "backward"
    return None
