"""``tfvis-nb doctor``: what recording and showing lack here, each with the command that mends it."""

import importlib.metadata
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import click

from tfvis_nb.cli import verb
from tfvis_nb.cli.errors import one_line
from tfvis_nb.recording.gpu import cupti
from tfvis_nb.recording.gpu.probe import Probe, probe

_OLDEST = (2, 15)
_LOADED_BY_LAB = ("anywidget", "@jupyter-widgets/jupyterlab-manager")


class Finding(NamedTuple):
    """What was looked at, what was found, and the command that mends it: "" where all is well."""

    about: str
    found: str
    mend: str = ""


@verb("doctor", "Exits with 1 if something has to be mended.", "tfvis-nb doctor")
@click.option("--json", "as_json", is_flag=True, help="Write JSON, for machines.")
def command(*, as_json: bool) -> int:
    """Show the findings; return 1 if one of them has to be mended, else 0."""
    findings = [*packages(), front_end(), jupyterlab(), *tensorflow(probe())]
    if as_json:
        print(json.dumps([{**one._asdict(), "ok": not one.mend} for one in findings], indent=1))  # noqa: T201
    else:
        for one in findings:
            print(f"{'MEND' if one.mend else 'ok  '} {one.about}: {one_line(one.found)}")  # noqa: T201
            if one.mend:
                print(f"     {one.mend}")  # noqa: T201
    return int(any(one.mend for one in findings))


def packages() -> list[Finding]:
    """Look at tfvis_nb and Python."""
    version = importlib.metadata.version("tfvis-nb")
    return [Finding("tfvis_nb", f"{version}, on Python {sys.version.split()[0]} ({sys.executable})")]


def front_end() -> Finding:
    """Look for the view, which a checkout of the source has to build first."""
    from tfvis_nb.display.bundles import bundle_path

    folder = bundle_path("").parent.parent
    absent = [name for name in _bundles(folder) if not bundle_path(name).is_file()]
    if not absent:
        return Finding("view", "built")
    if (folder / "package.json").is_file():
        return Finding("view", f"not built: {', '.join(absent)}", f"cd {folder} && npm ci && npm run build")
    return Finding(
        "view", f"not installed: {', '.join(absent)}", "pip install --force-reinstall --no-deps tfvis-nb"
    )


def _bundles(folder: Path) -> list[str]:
    """Return the files of the view: one per entry in a checkout, else those that the build listed."""
    from tfvis_nb.display.bundles import bundle_path

    entries = sorted((folder / "js" / "entries").glob("*.ts"))
    if entries:
        return [f"{entry.stem}.js" for entry in entries]
    listed = bundle_path("bundles.json")
    return json.loads(listed.read_text(encoding="utf-8")) if listed.is_file() else [listed.name]


def jupyterlab(prefix: Path | None = None) -> Finding:
    """Look whether JupyterLab of this environment, or of `prefix`, finds what loads the widget."""
    try:
        version = importlib.metadata.version("jupyterlab")
    except importlib.metadata.PackageNotFoundError:
        return Finding(
            "JupyterLab", "not in this environment; the one that serves the notebooks needs anywidget, too"
        )
    if int(version.partition(".")[0]) < 4:
        return Finding("JupyterLab", f"{version}, older than 4", "pip install --upgrade jupyterlab")
    folder = (prefix or Path(sys.prefix)) / "share" / "jupyter" / "labextensions"
    absent = [name for name in _LOADED_BY_LAB if not (folder / name / "package.json").is_file()]
    if absent:
        return Finding(
            "JupyterLab",
            f"{version} cannot show the widget: {' and '.join(absent)} not in {folder}",
            "pip install --force-reinstall --no-deps anywidget jupyterlab-widgets",
        )
    return Finding("JupyterLab", f"{version}, with anywidget {importlib.metadata.version('anywidget')}")


def tensorflow(found: Probe) -> list[Finding]:
    """Judge what recording has shown, in the order in which one needs the other."""
    if not found.version:
        return [_not_imported(found)]
    built = f"built for CUDA {found.cuda}" if found.cuda else "built without CUDA"
    numbers = tuple(int(part) for part in re.findall(r"\d+", found.version)[:2])
    old = numbers < _OLDEST
    findings = [
        Finding(
            "TensorFlow",
            f"{found.version}, {built}" + (", older than 2.15: only its traces can be read" if old else ""),
            "pip install --upgrade tensorflow" if old else "",
        )
    ]
    if not found.events:
        findings.append(
            Finding(
                "recording", _reason(found), f"{sys.executable} -m tfvis_nb.recording.gpu.probe  # says more"
            )
        )
    elif not found.gpus:
        findings.append(Finding("recording", f"works: {found.events} events of a small multiplication"))
    return findings + _gpu(found)


def _not_imported(found: Probe) -> Finding:
    if importlib.util.find_spec("tensorflow") is None:
        what = "not installed here: saved traces can be read, nothing can be recorded"
        return Finding("TensorFlow", what, "pip install tensorflow")
    return Finding(
        "TensorFlow", f"cannot be imported: {_reason(found)}", "pip install --force-reinstall tensorflow"
    )


def _reason(found: Probe) -> str:
    """Return the last thing a failed process has said."""
    if found.code is None:
        return "it did not end in time"
    log_lines = [line.strip() for line in found.log.splitlines() if line.strip()]
    ended = f"ended by signal {-found.code}" if found.code < 0 else f"exit code {found.code}"
    return f"{ended}: {log_lines[-1][:300]}" if log_lines else ended


def _gpu(found: Probe) -> list[Finding]:
    present = cupti.gpus()
    if not found.gpus:
        if not present:
            return [
                Finding(
                    "GPU", "the NVIDIA driver shows none here, so kernels and copies are not to be expected"
                )
            ]
        what = f"the machine has {present}, which TensorFlow does not see"
        if not found.cuda:
            return [Finding("GPU", what, "pip install 'tensorflow[and-cuda]'")]
        return [
            Finding(
                "GPU",
                what + _log_line(found.log, r"Cannot dlopen|cuInit|CUDA_ERROR|Could not find cuda"),
                "pip install --upgrade 'tensorflow[and-cuda]' && nvidia-smi",
            )
        ]
    return [Finding("GPU", ", ".join(found.gpus)), *_cupti(found)]


def _cupti(found: Probe) -> list[Finding]:
    """Judge why there are no kernels, from what TensorFlow has said and from what can be seen without it."""
    if not found.cuda:
        return [Finding("CUPTI", "not used: this TensorFlow has the GPU's rows from elsewhere")]
    if not found.library:
        return [Finding("CUPTI", *cupti.missing(found.cuda, found.why))]
    findings = [Finding("CUPTI", found.library)]
    refused = re.search(
        r"CUPTI_ERROR_(?:INSUFFICIENT_PRIVILEGES|VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)", found.log
    )
    fault = cupti.refused(refused[0]) if refused else cupti.restricted()
    if found.kernels:
        findings.append(Finding("GPU profiling", f"works: {found.kernels} kernels of a small multiplication"))
    elif fault is not None:
        findings.append(Finding("GPU profiling", *fault))
    else:
        what = "no kernels were recorded" + _log_line(found.log, r"CUPTI|cupti")
        findings.append(
            Finding("GPU profiling", what, f"{sys.executable} -m tfvis_nb.recording.gpu.probe  # says more")
        )
    return findings


def _log_line(log: str, pattern: str) -> str:
    """Return the first line of a log that a pattern is found in, to be put behind a sentence."""
    line = next((line for line in log.splitlines() if re.search(pattern, line)), "")
    return f": {line.strip()[:300]}" if line else ""
