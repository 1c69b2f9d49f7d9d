"""A JupyterLab server of our own: a temporary folder, no password, nothing fetched from outside."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import tfvis_nb
from tests.support.kernels import WITHOUT_IRIS, jupyter_path

STARTS_WITHIN = 90.0
"""Seconds; the first start of a cold machine reads all of JupyterLab from disk."""


class JupyterServer:
    """One running server; notebooks are files below `root`."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "notebooks"
        self.root.mkdir()
        self.url = f"http://127.0.0.1:{_free_port()}"
        self._log = folder / "server.log"
        private = {
            name: str(folder / name.lower())
            for name in (
                "JUPYTER_CONFIG_DIR",
                "JUPYTER_DATA_DIR",
                "JUPYTERLAB_SETTINGS_DIR",
                "JUPYTERLAB_WORKSPACES_DIR",
                "IPYTHONDIR",
            )
        }
        # Kernels that listen on ports would take recently freed ones. The path of a socket has
        # 107 bytes at most.
        self._sockets = tempfile.TemporaryDirectory(prefix="jupyter-")
        private["JUPYTER_RUNTIME_DIR"] = self._sockets.name
        private["JUPYTER_PATH"] = jupyter_path()
        # Or else an extension in the virtual environment, as old as its installation, wins over ours.
        private["JUPYTER_PREFER_ENV_PATH"] = "no"
        # Or else it asks, over the notebook's corner, whether it may fetch news.
        settings = Path(private["JUPYTERLAB_SETTINGS_DIR"]) / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
        # JupyterLab 4.6 logs an error if its debugger is still talking to a kernel that is taken away.
        config = Path(private["JUPYTER_CONFIG_DIR"]) / "labconfig"
        config.mkdir(parents=True)
        install_file_view(Path(private["JUPYTER_DATA_DIR"]), config.parent)
        disabled = {"disabledExtensions": {"@jupyterlab/debugger-extension": True}}
        (config / "page_config.json").write_text(json.dumps(disabled))
        command = [
            *(sys.executable, "-c", f"{WITHOUT_IRIS}; from jupyterlab.labapp import main; main()"),
            *("--no-browser", "--allow-root"),
            f"--ServerApp.root_dir={self.root}",
            f"--ServerApp.port={self.url.rpartition(':')[2]}",
            "--ServerApp.port_retries=0",
            "--ServerApp.disable_check_xsrf=True",
            "--IdentityProvider.token=",
            "--KernelManager.transport=ipc",
            "--LabApp.news_url=",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.extension_manager=readonly",
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
        ]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **private}, start_new_session=True
            )
        self._wait_until_up()

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                self.api("GET", "/api/status")
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.2)
            else:
                return
        self.close()
        raise RuntimeError(f"JupyterLab did not start:\n{self._log.read_text(errors='replace')}")

    def api(self, method: str, path: str) -> Any:
        """Ask the server's own REST interface; None when it answers nothing."""
        request = urllib.request.Request(self.url + path, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def end_kernels(self, *, but: str | None = None) -> None:
        """End every kernel but one, so that one test's TensorFlow does not take the next one's memory."""
        for kernel in self.api("GET", "/api/kernels"):
            if kernel["id"] != but:
                self.api("DELETE", f"/api/kernels/{kernel['id']}")

    def state(self) -> str:
        """Return its kernels and the end of its log."""
        try:
            kernels = self.api("GET", "/api/kernels")
        except OSError as error:
            kernels = error
        log = self._log.read_text(errors="replace").splitlines()[-20:]
        return "\n".join([f"kernels: {kernels}", *log])

    def close(self) -> None:
        """End the server and, with its process group, whatever it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(15)
        self._sockets.cleanup()


def install_file_view(data: Path, config: Path) -> None:
    """Put the current build of the extension where a wheel puts it, replacing the installed one."""
    package = Path(tfvis_nb.__path__[0])
    # Copied: Voila serves no links.
    shutil.copytree(package / "labextension", data / "labextensions" / "tfvis-nb")
    enabled = config / "jupyter_server_config.d"
    enabled.mkdir(parents=True)
    (enabled / "tfvis-nb.json").symlink_to(package / "file_view" / "jupyter_server_config.json")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
