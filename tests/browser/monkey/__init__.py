"""Random gestures at a timeline, with invariants after each; a failing walk is shrunk to a few gestures.

Controls are found by role and name in the browser's accessibility tree: a new toolbar needs no change here.
From a shell: ``python -m tests.browser.monkey --host notebook --gestures 20000 --seed 1``.
"""
