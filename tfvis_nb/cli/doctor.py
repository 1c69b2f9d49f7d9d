"""``tfvis-nb doctor``: find what prevents recording or showing here, with the command that fixes it."""

import importlib.metadata
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import click
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tfvis_nb.cli.errors import one_line
from tfvis_nb.cli.verb import verb
from tfvis_nb.recording.gpu import cupti
from tfvis_nb.recording.gpu.probe import Probe, probe
from tfvis_nb.recording.jax.probe import probe as probe_jax
from tfvis_nb.texts import Text

_GPUS = ("gpu", "cuda", "rocm")
_TENSORFLOWS = ("tensorflow", *(f"tensorflow-{build}" for build in ("cpu", "intel", "macos", "rocm")))
_FRAMEWORKS = (*_TENSORFLOWS, "tf-nightly", "jax", "jaxlib")
_UNDECLARED = (("pyarrow", ">=26", "numpy>=2", "pyarrow<26"),)
"""Releases of a package, a requirement that they do not declare, and what to install instead of them."""
_OLDEST = (2, 15)
_OLDEST_LAB = 4
_LOADED_BY_LAB = ("anywidget", "@jupyter-widgets/jupyterlab-manager")


class Check(NamedTuple):
    """The subject, the result, and the command that fixes it: "" if nothing is wrong."""

    about: str
    found: Text
    mend: str = ""

    def as_json(self) -> dict[str, object]:
        """Return the result for machines, with its id and figures."""
        text = {"id": self.found.id, "figures": self.found.figures}
        return {**self._asdict(), "ok": not self.mend, **text}


@verb("doctor", "Exits with 1 if something needs a fix.", "tfvis-nb doctor")
@click.option("--json", "as_json", is_flag=True, help="Write JSON, for machines.")
def command(*, as_json: bool) -> int:
    """Show the results; return 1 if one of them must be fixed, else 0."""
    checks = [*packages(), front_end(), jupyterlab(), *tensorflow(probe()), *jax(probe_jax())]
    if as_json:
        print(json.dumps([one.as_json() for one in checks], indent=1))  # noqa: T201
    else:
        for one in checks:
            print(f"{'FIX ' if one.mend else 'ok  '} {one.about}: {one_line(one.found)}")  # noqa: T201
            if one.mend:
                print(f"     {one.mend}")  # noqa: T201
    return int(any(one.mend for one in checks))


def packages() -> list[Check]:
    """Check tfvis_nb and Python."""
    version = importlib.metadata.version("tfvis-nb")
    python = sys.version.split()[0]
    text = Text("package_found", version=version, python=python, executable=sys.executable)
    return [Check("tfvis_nb", text), *combinations()]


def combinations() -> list[Check]:
    """Check the versions of what tfvis_nb needs against each other, and against those of the frameworks."""
    needs = [("tfvis-nb", need, str(need)) for need in _requirements("tfvis-nb")]
    shared = {need.name for _, need, _ in needs}
    for name in _FRAMEWORKS:
        needs += [(name, need, str(need)) for need in _requirements(name) if need.name in shared]
    needs += [
        (name, Requirement(need), instead)
        for name, releases, need, instead in _UNDECLARED
        if _fits(name, SpecifierSet(releases))
    ]
    return [
        Check(
            need.name,
            Text(
                "package_unfit",
                name=name,
                version=_version_of(name),
                need=str(need),
                present=_version_of(need.name) or "none",
            ),
            f"pip install '{instead}'",
        )
        for name, need, instead in needs
        if not _fits(need.name, need.specifier)
    ]


def _fits(name: str, releases: SpecifierSet) -> bool:
    version = _version_of(name)
    return version is not None and releases.contains(version, prereleases=True)


def _requirements(name: str) -> list[Requirement]:
    """Return what a package needs here, without its extras; nothing if it is not installed."""
    if _version_of(name) is None:
        return []
    requirements = [Requirement(text) for text in importlib.metadata.requires(name) or []]
    return [one for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""})]


