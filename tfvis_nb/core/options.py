"""Reject unknown options of a call or a magic, and suggest similar names."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

from tfvis_nb.texts import Text

P = ParamSpec("P")
R = TypeVar("R")


def near(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean ...?"`` with the known names most similar to `name`, or nothing."""
    # Ignore leading dashes and dots, which all names share.
    bare = {one.lstrip("-."): one for one in known}
    names = [bare[one] for one in difflib.get_close_matches(name.lstrip("-."), bare, n=2)]
    return f"; did you mean {' or '.join(map(repr, names))}?" if names else ""


def some_of(known: Sequence[str], most: int = 3) -> str:
    """Return ``"; there is ..."`` with some known names, for a name similar to none of them."""
    more = ", ..." if len(known) > most else ""
    return f"; there is {', '.join(map(repr, known[:most]))}{more}" if known else "; there is none yet"


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError for the first unknown name, with similar names as a hint."""
    known = list(known)
    for name in given:
        if name not in known:
            hint = near(name, known) or "."
            raise TypeError(Text("unknown_option", name=name, hint=hint, options=", ".join(known)))


def check_title(title: object) -> None:
    """Raise TypeError unless `title` is a text, or None for the default."""
    if title is not None and not isinstance(title, str):
        raise TypeError(Text("title_no_text", title=title))


def check_flags(**flags: object) -> None:
    """Raise TypeError unless all are True or False: other values, such as ``"no"``, would count as True."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(Text("flag_not_bool", name=name, flag=flag))


def only_known_options(function: Callable[P, R]) -> Callable[P, R]:
    """Make `function` reject unknown keywords like `refuse_unknown`.

    Python's own message names the unknown keyword, but not the known ones. The signature, which Jupyter shows
    with Shift-Tab, has the keys of a ``TypedDict`` instead of ``**options: Unpack[...]``.
    """
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(function)
    parameters = [each for one in signature.parameters.values() for each in _named(one, function)]
    known = [option.name for option in parameters if option.kind in named]
    if known[:1] in (["self"], ["cls"]):
        del known[0]

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_unknown(kwargs, known)
        return function(*args, **kwargs)

    wrapper.__dict__["__signature__"] = signature.replace(parameters=parameters)
    return wrapper


class _Optional:
    """The default of an option that is documented elsewhere."""

    def __repr__(self) -> str:
        return "..."


def _named(parameter: inspect.Parameter, function: Any) -> list[inspect.Parameter]:
    """Return one parameter for each key of a ``TypedDict``, or the parameter itself."""
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
        return [parameter]
    hint = parameter.annotation
    if isinstance(hint, str):
        hint = eval(hint, function.__globals__)  # noqa: S307 - an annotation of this package
    (options,) = get_args(hint)
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_Optional(), annotation=hint)
        for name, hint in get_type_hints(options).items()
    ]
