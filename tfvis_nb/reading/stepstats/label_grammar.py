"""The grammar of ``timeline_label`` and node names in all TensorFlow versions."""

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# [allocator 1.0MB 1.0MB] name = Op(input, input:1, ^control)
_EXECUTOR = r"^(?:\[[^\]]*\] )*[^ ]* = (?P<op>[^ (]+)\("
_PLAIN_EXECUTOR = r"^[^ ]* = (?P<op>[^ (]+)\("
# [20480B] [41.604877Mb/s] tensor from device to device; TF 1.13 and later write the rate
_TRANSFER = (
    r"^\[(?P<amount>[0-9]{1,15}(?:\.[0-9]+)?)(?P<unit>B|MB)\] (?:\[[^\]]*b/s\] )?"
    r"(?P<tensor>.*) from (?P<source>[^ ]*) to (?P<destination>[^ ]*)$"
)
# name:Op, or in TF 1.14 to 2.0 name:Op#id=1,device=...#@@kernel
_ANNOTATION = r"^(?P<node>[^:\s#]+):(?P<op>[A-Za-z_][A-Za-z0-9_]*)(?:#.*)?(?:@@.*)?$"
_PLAIN_ANNOTATION = r"^[^:\s#]+:[A-Za-z_][A-Za-z0-9_]*$"
_COLLECTIVE = (
    r"^(?:_?Nccl|Collective|Horovod(?:Grouped)?(?:Allreduce|Allgather|Broadcast|Reducescatter|Alltoall|Join)"
    r"|(?i:(?:ddl)?(?:allreducen?|bcast|allgather|reducescatter))$|Byteps)"
)
COLLECTIVE_KERNEL = (
    r"(?:void )?(?:\w+::)*(?:[nrh]ccl|hcom_|multimem_|cross_device_reduce|(?:inter|intra)node(?:_ll)?::"
    r"|\w*(?:all[-_]?(?:reduce|gather|to[-_]?all)|reduce[-_]?scatter|collective[-_]?permute))"
)
"""Matches kernels that communicate, in any case: of NCCL, RCCL and HCCL, and of other libraries."""

_NOT_COLLECTIVE = re.compile(r"Collective(?:InitializeCommunicator|AssignGroup)")

TRANSFER_NODES = ("RecvTensor", "RecvBuf")


def executor_ops(labels: pa.Array) -> pa.Array:
    """Return the op type of each executor label; null if a label has another form."""
    plain = _extract(labels, _PLAIN_EXECUTOR, "op")
    if not plain.null_count:
        return plain
    missing = plain.is_null()
    # Few labels have the memory prefix, whose pattern is several times slower.
    return pc.replace_with_mask(plain, missing, _extract(labels.filter(missing), _EXECUTOR, "op"))


def transfer_fields(labels: pa.Array) -> dict[str, pa.Array]:
    """Split RPC labels into amount, unit, tensor, source and destination; null if they do not match."""
    parts = pc.extract_regex(labels, _TRANSFER)
    # A null struct has empty texts in its children; struct_field propagates the null.
    return {
        name: pc.struct_field(parts, name) for name in ("amount", "unit", "tensor", "source", "destination")
    }


