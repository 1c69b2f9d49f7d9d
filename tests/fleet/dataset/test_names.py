"""Runs, tasks and steps by path and content; hostile names stay names."""

import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.fleet.dataset.folders import DATA, bucket
from tfvis_nb.fleet.dataset.identity import named
from tfvis_nb.fleet.dataset.layout import brief_name, key_of, part_path

WORKER = "/job:worker/replica:0/task:{}"
HOST, PS = "/job:h/replica:0/task:0", "/job:ps/replica:0/task:1"
PROFILE = "logs/t/plugins/profile/2026_01_31/h.xplane.pb"


@pytest.mark.parametrize(
    ("path", "root", "run", "task", "step"),
    [
        ("logs/a/rank0/step3.pb", "logs", "a", WORKER.format(0), 3),
        ("logs/a/rank0/step3.pb", "logs/a", "a", WORKER.format(0), 3),
        ("logs/a/rank0/step3.pb", "logs/a/rank0", "a", WORKER.format(0), 3),
        ("logs/run=b/x/task=7/steps=10-19/y.pb", "logs", "b", WORKER.format(7), 10),
        ("logs/run=a%2Fb/rank=1/y.pb", "logs", "a/b", WORKER.format(1), None),
        ("logs/run=/y.pb", "logs", "y", None, None),
        (
            "logs/run=__HIVE_DEFAULT_PARTITION__/y.pb",
            "logs",
            "__HIVE_DEFAULT_PARTITION__~8ec3cd044a1b",
            None,
            None,
        ),
        ("logs/x/y/z.pb.xz", "logs", "x/y/z", None, None),
        ("logs/worker-12_global_step_40.xplane.pb", "logs", "logs", WORKER.format(12), 40),
        (PROFILE, "logs", "t/2026_01_31", HOST, None),
        (PROFILE, "logs/t", "2026_01_31", HOST, None),
        ("logs/chief0/step5.pb", "logs", "logs", "/job:chief/replica:0/task:0", 5),
        ("logs/mlp_60steps/dist_ps_2gpuworkers.pb", "logs", "mlp_60steps/dist_ps_2gpuworkers", None, None),
        ("logs/mlp_60steps.tar.xz", "logs", "mlp_60steps", None, None),
        ("home/worker1/logs/a.pb", "home/worker1/logs", "a", None, None),
        ("logs/task=%2Fjob%3Aps%2Freplica%3A0%2Ftask%3A1/a.pb", "logs", "a", PS, None),
    ],
)
def test_path(path: str, root: str, run: str, task: str | None, step: int | None) -> None:
    found = named(path.split("/"), len(root.split("/")))
    assert (found.run, found.task, found.step) == (run, task, step)


HOSTILE = st.text(
    st.characters(exclude_categories=[]) | st.sampled_from("/.=%\\\0~ "), min_size=1, max_size=600
)


@given(st.lists(HOSTILE, min_size=1, max_size=6), st.integers(0, 7))
def test_any_path_has_a_name(parts: list[str], root: int) -> None:
    found = named(parts, root)
    assert found.run
    assert brief_name(found.run) == found.run
    assert found.step is None or 0 <= found.step < 2**31


@given(HOSTILE, HOSTILE, st.sets(st.integers(0, 2**31 - 1), max_size=3))
def test_any_name_is_one_folder(run: str, task: str, steps: set[int]) -> None:
    run, task = brief_name(run), brief_name(task)
    path = part_path("events", key_of(run), run, task, sorted(steps))
    table, of_run, of_task, of_steps, file = path.split("/")
    assert (table, file) == ("events", f"{key_of(run)}.parquet")
    assert unquote(of_run) == f"run={run}"
    assert unquote(of_task) == f"task={task}"
    assert of_steps.startswith("steps=")
    assert path.isascii()
    assert "\0" not in path
    assert "\\" not in path
    assert all(len(part) < 255 for part in (of_run, of_task))


@given(HOSTILE, HOSTILE)
def test_two_names_stay_two(one: str, other: str) -> None:
    plain = [name.encode("utf-8", "backslashreplace") for name in (one, other)]
    assert (brief_name(one) == brief_name(other)) == (plain[0] == plain[1])


def test_hostile_runs_and_tasks(tmp_path: Path) -> None:
    folder = tmp_path / "bucket"
    names = [
        "run=..%2F..%2Fup",
        "run=%00",
        "run=a=b",
        "run=" + "x" * 240,
        "run=%2Fetc",
        "run=..",
        "caf\u00e9 \u202e",
        "not \udcff",
    ]
    for name in names:
        (folder / name).mkdir(parents=True)
        shutil.copyfile(DATA / "run_meta.v1", folder / name / "step1.pb")
    dataset = tv.open_traces(tmp_path / "made")
    assert dataset.ingest(folder) == (len(names), 0, 0, 0)
    assert {path.name for path in tmp_path.iterdir()} == {"bucket", "made"}
    runs = {*dataset.steps["run"]}
    assert {"../../up", "\0", "a=b", "/etc", "..", "caf\u00e9 \u202e"} < runs
    assert any(path.endswith("/not \\udcff/step1.pb") for path in dataset.sources["path"])
    for run in runs:
        assert len(dataset.trace(run).events) == 14


def test_profiles_have_the_names_of_their_hosts(tmp_path: Path) -> None:
    folder = bucket(
        tmp_path / "logs/a", {"vm.xplane.pb": "cpu_jax.xplane.pb", "other.xplane.pb": "cpu_jax.xplane.pb"}
    )
    dataset = tv.open_traces(folder.parent, tmp_path / "made")
    found = dataset.sources[["run", "tasks", "steps"]].to_numpy().tolist()
    assert [(run, steps) for run, _, steps in found] == [("a/other", [0, 1, 2]), ("a", [0, 1, 2])]
    assert [tasks for _, tasks, _ in found] == [["/job:vm/replica:0/task:0"]] * 2
