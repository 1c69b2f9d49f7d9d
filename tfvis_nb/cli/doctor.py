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


class Check(NamedTuple):
    """What was looked at, what was found, and the command that mends it: "" where all is well."""

    about: str
    found: str
    mend: str = ""


@verb("doctor", "Exits with 1 if something has to be mended.", "tfvis-nb doctor")
@click.option("--json", "as_json", is_flag=True, help="Write JSON, for machines.")
def command(*, as_json: bool) -> int:
    """Show the findings; return 1 if one of them has to be mended, else 0."""
    checks = [*packages(), front_end(), jupyterlab(), *tensorflow(probe())]
    if as_json:
        print(json.dumps([{**one._asdict(), "ok": not one.mend} for one in checks], indent=1))  # noqa: T201
    else:
        for one in checks:
            print(f"{'MEND' if one.mend else 'ok  '} {one.about}: {one_line(one.found)}")  # noqa: T201
            if one.mend:
                print(f"     {one.mend}")  # noqa: T201
    return int(any(one.mend for one in checks))


def packages() -> list[Check]:
    """Look at tfvis_nb and Python."""
    version = importlib.metadata.version("tfvis-nb")
    return [Check("tfvis_nb", f"{version}, on Python {sys.version.split()[0]} ({sys.executable})")]


def front_end() -> Check:
    """Look for the view, which a checkout of the source has to build first."""
    from tfvis_nb.display.bundles import bundle_path

    folder = bundle_path("").parent.parent
    absent = [name for name in _bundles(folder) if not bundle_path(name).is_file()]
    if not absent:
        return Check("view", "built")
    if (folder / "package.json").is_file():
        return Check("view", f"not built: {', '.join(absent)}", f"cd {folder} && npm ci && npm run build")
    return Check(
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


def jupyterlab(prefix: Path | None = None) -> Check:
    """Look whether JupyterLab of this environment, or of `prefix`, finds what loads the widget."""
    try:
        version = importlib.metadata.version("jupyterlab")
    except importlib.metadata.PackageNotFoundError:
        return Check(
            "JupyterLab", "not in this environment; the one that serves the notebooks needs anywidget, too"
        )
    if int(version.partition(".")[0]) < 4:
        return Check("JupyterLab", f"{version}, older than 4", "pip install --upgrade jupyterlab")
    folder = (prefix or Path(sys.prefix)) / "share" / "jupyter" / "labextensions"
    absent = [name for name in _LOADED_BY_LAB if not (folder / name / "package.json").is_file()]
    if absent:
        return Check(
            "JupyterLab",
            f"{version} cannot show the widget: {' and '.join(absent)} not in {folder}",
            "pip install --force-reinstall --no-deps anywidget jupyterlab-widgets",
        )
    return Check("JupyterLab", f"{version}, with anywidget {importlib.metadata.version('anywidget')}")


def tensorflow(found: Probe) -> list[Check]:
    """Judge what recording has shown, in the order in which one needs the other."""
    if not found.version:
        return [_not_imported(found)]
    built = f"built for CUDA {found.cuda}" if found.cuda else "built without CUDA"
    numbers = tuple(int(part) for part in re.findall(r"\d+", found.version)[:2])
    old = numbers < _OLDEST
    checks = [
        Check(
            "TensorFlow",
            f"{found.version}, {built}" + (", older than 2.15: only its traces can be read" if old else ""),
            "pip install --upgrade tensorflow" if old else "",
        )
    ]
    if not found.events:
        checks.append(
            Check(
                "recording", _reason(found), f"{sys.executable} -m tfvis_nb.recording.gpu.probe  # says more"
            )
        )
    elif not found.gpus:
        checks.append(Check("recording", f"works: {found.events} events of a small multiplication"))
    return checks + _gpu(found)


def _not_imported(found: Probe) -> Check:
    if importlib.util.find_spec("tensorflow") is None:
        what = "not installed here: saved traces can be read, nothing can be recorded"
        return Check("TensorFlow", what, "pip install tensorflow")
    return Check(
        "TensorFlow", f"cannot be imported: {_reason(found)}", "pip install --force-reinstall tensorflow"
    )


def _reason(found: Probe) -> str:
    """Return the last thing a failed process has said."""
    if found.code is None:
        return "it did not end in time"
    log_lines = [line.strip() for line in found.log.splitlines() if line.strip()]
    ended = f"ended by signal {-found.code}" if found.code < 0 else f"exit code {found.code}"
    return f"{ended}: {log_lines[-1][:300]}" if log_lines else ended


def _gpu(found: Probe) -> list[Check]:
    present = cupti.gpus()
    if not found.gpus:
        if not present:
            return [
                Check(
                    "GPU", "the NVIDIA driver shows none here, so kernels and copies are not to be expected"
                )
            ]
        what = f"the machine has {present}, which TensorFlow does not see"
        if not found.cuda:
            return [Check("GPU", what, "pip install 'tensorflow[and-cuda]'")]
        return [
            Check(
                "GPU",
                what + _log_line(found.log, r"Cannot dlopen|cuInit|CUDA_ERROR|Could not find cuda"),
                "pip install --upgrade 'tensorflow[and-cuda]' && nvidia-smi",
            )
        ]
    return [Check("GPU", ", ".join(found.gpus)), *_cupti(found)]


def _cupti(found: Probe) -> list[Check]:
    """Judge why there are no kernels, from what TensorFlow has said and from what can be seen without it."""
    if not found.cuda:
        return [Check("CUPTI", "not used: this TensorFlow has the GPU's rows from elsewhere")]
    if not found.library:
        return [Check("CUPTI", *cupti.missing(found.cuda, found.why))]
    checks = [Check("CUPTI", found.library)]
    refused = re.search(
        r"CUPTI_ERROR_(?:INSUFFICIENT_PRIVILEGES|VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)", found.log
    )
    fault = cupti.refused(refused[0]) if refused else cupti.restricted()
    if found.kernels:
        checks.append(Check("GPU profiling", f"works: {found.kernels} kernels of a small multiplication"))
    elif fault is not None:
        checks.append(Check("GPU profiling", *fault))
    else:
        what = "no kernels were recorded" + _log_line(found.log, r"CUPTI|cupti")
        checks.append(
            Check("GPU profiling", what, f"{sys.executable} -m tfvis_nb.recording.gpu.probe  # says more")
        )
    return checks


def _log_line(log: str, pattern: str) -> str:
    """Return the first line of a log that a pattern is found in, to be put behind a sentence."""
    line = next((line for line in log.splitlines() if re.search(pattern, line)), "")
    return f": {line.strip()[:300]}" if line else ""
