"""A server that answers as TensorFlow's profiler service does, or otherwise."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc


@contextmanager
def served(answer: Callable[[bytes], bytes] | None) -> Iterator[str]:
    """A server that answers requests for a profile with some bytes, or has no such service."""

    class Service(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, call: Any) -> Any:
            if answer is None or call.method != "/tensorflow.ProfilerService/Profile":
                return None
            return grpc.unary_unary_rpc_method_handler(lambda request, _: answer(request))

    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool)
        server.add_generic_rpc_handlers([Service()])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(0).wait()
