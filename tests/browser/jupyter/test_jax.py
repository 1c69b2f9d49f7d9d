"""`%%trace` of JAX in a real JupyterLab."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.notebook import OpenNotebook
from tests.browser.timeline import press_in_view_menu

pytestmark = pytest.mark.slow

LOOP = """%%trace t
import jax, jax.numpy as jnp

@jax.jit
def train_step(x):
    with jax.named_scope("hidden"):
        return jnp.tanh(x @ x)

x = jnp.ones((200, 200))
for _ in range(5):
    x = train_step(x)
"""


def test_a_traced_loop_shows_its_steps_and_ops(notebook: OpenNotebook) -> None:
    book = notebook(["%load_ext tfvis_nb", LOOP])
    book.run_all()
    timeline = book.timeline(1)
    bars = timeline.host.get_by_role("slider", name="Step shown")
    expect(bars.locator("i")).to_have_count(5)
    timeline.find("tanh kind:op")
    expect(timeline.title).to_contain_text("tanh")
    assert timeline.expect_fact("Step").endswith("train_step")
    press_in_view_menu(timeline.root, "Code")
    code = timeline.root.get_by_role("region", name="Code")
    line = code.get_by_role("option", name="return jnp.tanh(x @ x)")
    expect(line).to_have_attribute("title", re.compile(r"^host .*, \d+ events$"))
