"""The phase of a training step that an op belongs to, from its name."""

import re

import pyarrow as pa
import pyarrow.compute as pc

# Arrow searches all names of a trace at once, with these patterns: RE2 has no lookbehind, hence the group.
_CALLED = (
    r"(^|/)(?:(?:(?:Stateful)?PartitionedCall(?:_\d+)?|ConstantFolding|Func"
    r"|(?:while|cond|While|If|StatelessWhile|StatelessIf)(?:_\d+)?/(?:body|cond|then|else)/_\d+)/)+"
)
_OPTIMIZED = r"(^|/)ArithmeticOptimizer/(?:SimplifyAggregation_Mul_|[A-Z]\w*?_)|/unary_ops_composition$"
"""What Grappler's arithmetic optimizer adds to the name of a node that it makes from another one."""
_PASSED = "^_(?:send|arg|retval)_"
"""Prefixes of nodes that pass a value on; the name of another node follows."""

GRADIENTS = r"(?:^|/)(?:gradient_tape|gradients(?:_\d+)?)/"
"""The scope of gradient ops, followed by the name of the forward op."""

_TRANSPOSED = r"transpose\((?:\w+\()*jvp\("
_OPTIMIZER = (
    r"(?i:distributed\w*optimizer\w*|loss_?scale_?optimizer|adam|adamw|adamax|nadam|amsgrad|sgd|rmsprop|adagrad"
    r"|adadelta|ftrl|lion|lamb|muon|adafactor|momentum|gradient_?descent|proximal\w+)(?:_\d+)?(?:/|$)"
)
UPDATES = re.compile(r"(?:Resource)?(?:Sparse)?Apply[A-Z]")
"""The beginning of op types that update variables, which only an optimizer does."""


def without_calls(names: pa.Array) -> pa.Array:
    """Return the names of nodes without TensorFlow's prefixes for inlined, folded and passed-on nodes.

    >>> import pyarrow as pa
    >>> without_calls(pa.array(["StatefulPartitionedCall/while/body/_12/model/dense/MatMul"])).to_pylist()
    ['model/dense/MatMul']
    """
    for pattern, scope in ((_PASSED, ""), (_CALLED, r"\1"), (_OPTIMIZED, r"\1")):
        names = pc.replace_substring_regex(names, pattern, scope)
    return names


def before_rewriting(name: str) -> str:
    """Return the name of the node from which TensorFlow's arithmetic optimizer made a node; others unchanged.

    >>> before_rewriting("model/dense/ArithmeticOptimizer/FoldTransposeIntoMatMul_MatMul")
    'model/dense/MatMul'
    """
    return re.sub(_OPTIMIZED, r"\1", name)


def phases(nodes: pa.Array) -> pa.Array:
    """Return the phases of nodes and of JAX ops: each one of `tfvis_nb.core.stacks.PHASES`, or null.

    A name proves the forward phase only if JAX differentiates the op.

    Parameters
    ----------
    nodes
        Names as `without_calls` returns them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> nodes = ["gradient_tape/model/dense/MatMul", "adam/AssignAddVariableOp", "Mean",
    ...          "jit(f)/transpose(jvp(Dense_0))/mul", "jit(f)/jvp(Dense_0)/dot_general"]
    >>> phases(pa.array(nodes)).to_pylist()
    ['backward', 'optimizer', None, 'backward', 'forward']
    """
    is_phase = {
        "backward": pc.match_substring_regex(nodes, f"{GRADIENTS}|{_TRANSPOSED}"),
        "optimizer": pc.match_substring_regex(nodes, f"^{_OPTIMIZER}"),
        "forward": pc.match_substring(nodes, "jvp("),
    }
    return pc.case_when(pc.make_struct(*is_phase.values()), *is_phase)


def is_optimizer(scope: str) -> bool:
    """Return whether a scope's name shows that it is an optimizer's.

    >>> is_optimizer("Adam"), is_optimizer("dense")
    (True, False)
    """
    return re.fullmatch(_OPTIMIZER, scope) is not None
