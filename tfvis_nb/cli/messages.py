"""Read a file and keep its TensorFlow messages, so that they can be written in another format."""

from pathlib import Path

from tfvis_nb.core.trace import Trace


def kept_messages(path: Path, max_unpacked: int | None) -> list[Trace]:
    """Read a file of RunMetadata or XSpace as a trace that keeps its messages; nothing for other data."""
    from tfvis_nb.reading import read_trace
    from tfvis_nb.reading.chrome.reader import is_json
    from tfvis_nb.reading.parquet import is_parquet
    from tfvis_nb.reading.sources.archive import is_tar
    from tfvis_nb.reading.sources.unpacking import Budget, unpack
    from tfvis_nb.reading.tensorboard import is_event_file
    from tfvis_nb.reading.xspace.planes import is_xspace

    if not path.is_file():
        return []
    packed = path.read_bytes()
    data = unpack(packed, str(path), Budget(max_unpacked).of_file(len(packed)))
    if any(matches(data) for matches in (is_tar, is_parquet, is_json, is_event_file)):
        return []
    trace = read_trace(path, max_unpacked_bytes=max_unpacked)
    if is_xspace(data):
        trace.profiles = [bytes(data)]
    else:
        trace.sources = _run_metadata(bytes(data), str(path))
    return [trace]


def _run_metadata(data: bytes, label: str) -> list[bytes]:
    """Return each RunMetadata in a pickle, a text or a binary file; a StepStats becomes one."""
    from tfvis_nb.reading.gate import gate
    from tfvis_nb.reading.pickles.reader import is_pickle, messages
    from tfvis_nb.reading.protobuf.wire import delimited
    from tfvis_nb.reading.stepstats.recognition import kind_of
    from tfvis_nb.reading.stepstats.text_messages import is_text, to_binary

    if is_pickle(data):
        with gate(label):
            runs = [(bytes(run.data), run.message) for run in messages(data, label, [])]
    else:
        binary = to_binary(data, label)[0] if is_text(data) else data
        runs = [(binary, kind_of(binary))]
    return [run if message == "RunMetadata" else delimited(1, run) for run, message in runs]
