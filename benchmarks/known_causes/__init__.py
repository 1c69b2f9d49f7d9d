"""Small programs with one planted cause each, their repaired twins, and what the package reports about both.

Each module of `programs` is one program. Before it is recorded, it states:

``CAUSE``
    The ids of findings that name the cause. An empty set means that the program is healthy.
``# <<CAUSE``
    A comment at the end of each line that is the cause. A finding may name any of them.
``WHAT``
    The arguments of `what_if` that describe the repair, with ``"<<CAUSE"`` for the marked lines. None, with
    the reason in ``WHY_NOT``, if the replay cannot express the repair.
``REPORTED``
    A public report of this cause.
``STEPS``, ``WARM``, ``EVERY``, ``TASKS``, ``BACKEND``
    As in `program.Program`.

``make(slow)`` builds the program or its twin, and returns a function that runs a number of steps.
"""
