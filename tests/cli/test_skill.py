"""The skill for AI assistants: its form, its commands on real traces, and its copy."""

import re
import shlex
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.cli.command import complaint, tfvis_nb, tfvis_nb_here
from tests.docs.test_howto import blocks
from tests.real_traces import DATA

SKILL = Path(str(files("tfvis_nb") / "skill"))
REFERENCES = sorted((SKILL / "references").iterdir())
PAGES = [SKILL / "SKILL.md", *REFERENCES]
FREE = {
    "tfvis-nb capture HOST:PORT -o step.parquet",
    "tfvis-nb VERB --help",
    "tfvis-nb skill NAME",
    "tfvis-nb mcp",
}
"""Commands with a placeholder, and a server."""
SCRIPT = """
import tensorflow as tf

@tf.function
def train_step(x):
    return tf.reduce_sum(tf.matmul(x, x))
"""


def commands(page: Path) -> list[str]:
    """Return the command lines of a page, in its code blocks and in its sentences."""
    lines = [line.partition(" #")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()]
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return lines + [code for code in re.findall(r"`([^`]+)`", text) if code.startswith("tfvis-nb ")]


def case(line: str, page: Path) -> Any:
    needs_tensorflow = line.startswith(("tfvis-nb run", "tfvis-nb doctor"))
    return pytest.param(
        line, id=f"{page.stem}: {line}", marks=[pytest.mark.tensorflow] if needs_tensorflow else []
    )


CALLS = [case(line, page) for page in PAGES for line in commands(page) if line not in FREE]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the commands name."""
    folder = tmp_path_factory.mktemp("skill")
    (folder / "logs").mkdir()
    for name, file in (("old", "gpu_tf218_mlp.pb.xz"), ("step", "gpu_tf221_mlp.pb.xz")):
        tv.read_trace(DATA / file).to_parquet(folder / f"{name}.parquet")
    shutil.copy(folder / "step.parquet", folder / "new.parquet")
    shutil.copy(folder / "step.parquet", folder / "logs")
    tv.open_traces(folder / "logs", folder / "dataset")
    (folder / "train.py").write_text(f"{SCRIPT}\nfor _ in range(3):\n    train_step(tf.ones((64, 64)))\n")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "work"))


@pytest.mark.parametrize("line", CALLS)
def test_commands_of_the_skill_work(line: str, folder: Path) -> None:
    word, *words = shlex.split(line)
    assert word == "tfvis-nb"
    written = [folder / words[at + 1] for at, word in enumerate(words) if word == "-o"]
    for path in written:
        path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)
    done = (tfvis_nb if words[0] == "run" else tfvis_nb_here)(*words, cwd=folder)
    # A check may be worse or unknown, and this machine may lack something.
    assert done.returncode in {"check": {0, 1, 2}, "doctor": {0, 1}}.get(words[0], {0}), done.stderr
    assert done.stdout or written
    assert all(path.exists() for path in written)


def test_commands_that_are_not_run_are_in_the_skill() -> None:
    assert {line for page in PAGES for line in commands(page)} >= FREE
    assert len(CALLS) > 20


@pytest.mark.parametrize("name", ["diagnose", "compare", "dataset"])
def test_python_of_the_skill_works(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (code,) = blocks(SKILL / "references" / f"{name}.md", "python")
    exec(code, {})
    assert capsys.readouterr().out


@pytest.mark.tensorflow
def test_python_of_the_skill_records() -> None:
    (code,) = blocks(SKILL / "references" / "record.md", "python")
    names: dict[str, Any] = {}
    exec(f"{SCRIPT}\nbatch = tf.ones((64, 64))\n{code}", names)
    assert "MatMul" in set(names["t"].events["op"])


def test_the_skill_has_the_form_of_agent_skills() -> None:
    text = PAGES[0].read_text("utf-8")
    matter = re.match(r"---\nname: (.*)\ndescription: (.*)\n---\n", text)
    assert matter
    name, description = matter.groups()
    assert name == "tfvis-nb"
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(description) <= 1024
    assert ": " not in description
    assert len(text.splitlines()) <= 120
    assert set(re.findall(r"\((references/\S+)\)", text)) == {
        f"references/{path.name}" for path in REFERENCES
    }


def test_the_command_prints_the_skill_and_its_references(tmp_path: Path) -> None:
    assert tfvis_nb_here("skill", cwd=tmp_path).stdout == PAGES[0].read_text("utf-8")
    for page in REFERENCES:
        assert tfvis_nb_here("skill", page.stem, cwd=tmp_path).stdout == page.read_text("utf-8")
    assert "--to" in complaint(tfvis_nb_here("skill", "record", "--to", ".", cwd=tmp_path), 2)


def test_copies_are_replaced_and_changed_files_left_alone(tmp_path: Path) -> None:
    copied = tmp_path / "skills" / "tfvis-nb"
    assert (
        tfvis_nb_here("skill", "--to", "skills", cwd=tmp_path).stdout
        == f"wrote {Path('skills', 'tfvis-nb')}\n"
    )
    texts = {path: path.read_text("utf-8") for path in copied.rglob("*.md")}
    assert {path.relative_to(copied) for path in texts} == {page.relative_to(SKILL) for page in PAGES}
    for path, text in texts.items():
        assert text.startswith((SKILL / path.relative_to(copied)).read_text("utf-8"))
    changed, foreign = copied / "SKILL.md", copied / "references" / "record.md"
    changed.write_text(texts[changed].replace("tfvis-nb", "my"))
    foreign.write_text("mine\n")
    (copied / "references" / "dataset.md").unlink()
    done = tfvis_nb_here("skill", "--to", "skills", cwd=tmp_path)
    assert done.returncode == 1
    for path, text in texts.items():
        is_left = path in (changed, foreign)
        assert (str(path.relative_to(tmp_path)) in done.stderr) == is_left
        assert (path.read_text("utf-8") != text) == is_left


def test_a_copy_of_an_earlier_version_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfvis_nb.cli import skill

    earlier = tmp_path / "earlier"
    shutil.copytree(SKILL, earlier)
    (earlier / "SKILL.md").write_text("an earlier version\n")
    with monkeypatch.context() as patched:
        patched.setattr(skill, "_ROOT", earlier)
        tfvis_nb_here("skill", "--to", ".", cwd=tmp_path)
    assert (tmp_path / "tfvis-nb" / "SKILL.md").read_text().startswith("an earlier version\n")
    assert tfvis_nb_here("skill", "--to", ".", cwd=tmp_path).returncode == 0
    assert (tmp_path / "tfvis-nb" / "SKILL.md").read_text("utf-8").startswith(PAGES[0].read_text("utf-8"))


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    tfvis_nb_here("skill", "--to", "skills", cwd=tmp_path)
    copied = tmp_path / "skills" / "tfvis-nb" / "SKILL.md"
    shutil.move(copied, outside)
    before = outside.read_bytes()
    copied.symlink_to(outside)
    done = tfvis_nb_here("skill", "--to", "skills", cwd=tmp_path)
    assert done.returncode == 1
    assert str(copied.relative_to(tmp_path)) in done.stderr
    assert outside.read_bytes() == before
