"""The package as a whole: its size, its types, its words, its guide and its examples."""

import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import dps

HERE = Path(__file__).parent.parent
GUIDE = HERE.parent / "docs/guides/python.md"


def test_the_wheel_is_small():
    wheel = os.environ.get("DPS_WHEEL")
    if wheel is None:
        pytest.skip("DPS_WHEEL names no wheel")
    size = Path(wheel).stat().st_size / 1e6
    print(f"wheel: {size:.2f} MB")
    assert size < 12


def test_stubs_are_those_of_the_compiled_part(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "dps._dps"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_types_of_the_package_hold(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "-p", "dps", "--ignore-missing-imports"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_everything_public_is_explained():
    silent = []
    for name in dps.__all__:
        value = getattr(dps, name)
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if not inspect.getdoc(value):
            silent.append(name)
        if inspect.isclass(value):
            for method, of in vars(value).items():
                of = getattr(of, "__func__", of)
                explained = inspect.getdoc(of) or inspect.getdoc(getattr(value, method, None))
                if not method.startswith("_") and callable(of) and not explained:
                    silent.append(f"{name}.{method}")
    assert silent == []


def test_docstrings_of_mechanisms_have_their_sections():
    for name in dps.__all__:
        value = getattr(dps, name)
        if inspect.isclass(value) and issubclass(value, dps.Mechanism) and value is not dps.Mechanism:
            text = inspect.getdoc(value)
            assert "docs/proofs/" in text, name
            for page in re.findall(r"`([a-z-]+\.md)`|docs/proofs/([a-z-]+\.md)", text):
                assert (HERE.parent / "docs/proofs" / (page[0] or page[1])).is_file(), page


def test_doctests(tmp_path, monkeypatch):
    import doctest

    monkeypatch.chdir(tmp_path)
    for module in [dps.rows, dps.privacy, dps.groups]:
        found = doctest.testmod(module)
        assert found.failed == 0 and found.attempted > 0


@pytest.mark.parametrize("example", sorted((HERE / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")


TASKS = re.findall(r"^## (\d\. .*?)$.*?```python\n(.*?)```", GUIDE.read_text("utf-8"), re.M | re.S)


def test_the_guide_has_five_tasks():
    assert [title[0] for title, _ in TASKS] == list("12345")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task[0])
def test_tasks_of_the_guide_run_in_a_new_process(task, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", task[1]], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