def node_and_op(names: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Split names such as ``conv1/Conv2D:Conv2D`` into node and op type; null if they have another form."""
    if pc.all(pc.match_substring_regex(names, _PLAIN_ANNOTATION)).as_py():
        # Matching and then splitting is several times faster than a pattern with groups.
        halves = pc.list_flatten(pc.split_pattern(names, ":"))
        first = pa.array(np.arange(0, len(halves), 2))
        return halves.take(first), halves.take(pc.add(first, 1))
    parts = pc.extract_regex(names, _ANNOTATION)
    return pc.struct_field(parts, "node"), pc.struct_field(parts, "op")


def _extract(texts: pa.Array, pattern: str, name: str) -> pa.Array:
    return pc.struct_field(pc.extract_regex(texts, pattern), name)


def collective_kernels(names: pa.Array) -> np.ndarray:
    """Return which kernels communicate.

    Compilers name fused kernels after all their ops, even those that only wait for a collective.

    >>> collective_kernels(pa.array(["void vllm::cross_device_reduce_1stage<half>(int)", "gemm"])).tolist()
    [True, False]
    """
    collective = pc.match_substring_regex(names, f"(?i)^{COLLECTIVE_KERNEL}")
    fused = pc.match_substring_regex(names, r"^triton_[a-z]+_fused")
    mask: np.ndarray = pc.and_not(collective, fused).to_numpy(zero_copy_only=False)
    return mask


def is_collective(op: str) -> bool:
    """Return whether an op type is a collective, which waits for its peers; not all Horovod ops are."""
    return re.match(_COLLECTIVE, op) is not None and _NOT_COLLECTIVE.match(op) is None


class Copy(NamedTuple):
    """Parts of a copy's name and label. `origin` and `target` are H, D or empty; `size_bytes` -1 if unknown.

    `peer` is the number of the GPU copied to, -1 if not given.
    """

    node: str
    op: str
    lane: str
    origin: str
    target: str
    size_bytes: int
    tensor: str
    peer: int


# HSA, which copies for ROCm, writes CopyDeviceToHost.
_DIRECTION = re.compile(
    r"(?:memcpy_?|copy(?=(?:host|device)to))(?:([HDAUP?])(?:ost|evice)?(?:2|to)([HDAUP?])|(Other))",
    re.IGNORECASE,
)
_SIZE = re.compile(r"\b(?:size|num_bytes|bytes): ?(\d{1,18})\b|\b(\d{1,18}) bytes\b")
_PEER = re.compile(r"\b(?:dest|destination|to device): ?(\d+)")
_NODE_AND_KIND = re.compile(r"([^:\s]+):([A-Za-z_]\w*)")
_EDGE = re.compile(r"edge_\d+_(.+)")
_TRANSFER_NODE = re.compile(r"_(?:Host)?(?:Send|Recv)")
_PARTITIONED = re.compile(r"(.+?)(?:/_\d+|_S\d+)")


def source_nodes(tensors: pa.Array, names: pa.Array) -> pa.Array:
    """Return the node that made the tensor of each RPC row, or the row's own name.

    graph_partition.cc calls an edge ``edge_<number>_<source node>``; the keys of collectives' buffers
    name no node.

    >>> import pyarrow as pa
    >>> tensors = pa.array(["edge_18_w/read", "7:7:0:0:0:1:1"])
    >>> source_nodes(tensors, pa.array(["RecvTensor", "RecvBuf"])).to_pylist()
    ['w/read', 'RecvBuf']
    """
    node = pc.struct_field(pc.extract_regex(tensors, r"^edge_\d+_(?P<node>.+)$"), "node")
    return pc.coalesce(node.cast(names.type), names)


def unpartitioned(name: str) -> str:
    """Return the node that a partition's transfer node represents: ``c/_5`` and ``c_S29`` represent ``c``."""
    match = _PARTITIONED.fullmatch(name)
    return match[1] if match else name


def parse_copy(what: str, name: str, label: str) -> Copy:
    """Parse a GPU copy: `what` is the word in its lane's name, `name` and `label` are those of the row.

    >>> copy = parse_copy("MemcpyD2H", "Mean/_4:_Send", "MemcpyD2H kind_dst:pinned size:4 dest:0 async:1")
    >>> copy.node, copy.op, copy.size_bytes, copy.tensor
    ('Mean/_4', 'MemcpyD2H', 4, 'Mean')
    """
    direction = _DIRECTION.search(what) or _DIRECTION.search(label) or _DIRECTION.search(name)
    origin = target = ""
    kind = ""
    if direction and direction[1]:
        origin, target = direction[1].upper(), direction[2].upper()
        kind = "P2P" if "P" in origin + target else f"{origin}2{target}"
    elif direction:
        kind = "Other"
    size = _SIZE.search(label)
    peer = _PEER.search(label)
    node, tensor = _copied(name, label)
    return Copy(
        node=node,
        op=f"Memcpy{kind}",
        lane=f"memcpy {kind}".rstrip(),
        origin="H" if origin == "H" else "D" if origin else "",
        target="H" if target == "H" else "D" if target else "",
        size_bytes=int(size[1] or size[2]) if size else -1,
        tensor=tensor,
        peer=int(peer[1]) if peer else -1,
    )


def _copied(name: str, label: str) -> tuple[str, str]:
    """Return the node that requested a copy and the copied tensor, from an annotation in any dialect."""
    annotation = name.split("@@", 1)[0]
    if _DIRECTION.match(annotation) and " num_bytes:" in label:
        annotation = label.split(" num_bytes:", 1)[0]
    else:
        head, _, tail = annotation.rpartition(":")
        annotation = head if head and _DIRECTION.match(tail) else annotation
    node, tensor = "", ""
    for frame in (part.split("#", 1)[0] for part in annotation.split("::")):
        if edge := _EDGE.fullmatch(frame):
            tensor = frame
            node = node or edge[1]
        elif parts := _NODE_AND_KIND.fullmatch(frame):
            if not node and _TRANSFER_NODE.fullmatch(parts[2]):
                tensor = tensor or unpartitioned(parts[1])
            node = node or parts[1]
        else:
            node = node or frame
    return node or name, tensor
