"""The phase of a training step that an op belongs to, from its name."""

import re

_CALLED = re.compile(
    r"(?:^|(?<=/))(?:(?:Stateful)?PartitionedCall(?:_\d+)?|ConstantFolding|Func"
    r"|(?:while|cond|While|If|StatelessWhile|StatelessIf)(?:_\d+)?/(?:body|cond|then|else)/_\d+)/"
)
_OPTIMIZED = re.compile(
    r"(?:^|(?<=/))ArithmeticOptimizer/(?:SimplifyAggregation_Mul_|[A-Z]\w*?_)|/unary_ops_composition$"
)
"""What Grappler's arithmetic optimizer adds to the name of a node that it makes from another one."""
_PASSED = re.compile("_(?:send|arg|retval)_")
"""Prefixes of nodes that pass a value on; the name of another node follows."""

GRADIENTS = re.compile(r"(?:^|/)(?P<kind>gradient_tape|gradients(?:_\d+)?)/")
"""The scope of gradient ops, followed by the name of the forward op."""

_TRANSPOSED = re.compile(r"transpose\((?:\w+\()*jvp\(")
_OPTIMIZER = re.compile(
    r"(?:distributed\w*optimizer\w*|loss_?scale_?optimizer|adam|adamw|adamax|nadam|amsgrad|sgd|rmsprop|adagrad"
    r"|adadelta|ftrl|lion|lamb|muon|adafactor|momentum|gradient_?descent|proximal\w+)(?:_\d+)?(?:/|$)",
    re.IGNORECASE,
)
_APPLIES = re.compile(r"(?:Resource)?(?:Sparse)?Apply[A-Z]")


def without_calls(name: str) -> str:
    """Return the name of a node without TensorFlow's prefixes for inlined, folded and passed-on nodes.

    >>> without_calls("StatefulPartitionedCall/while/body/_12/model/dense/MatMul")
    'model/dense/MatMul'
    """
    passed = _PASSED.match(name)
    return before_rewriting(_CALLED.sub("", name[passed.end() :] if passed else name))


def before_rewriting(name: str) -> str:
    """Return the name of the node from which TensorFlow's arithmetic optimizer made a node; others unchanged.

    >>> before_rewriting("model/dense/ArithmeticOptimizer/FoldTransposeIntoMatMul_MatMul")
    'model/dense/MatMul'
    """
    return _OPTIMIZED.sub("", name)


def phase_of(name: str, op: str = "") -> str:
    """Return the phase of a node or of a JAX op, one of `tfvis_nb.core.stacks.PHASES`, or an empty text.

    A name proves the forward phase only if JAX differentiates the op.

    >>> phase_of("gradient_tape/model/dense/MatMul/MatMul_1"), phase_of("jit(f)/transpose(jvp(Dense_0))/mul")
    ('backward', 'backward')
    >>> phase_of("adam/AssignAddVariableOp"), phase_of("jit(f)/jvp(Dense_0)/dot_general"), phase_of("Mean")
    ('optimizer', 'forward', '')
    """
    if _APPLIES.match(op):
        return "optimizer"
    uncalled = without_calls(name)
    if GRADIENTS.search(uncalled) or _TRANSPOSED.search(name):
        return "backward"
    if _OPTIMIZER.match(uncalled):
        return "optimizer"
    return "forward" if "jvp(" in name else ""


def is_optimizer(scope: str) -> bool:
    """Return whether a scope's name shows that it is an optimizer's.

    >>> is_optimizer("Adam"), is_optimizer("dense")
    (True, False)
    """
    return _OPTIMIZER.fullmatch(scope) is not None
