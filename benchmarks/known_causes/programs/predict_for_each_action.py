"""An agent asks model.predict() for each action, with a batch of one."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/40261"
CAUSE = {"between_steps"}
# Each predict() makes an iterator, and its one step waits for it.
ALSO = {"input_bound.all"}
# The twin runs the model at another line: its step stays, without the iterator that it waits for.
WHAT = {"between_steps": 0, "activities": {"input": 0}}
STEPS = 15


class Environment:
    """A pole on a cart, more or less."""

    def __init__(self):
        self.state = np.zeros(4, "float32")

    def act(self, action):
        self.state = (0.95 * self.state + 0.01 * (action - 1)).astype("float32")
        return self.state


class Agent:
    def __init__(self, slow):
        self.slow = slow
        self.model = tf.keras.Sequential(
            [tf.keras.Input((4,)), tf.keras.layers.Dense(24, "relu"), tf.keras.layers.Dense(3)]
        )
        self.graph = tf.function(self.model)

    def choose(self, state):
        if self.slow:
            values = self.model.predict(state[None], verbose=0)  # <<CAUSE
        else:
            values = self.graph(state[None]).numpy()
        return int(values.argmax())


def make(slow):
    agent, environment = Agent(slow), Environment()

    def run(steps):
        state = environment.state
        for _ in range(steps):
            step()
            state = environment.act(agent.choose(state))

    return run
