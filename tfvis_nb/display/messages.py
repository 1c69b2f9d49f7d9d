"""Messages with which the front end asks a widget, and the replies.

A widget answers those for which it has a `message`: the method ``_on_rest`` those of the kind ``rest``. Their
other items are its parameters. ``make docs`` writes ``js/host/messages.ts``, their types, from these methods.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar

from tfvis_nb.display.comm_thread import answer_on_own_thread
from tfvis_nb.display.refusals import refusal_of

ExportFormat = Literal["html", "json", "csv"]
DownloadFormat = Literal["html", "dashboard", "json", "parquet", "pb", "pickle"]
Part = Literal["drawn", "details"]

# Types that the front end has; the functions that get such a value check it.
Annotations = Annotated[list[Any], "readonly Annotation[]"]
By = Annotated[str, "By"]
Clauses = Annotated[list[Any], "Clause[]"]
Command = Annotated[Mapping[str, Any], "Command"]
NamedViews = Annotated[list[Any], "readonly NamedView[]"]
Question = Annotated[Mapping[str, Any], "Question"]


class Change(TypedDict):
    """A change to predict: the name of one of a subject, and the factor of its time or another way."""

    subject: str
    name: str
    how: float | str


_PREFIX = "_on_"
_Method = TypeVar("_Method", bound=Callable[..., Any])

Replies = Iterable[tuple[Mapping[str, Any], list[bytes]]]
"""JSON and bytes of each reply."""


class Message(NamedTuple):
    """A kind of message: the method that answers it, whether that takes long, and if it writes a file."""

    method: Callable[..., Any]
    is_long: bool
    writes: bool


def message(*, is_long: bool = False, writes: bool = False) -> Callable[[_Method], _Method]:
    """Have a method answer the messages of the kind in its name; it returns `Replies` or None."""

    def marked(method: _Method) -> _Method:
        vars(method)["message"] = Message(method, is_long, writes)
        return method

    return marked


@functools.cache
def messages_of(owner: type) -> dict[str, Message]:
    """Return the messages that a class answers, by kind."""
    methods = inspect.getmembers_static(
        owner, lambda member: isinstance(getattr(member, "message", None), Message)
    )
    return {name.removeprefix(_PREFIX): method.message for name, method in methods}


def message_in(owner: type, content: Any) -> Message | None:
    """Return the kind of message that the front end has sent; None if a class does not answer it."""
    kind = content.get("kind") if isinstance(content, dict) else None
    return messages_of(owner).get(kind) if isinstance(kind, str) else None


def answered(owner: Any, found: Message, content: Mapping[str, Any]) -> Any:
    """Return what the method returns for a message, in which missing items are None."""
    _, *parameters = inspect.signature(found.method).parameters.values()
    given = {
        each.name: content.get(each.name, None if each.default is each.empty else each.default)
        for each in parameters
    }
    return found.method(owner, **given)


def answer_messages(widget: Any, converted: Callable[[BaseException], BaseException] | None = None) -> None:
    """Have a widget answer its messages, in JupyterLab on a separate thread.

    On failure the reply is the reason: that of the error which `converted` returns for the one raised. Views
    of one widget receive each other's replies, and recognise theirs by their ``id``.
    KeyboardInterrupt and SystemExit are raised again after the reason is sent.
    """
    answer_on_own_thread(widget.comm)
    widget.on_msg(lambda widget, content, _: _answer(widget, content, converted or (lambda error: error)))


def _answer(widget: Any, content: Any, converted: Callable[[BaseException], BaseException]) -> None:
    found = message_in(type(widget), content)
    if found is None:
        return
    about = {"kind": content["kind"], "id": content.get("id")}
    try:
        for reply, buffers in answered(widget, found, content) or ():
            widget.send({**about, **reply}, buffers=buffers)
    except BaseException as error:
        # The user waits in the browser, which does not show the traceback in the log.
        sentence = refusal_of(converted(error), f"the message {about['kind']!r}").sentence
        widget.send({**about, "error": sentence})
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