def _version_of(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def front_end() -> Check:
    """Check for the front end, which a source checkout must build first."""
    from tfvis_nb.display.bundles import bundle_path

    folder = bundle_path("").parent.parent
    absent = [name for name in _bundles(folder) if not bundle_path(name).is_file()]
    if not absent:
        return Check("view", Text("view_built"))
    files = ", ".join(absent)
    if (folder / "package.json").is_file():
        return Check("view", Text("view_not_built", files=files), f"cd {folder} && npm ci && npm run build")
    return Check(
        "view",
        Text("view_not_installed", files=files),
        f"pip install --force-reinstall --no-deps {_origin()}",
    )


def _origin() -> str:
    """Return what pip installed this package from: a URL, also of a folder, or its name in an index."""
    url = importlib.metadata.distribution("tfvis-nb").read_text("direct_url.json")
    if url is None:
        return "tfvis-nb"
    direct = json.loads(url)
    return f"{direct['vcs_info']['vcs']}+{direct['url']}" if "vcs_info" in direct else direct["url"]


def _bundles(folder: Path) -> list[str]:
    """Return the files of the front end: one per entry in a checkout, else those that the build listed."""
    from tfvis_nb.display.bundles import bundle_path

    entries = sorted((folder / "js" / "entries").glob("*.ts"))
    if entries:
        return [f"{entry.stem}.js" for entry in entries]
    listed = bundle_path("bundles.json")
    return json.loads(listed.read_text(encoding="utf-8")) if listed.is_file() else [listed.name]


def jupyterlab(prefix: Path | None = None) -> Check:
    """Check whether JupyterLab of this environment, or of `prefix`, finds the files that load the widget."""
    version = _version_of("jupyterlab")
    if version is None:
        return Check("JupyterLab", Text("lab_absent"))
    if int(version.partition(".")[0]) < _OLDEST_LAB:
        too_old = Text("lab_too_old", version=version, oldest=_OLDEST_LAB)
        return Check("JupyterLab", too_old, "pip install --upgrade jupyterlab")
    folder = (prefix or Path(sys.prefix)) / "share" / "jupyter" / "labextensions"
    absent = [name for name in _LOADED_BY_LAB if not (folder / name / "package.json").is_file()]
    if absent:
        return Check(
            "JupyterLab",
            Text("lab_without_widget", version=version, folder=folder, extensions=" and ".join(absent)),
            "pip install --force-reinstall --no-deps anywidget jupyterlab-widgets",
        )
    anywidget = importlib.metadata.version("anywidget")
    return Check("JupyterLab", Text("lab_ready", version=version, anywidget=anywidget))


def tensorflow(result: Probe) -> list[Check]:
    """Check the steps of recording TensorFlow, in the order in which they depend on each other.

    Nobody needs it to read traces or to record JAX.
    """
    if not result.version:
        return [_not_imported(result)]
    checks = [_version(result)]
    if not result.events:
        checks.append(
            Check(
                "recording",
                _reason(result),
                f"{sys.executable} -m tfvis_nb.recording.gpu.probe  # shows more",
            )
        )
    elif not result.gpus:
        checks.append(Check("recording", Text("recording_works", events=result.events)))
    return checks + _gpu(result)


def jax(result: Probe | None) -> list[Check]:
    """Judge the results of recording JAX; None if it is not installed."""
    if result is None:
        return [Check("JAX", Text("framework_absent", framework="JAX"))]
    if not result.version:
        failed = Text("framework_not_imported", reason=_reason(result))
        return [Check("JAX", failed, "pip install --force-reinstall jax")]
    check = Check("JAX", Text("jax_found", version=result.version, backend=result.backend))
    more = f"{sys.executable} -m tfvis_nb.recording.jax.probe  # shows more"
    if not result.events:
        return [check, Check("recording JAX", _reason(result), more)]
    if result.backend not in _GPUS or result.kernels:
        return [check, Check("recording JAX", Text("recording_works", events=result.events))]
    empty = Text("gpu_profiling_empty", log=_log_line(result.log, r"CUPTI|cupti"))
    return [check, Check("recording JAX", *(cupti.restricted() or (empty, more)))]


def _version(result: Probe) -> Check:
    if tuple(int(part) for part in re.findall(r"\d+", result.version)[:2]) < _OLDEST:
        old = Text("tensorflow_too_old", version=result.version, oldest=".".join(map(str, _OLDEST)))
        return Check("TensorFlow", old, "pip install --upgrade tensorflow")
    if not result.cuda:
        return Check("TensorFlow", Text("tensorflow_found_without_cuda", version=result.version))
    return Check("TensorFlow", Text("tensorflow_found", version=result.version, cuda=result.cuda))


def _not_imported(result: Probe) -> Check:
    if importlib.util.find_spec("tensorflow") is None:
        return Check("TensorFlow", Text("framework_absent", framework="TensorFlow"))
    what = Text("framework_not_imported", reason=_reason(result))
    return Check("TensorFlow", what, "pip install --force-reinstall tensorflow")


def _reason(result: Probe) -> Text:
    """Describe how a process failed, with the last line of its log."""
    if result.code is None:
        return Text("process_too_slow")
    log_lines = [line.strip() for line in result.log.splitlines() if line.strip()]
    log = f": {log_lines[-1][:300]}" if log_lines else ""
    if result.code < 0:
        return Text("process_killed", signal=-result.code, log=log)
    return Text("process_failed", code=result.code, log=log)


def _gpu(result: Probe) -> list[Check]:
    present = cupti.gpus()
    if not result.gpus:
        if not present:
            return [Check("GPU", Text("gpu_absent"))]
        if not result.cuda:
            unseen = Text("gpu_unseen", gpus=present, log="")
            return [Check("GPU", unseen, "pip install 'tensorflow[and-cuda]'")]
        log = _log_line(result.log, r"Cannot dlopen|cuInit|CUDA_ERROR|Could not find cuda")
        unseen = Text("gpu_unseen", gpus=present, log=log)
        return [Check("GPU", unseen, "pip install --upgrade 'tensorflow[and-cuda]' && nvidia-smi")]
    return [Check("GPU", Text("gpus_found", gpus=", ".join(result.gpus))), *_cupti(result)]


def _cupti(result: Probe) -> list[Check]:
    """Find out from TensorFlow's log and the system why there are no kernels."""
    if not result.cuda:
        return [Check("CUPTI", Text("cupti_unused"))]
    if not result.library:
        return [Check("CUPTI", *cupti.missing(result.cuda, result.why))]
    checks = [Check("CUPTI", Text("cupti_found", path=result.library))]
    refused = re.search(
        r"CUPTI_ERROR_(?:INSUFFICIENT_PRIVILEGES|VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)", result.log
    )
    fault = cupti.refused(refused[0]) if refused else cupti.restricted()
    if result.kernels:
        checks.append(Check("GPU profiling", Text("gpu_profiling_works", kernels=result.kernels)))
    elif fault is not None:
        checks.append(Check("GPU profiling", *fault))
    else:
        what = Text("gpu_profiling_empty", log=_log_line(result.log, r"CUPTI|cupti"))
        checks.append(
            Check("GPU profiling", what, f"{sys.executable} -m tfvis_nb.recording.gpu.probe  # shows more")
        )
    return checks


def _log_line(log: str, pattern: str) -> str:
    """Return the first line of a log that matches a pattern, to append it to a sentence."""
    line = next((line for line in log.splitlines() if re.search(pattern, line)), "")
    return f": {line.strip()[:300]}" if line else ""
