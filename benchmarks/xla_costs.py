"""What XLA counts of programs that JAX compiles, for `tests/analysis/test_hlo_costs.py`.

JAX has dependencies of its own, so it runs in an environment of its own::

    python -m venv /tmp/jax && /tmp/jax/bin/pip install 'jax[cpu]'
    /tmp/jax/bin/python benchmarks/xla_costs.py

writes ``tests/analysis/xla_costs.json`` anew: each program as its serialised ``HloProto``, before and after
XLA optimised it, and the operations and bytes that XLA's cost analysis counts.
"""

from __future__ import annotations

import base64
import importlib
import importlib.metadata
import json
import zlib
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[1] / "tests" / "analysis" / "xla_costs.json"


def functions() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return functions with their arguments, by name."""
    jax = importlib.import_module("jax")
    jnp, lax = jax.numpy, jax.lax

    def array(*shape: int) -> Any:
        return jnp.ones(shape, jnp.float32)

    def convolution(**options: Any) -> Any:
        return lambda x, kernel: lax.conv_general_dilated(
            x, kernel, **{"window_strides": (1, 1), "padding": "SAME"} | options
        )

    image, kernel = array(2, 3, 17, 13), array(6, 3, 3, 5)
    return {
        "dot": (lambda a, b: a @ b, (array(32, 64), array(64, 48))),
        "batched_dot": (lambda a, b: jnp.einsum("bij,bkj->bik", a, b), (array(4, 8, 16), array(4, 12, 16))),
        "convolution": (convolution(), (image, kernel)),
        "strided": (convolution(window_strides=(2, 3), padding=((0, 2), (1, 1))), (image, kernel)),
        "dilated": (convolution(rhs_dilation=(2, 2)), (image, kernel)),
        "transposed": (convolution(lhs_dilation=(2, 2), padding=((1, 1), (2, 2))), (image, kernel)),
        "grouped": (convolution(feature_group_count=3), (image, array(6, 1, 3, 5))),
        "elementwise": (lambda x: jnp.exp(x) * 2 - jnp.tanh(x), (array(100, 100),)),
        "reduce": (lambda x: x.sum(axis=1), (array(64, 128),)),
        "softmax": (jax.nn.softmax, (array(32, 128),)),
        "pooled": (
            lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (2, 2), "VALID"),
            (array(16, 16),),
        ),
        "gathered": (lambda x, at: x[at], (array(1000, 64), jnp.arange(8))),
        "scattered": (lambda x, at: x.at[at].add(1.0), (array(1000, 64), jnp.arange(8))),
        "updated": (lambda x: x.at[3:5].set(0.5), (array(1000, 64),)),
        "layer": (
            jax.grad(lambda w, x: (jax.nn.relu(x @ w) ** 2).mean()),
            (array(64, 32), array(16, 64)),
        ),
    }


def main() -> None:
    """Write the file."""
    jax = importlib.import_module("jax")
    xla = importlib.import_module("jax._src.lib")._jax  # noqa: SLF001 - has no public name
    client = jax.devices("cpu")[0].client
    found: dict[str, Any] = {}
    for name, (function, arguments) in functions().items():
        lowered = jax.jit(function).lower(*arguments)
        modules = {
            "lowered": lowered.compiler_ir("hlo").get_hlo_module(),
            "compiled": lowered.compile().runtime_executable().hlo_modules()[0],
        }
        for stage, module in modules.items():
            costs = xla.hlo_module_cost_analysis(client, module)
            proto = module.as_serialized_hlo_module_proto()
            found[f"{name} {stage}"] = {
                "flops": costs.get("flops", 0),
                "transcendentals": costs.get("transcendentals", 0),
                "bytes_accessed": costs["bytes accessed"],
                "module": base64.b64encode(zlib.compress(proto, 9)).decode(),
            }
    figures = {"jax": importlib.metadata.version("jax"), "programs": found}
    TARGET.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
