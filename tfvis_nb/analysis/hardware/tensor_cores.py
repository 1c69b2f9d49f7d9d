"""Kernels that use Tensor Cores, by name, and ops that could, by type."""

import re

# cuBLAS and cuDNN name the matrix instruction (884, 1688, 16816) or its tile, CUTLASS the class of operators.
_WITH = re.compile(
    r"tensor_?op|[hiqw]g?mma_|tensor\d+x\d+x\d+|warpgroup|(?<![0-9])[a-z]?(?:884|8816|1688|16816|16832)(?![0-9])",
    re.IGNORECASE,
)
_WITHOUT = re.compile(r"ffma|simt|[sd]gemm|eigen", re.IGNORECASE)
_MULTIPLIES = re.compile(r"gemm|dot|conv", re.IGNORECASE)
_ELIGIBLE = re.compile(
    r"(?:_Fused)?(?:Sparse|Batch)?MatMul(?:V\d)?|(?:_Fused)?Conv[23]D(?:Backprop\w+)?"
    r"|DepthwiseConv2dNative(?:Backprop\w+)?|(?:Xla)?Einsum|CudnnRNN(?:Backprop)?(?:V\d)?"
    r"|dot(?:_general)?|conv(?:olution|_general_dilated)|gemm|(?:triton_)?gemm_fusion\w*"
)
_FIRST_WITH = 7
"""Compute capability. GeForce GTX 16 has 7.5 without them; its profiles do not distinguish it from RTX 20."""


def uses_tensor_cores(kernel: str, op: str) -> bool | None:
    """Return whether a kernel uses Tensor Cores; None if it may, but its name does not show it.

    >>> uses_tensor_cores("ampere_h16816gemm_128x64_ldg8_stages_64x4_nn", "MatMul")
    True
    >>> uses_tensor_cores("ampere_sgemm_32x128_nn", "MatMul")
    False
    """
    if _WITHOUT.search(kernel):
        return False
    if _WITH.search(kernel):
        return True
    return None if could_use_tensor_cores(op) or _MULTIPLIES.search(kernel) else False


def could_use_tensor_cores(op: str) -> bool:
    """Return whether ops of this type have kernels for Tensor Cores.

    >>> could_use_tensor_cores("Conv2DBackpropFilter"), could_use_tensor_cores("Relu")
    (True, False)
    """
    return _ELIGIBLE.fullmatch(op) is not None


def has_tensor_cores(capability: str) -> bool:
    """Return whether GPUs of a compute capability have Tensor Cores, which came with 7.0.

    >>> has_tensor_cores("6.1"), has_tensor_cores("10.0"), has_tensor_cores("")
    (False, True, False)
    """
    major = capability.partition(".")[0]
    return major.isdecimal() and int(major) >= _FIRST_WITH
