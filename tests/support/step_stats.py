"""The smallest StepStats that can be read."""

from tfvis_nb.reading.protobuf import schema

ONE_OP = b"""dev_stats {
  device: "/job:localhost/replica:0/task:0/device:CPU:0"
  node_stats { node_name: "a" timeline_label: "a = Const()" all_start_micros: 70 all_end_rel_micros: 2 }
}"""


def one_op(
    start: int = 70, label: str = "a = Const()", device: str = "/job:a/replica:0/task:0/cpu:0"
) -> bytes:
    """Return a serialised StepStats of one row."""
    step = schema.message_class("StepStats")()
    entry = step.dev_stats.add(device=device.encode())
    entry.node_stats.add(
        node_name=b"a", timeline_label=label.encode(), all_start_micros=start, all_end_rel_micros=2
    )
    data: bytes = step.SerializeToString()
    return data
