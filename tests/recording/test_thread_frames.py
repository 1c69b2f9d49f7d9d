"""The frames of threads that keep running during inspection."""

import subprocess
import sys
import threading
from collections.abc import Iterator

from tfvis_nb.recording.thread_frames import frames_of_threads

RUNNING_ON = """
import gc, random, sys, threading, time
from tfvis_nb.recording.thread_frames import frames_of_threads

class Freed:
    def __init__(self):
        self.itself = self
    def __del__(self):
        time.sleep(0.0001)  # lets the other threads go on

functions = []
for size in range(8):
    made = {"functions": functions}
    names = "".join(f", a{i}=0" for i in range(3 * size))
    following = f"functions[(left * 7 + {size}) % 8]"
    exec(f"def call(left{names}): return {following}(left - 1) + 1 if left else 0", made)
    functions.append(made["call"])

def work():
    while True:
        for size, function in enumerate(functions):
            function(20 + size)

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
sys.setswitchinterval(1e-5)
gc.set_threshold(3, 1000, 1000)
end = time.monotonic() + 3
while time.monotonic() < end:
    Freed()
    before = [[] for _ in range(random.randrange(6))]
    assert all(frame.f_code.co_name for frame in frames_of_threads())
assert gc.isenabled()
print("looked")
"""


def test_frames_are_those_of_every_thread() -> None:
    inside, ended = threading.Event(), threading.Event()

    def waits() -> None:
        inside.set()
        ended.wait()

    thread = threading.Thread(target=waits)
    thread.start()
    inside.wait()
    codes = [frame.f_code for frame in frames_of_threads()]
    ended.set()
    thread.join()
    assert waits.__code__ in codes
    assert test_frames_are_those_of_every_thread.__code__ in codes


def test_threads_can_be_sampled_while_garbage_is_collected() -> None:
    looked = subprocess.run([sys.executable, "-c", RUNNING_ON], capture_output=True, text=True, check=False)
    assert (looked.returncode, looked.stdout.strip()) == (0, "looked"), looked.stderr


def test_callers_of_generators_are_not_missed() -> None:
    interval, ended = sys.getswitchinterval(), threading.Event()

    def numbers() -> Iterator[int]:
        yield from range(50)

    def outermost() -> None:
        while not ended.is_set():
            sum(number for number in numbers())

    thread = threading.Thread(target=outermost)
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        missed = sum(
            outermost.__code__ not in [frame.f_code for frame in frames_of_threads()] for _ in range(20_000)
        )
    finally:
        ended.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert not missed


def test_work_that_outlives_the_main_thread_may_use_pools() -> None:
    """As a trace that SIGTERM writes: it may begin before the main thread ends, and go on after."""
    program = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
from tfvis_nb.recording.thread_frames import pools_allowed

entered = threading.Event()

def work():
    with pools_allowed():
        entered.set()
        time.sleep(0.3)  # the main thread ends now, and nothing tells when
        with ThreadPoolExecutor(1) as pool:
            print(pool.submit(len, "abc").result())

threading.Thread(target=work).start()
entered.wait()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("3\n", "")
