"""How far the figures of a trace can be trusted, and what it does not record."""

from tfvis_nb.analysis.findings.clocks import clocks_sentence, uncertain_clocks
from tfvis_nb.analysis.findings.launch_bound import tracing_sentence
from tfvis_nb.analysis.findings.table import OVERLAP, overlap
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text


def certainty(trace: Trace, step_ns: float | None) -> list[str]:
    """Return a sentence for each doubt about the figures, and one that lists what was not recorded.

    `step_ns` is the length of a typical step, with which the difference of clocks is compared.
    """
    found = trace.findings["figures"].tolist()
    ends = next((figures["ends_ns"] for figures in found if figures.get("ends_ns") is not None), None)
    sentences = [
        "" if step_ns is None else clocks_sentence(uncertain_clocks(trace, step_ns), ends),
        next((tracing_sentence(figures) for figures in found if "tracing_share" in figures), ""),
        OVERLAP if overlap(trace.findings) else "",
        _not_recorded(trace),
    ]
    return [sentence for sentence in sentences if sentence]


def _not_recorded(trace: Trace) -> str:
    missing = {
        "lacks_memory": trace.memory.empty and trace.counters.empty,
        "lacks_input": bool(why_not(trace.input_pipeline)),
        "lacks_graphs": not len(trace.graphs),
        "lacks_lines": bool(why_not(trace.source_lines)),
    }
    what = "; ".join(str(Text(key)) for key, is_missing in missing.items() if is_missing)
    return str(Text("certainty_not_recorded", what=what)) if what else ""
