"""A session computes histograms of all its weights in each run, and writes them to an event file."""

import tempfile

import tensorflow.compat.v1 as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/sherjilozair/char-rnn-tensorflow/issues/112"
CAUSE = {"host_compute"}
WHAT = {"ops": {"HistogramSummary": 0, "MergeSummary": 0}}
STEPS = 20

tf.disable_eager_execution()


class Network:
    def __init__(self, layers, width):
        x = tf.get_variable("x", initializer=tf.random_normal([64, width]), trainable=False)
        for number in range(layers):
            w = tf.get_variable(f"w{number}", initializer=tf.random_normal([width, width], stddev=0.05))
            tf.summary.histogram(f"w{number}", w)  # <<CAUSE
            x = tf.nn.relu(tf.matmul(x, w))
        self.loss = tf.reduce_mean(x)
        self.train = tf.train.AdamOptimizer().minimize(self.loss)
        self.summaries = tf.summary.merge_all()


def make(slow):
    network = Network(4, 320)
    writer = tf.summary.FileWriter(tempfile.mkdtemp())
    session = tf.Session()
    session.run(tf.global_variables_initializer())

    def run(steps):
        for number in range(steps):
            step()
            if slow:
                _, summary = session.run([network.train, network.summaries])
                writer.add_summary(summary, number)
            else:
                session.run(network.train)

    return run
