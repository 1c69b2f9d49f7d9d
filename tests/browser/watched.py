"""Detect pages that log errors, throw, open dialogs, or use the network."""

from playwright.sync_api import ConsoleMessage, Dialog, Error, Page, Request

HARMLESS = ("data:", "blob:")


class Watched:
    """Listens to one page from before its first request.

    Parameters
    ----------
    page
        A page that shows nothing yet.
    own
        The prefix of addresses that the page may load.
    """

    def __init__(self, page: Page, own: str) -> None:
        self._own = own
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self._page = page
        page.on("console", self._console)
        page.on("pageerror", self._raised)
        page.on("dialog", self._dialog)
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def _raised(self, error: Error) -> None:
        # JupyterLab 4.6 takes its splash screen away twice where two things have shown it.
        is_splash = "removeChild" in error.message and "/jlab_core." in str(error.stack)
        # It asks kernels for a subshell when a widget opens, and fails if the page leaves before the answer.
        is_left = "Canceled future for create_subshell_request" in error.message
        if not (is_splash or is_left):
            self.errors.append(str(error.stack or error))

    def _dialog(self, dialog: Dialog) -> None:
        self.errors.append(f"{dialog.type}: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        own = (self._own, self._own.replace("http:", "ws:", 1), *HARMLESS)
        if not request.url.startswith(own):
            self.strangers.append(request.url)

    def forget(self) -> None:
        """Ignore everything seen so far."""
        self.errors.clear()
        self.strangers.clear()

    def end(self) -> None:
        """Listen no more, and `check`."""
        self._page.remove_listener("console", self._console)
        self._page.remove_listener("pageerror", self._raised)
        self._page.remove_listener("dialog", self._dialog)
        self._page.remove_listener("request", self._request)
        self.check()

    def check(self) -> None:
        """Fail if anything was logged as an error, said in a dialog or loaded from elsewhere."""
        assert self.errors == [], self.errors
        assert self.strangers == []
