"""A stand-in for the kernels of a TensorFlow that was built for GPUs."""

import sys
from collections.abc import Collection, Mapping
from types import ModuleType, SimpleNamespace

import pytest


def register(monkeypatch: pytest.MonkeyPatch, types: Mapping[tuple[str, str], Collection[int]]) -> None:
    """Pretend that a TensorFlow is imported that has kernels of MatMul for a GPU, and these.

    `types` has the values of ``T`` that the kernel of an op takes on a type of device.
    """
    known = {("MatMul", "GPU"): [1], **types}

    def registered(op: str) -> SimpleNamespace:
        return SimpleNamespace(
            kernel=[
                SimpleNamespace(
                    device_type=device,
                    constraint=[
                        SimpleNamespace(
                            name="T", allowed_values=SimpleNamespace(list=SimpleNamespace(type=list(allowed)))
                        )
                    ],
                )
                for (name, device), allowed in known.items()
                if name == op
            ]
        )

    kernels = ModuleType("kernels")
    vars(kernels)["get_registered_kernels_for_op"] = registered
    monkeypatch.setitem(sys.modules, "tensorflow.python.framework.kernels", kernels)
