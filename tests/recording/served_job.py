"""A job with TensorFlow's profiler service at a free port, which it prints; it works until it is killed."""

import socket
import sys
import time


def main() -> None:
    """Run steps of a function."""
    import tensorflow as tf

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tf.profiler.experimental.server.start(port)

    @tf.function  # type: ignore[untyped-decorator]
    def step(value: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.matmul(value, value))

    value = tf.ones((64, 64))
    step(value)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    number = 0
    while True:
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            step(value)
        number += 1
        time.sleep(0.01)


if __name__ == "__main__":
    main()
