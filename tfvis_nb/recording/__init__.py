"""Record TensorFlow or JAX as a Trace. Only this folder imports them, and only when a recording starts."""

import lazy_loader

# `tfvis-nb doctor` imports a part of this package even if pyarrow cannot be imported.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
