"""What XProf says of the profiles that the tests read, for `tests/analysis/test_xprof_agreement.py`.

XProf has dependencies of its own, so it runs in an environment of its own::

    python -m venv /tmp/xprof && /tmp/xprof/bin/pip install xprof
    /tmp/xprof/bin/python benchmarks/xprof_figures.py

writes ``tests/analysis/xprof_figures.json`` anew: for each profile its step breakdown, and the kernels
and ops that took most time. Times are those of XProf, in milliseconds and microseconds.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import lzma
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
TARGET = HERE / "tests" / "analysis" / "xprof_figures.json"

PROFILES = (
    "data/cpu_jax.xplane.pb",
    "data/gpu_tf218_function.xplane.pb.xz",
    "data/gpu_tf221_worker0.xplane.pb.xz",
    "data/gpu_tf221_worker1.xplane.pb.xz",
    "shared/cpu/xspace_tf2_tffunction_train_cpu.xplane.pb",
    "shared/cpu/xspace_keras_fit_cpu.xplane.pb",
    "shared/h200/inception_tf2_60steps_gpu.xplane.pb.xz",
    "shared/h200/input_bound_tf2_gpu.xplane.pb",
    "shared/h200/jax_train_gpu.xplane.pb",
    "shared/h200/keras_fit_gpu.xplane.pb",
    "shared/h200-tf218/keras_fit_gpu.xplane.pb",
    "shared/third-party/xprof/bert_8gpu_tf24.xplane.pb.xz",
)
"""Files of tests/data and of the large collection beside the repository."""

OF_XLA = (
    "shared/h200/jax_train_gpu.xplane.pb",
    "shared/third-party/xprof/tpu_inference_2.xplane.pb",
)
"""Those of compiled programs, with their instructions."""

MOST = 40
"""How many ops of each are kept: those that took most time."""

MOST_KERNELS = 10
"""How many kernels are kept by name, each added up over its ops and launches."""

TOOLS = ("input_pipeline_analyzer", "kernel_stats", "framework_op_stats")


def main() -> int:
    """Write the file; return 1 where a profile is missing."""
    folders = {"data": HERE / "tests" / "data", "shared": HERE.parent / "shared" / "traces"}
    figures: dict[str, Any] = {
        "xprof": importlib.metadata.version("xprof"),
        "command": "python benchmarks/xprof_figures.py",
        "profiles": {},
    }
    for name in PROFILES:
        folder, _, file = name.partition("/")
        path = folders[folder] / file
        if not path.is_file():
            print(f"{path} is missing", file=sys.stderr)
            return 1
        figures["profiles"][name] = asked(path)
        print(name, len(figures["profiles"][name]["steps"]), "steps")
    figures["hlo_ops"] = {name: instructions(folders["shared"] / name.partition("/")[2]) for name in OF_XLA}
    figures["roofline"] = {name: roofline(folders["shared"] / name.partition("/")[2]) for name in OF_XLA}
    figures["memory"] = {name: peaks(folders["shared"] / name.partition("/")[2]) for name in OF_XLA}
    TARGET.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def asked(path: Path) -> dict[str, Any]:
    """Ask XProf of one profile."""
    convert = importlib.import_module("xprof.convert.raw_to_tool_data")
    data = path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "host.xplane.pb"
        file.write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
        said = {tool: json.loads(convert.xspace_to_tool_data([str(file)], tool, {})[0]) for tool in TOOLS}
    steps = [
        {key: value for key, value in row.items() if key != "tooltip"}
        for row in rows(said["input_pipeline_analyzer"][1])
    ]
    kernels = rows(said["kernel_stats"])
    ops = rows(said["framework_op_stats"][0])
    return {
        "steps": steps,
        "kernels": {
            # XProf itself keeps no more than 1000.
            "all": len(kernels) < 1000,
            "occurrences": int(sum(row["occurrences"] for row in kernels)),
            "total_us": round(sum(row["total_duration_us"] for row in kernels), 3),
            "longest": by_kernel(kernels),
        },
        "device_ops": most(ops, "Device"),
        "host_ops": most(ops, "Host"),
    }


def instructions(path: Path) -> list[dict[str, Any]]:
    """Ask XProf of the instructions of one profile."""
    said = of_tool(path, "hlo_stats")
    kept = ("program_id", "hlo_op_name", "category", "occurrences", "total_time", "total_self_time")
    rates = ("model_flop_rate", "measured_memory_bw")
    return [{key: row[key] for key in (*kept, *rates)} for row in rows(said)]


def roofline(path: Path) -> dict[str, Any]:
    """Ask XProf of the rooflines of one profile."""
    table, *_ = of_tool(path, "roofline_model")
    kept = ("hlo_module_id", "operation", "total_self_time", "roofline_efficiency", "bound_by")
    return {
        "peak_flop_rate": table["p"]["peak_flop_rate"],
        "peak_hbm_bw": table["p"]["peak_hbm_bw"],
        "ops": [
            {key: row[key] for key in kept}
            for row in rows(table)
            if row["step"] == "Total" and row["include_infeed_outfeed"] and row["rank"]
        ],
    }


def peaks(path: Path) -> dict[str, dict[str, float]]:
    """Ask XProf of the memory that each program of a profile needs, in MiB of memory space 0."""
    convert = importlib.import_module("xprof.convert.raw_to_tool_data")
    kept = ("peakHeapMib", "entryComputationParametersMib", "maybeLiveOutMib")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "host.xplane.pb"
        file.write_bytes(path.read_bytes())
        # Writes the programs next to the profile.
        convert.xspace_to_tool_names([str(file)])
        for program in sorted(Path(folder).glob("*.hlo_proto.pb")):
            name = program.name.removesuffix(".hlo_proto.pb")
            options = {"module_name": name, "memory_space": "0"}
            said = json.loads(convert.xspace_to_tool_data([str(file)], "memory_viewer", options)[0])
            found[name] = {key: said.get(key, 0) for key in kept}
    return found


def of_tool(path: Path, tool: str) -> Any:
    """Ask one of XProf's tools of one profile."""
    convert = importlib.import_module("xprof.convert.raw_to_tool_data")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "host.xplane.pb"
        file.write_bytes(path.read_bytes())
        return json.loads(convert.xspace_to_tool_data([str(file)], tool, {})[0])


def rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one of XProf's tables, by the ids of its columns."""
    names = [column["id"] for column in table["cols"]]
    return [dict(zip(names, (cell["v"] for cell in row["c"]), strict=True)) for row in table["rows"]]


def by_kernel(kernels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the kernels that took most time, each added up over its ops and launches."""
    found: dict[str, dict[str, Any]] = {}
    for row in kernels:
        launch = " ".join(
            f"{row[key]:g}" if isinstance(row[key], float) else str(row[key])
            for key in ("registers_per_thread", "shmem_bytes", "block_dim", "grid_dim", "occupancy_pct")
        )
        one = found.setdefault(
            row["kernel_name"],
            {"name": row["kernel_name"], "occurrences": 0, "total_us": 0, "launches": []},
        )
        one["occurrences"] += int(row["occurrences"])
        one["total_us"] = round(one["total_us"] + row["total_duration_us"], 3)
        one["min_us"] = min(one.get("min_us", row["min_duration_us"]), row["min_duration_us"])
        one["max_us"] = max(one.get("max_us", row["max_duration_us"]), row["max_duration_us"])
        for key, said in (
            ("tensor_cores", "is_kernel_using_tensor_core"),
            ("eligible", "is_op_tensor_core_eligible"),
        ):
            one[key] = one.get(key, False) or bool(row[said])
        if launch not in one["launches"]:
            one["launches"].append(launch)
    return sorted(found.values(), key=lambda one: -float(one["total_us"]))[:MOST_KERNELS]


def most(ops: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    """Return the ops of the host or the devices that took most time, without what is not an op."""
    chosen = [
        row
        for row in ops
        if row["host_or_device"] == where and row["type"] != "IDLE" and row["total_time"] > 0
    ]
    chosen.sort(key=lambda row: -float(row["total_time"]))
    kept = ("type", "operation", "occurrences", "total_time", "total_self_time")
    return [{key: row[key] for key in kept} for row in chosen[:MOST]]


if __name__ == "__main__":
    sys.exit(main())
