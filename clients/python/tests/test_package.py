"""The package: typed and clean, and it installs into an empty environment, where the first lines of the guide run."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from server import Server
from test_docs import GUIDE, blocks, run_until

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("tool", [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]], ids=" ".join)
def test_the_code_is_clean(tool: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *tool], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_runs_the_first_lines_of_the_guide_in_an_empty_environment(
    tmp_path: Path, sqlite_server: Server
) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    assert len(list(tmp_path.glob("windlass-*.tar.gz"))) == 1
    (wheel,) = tmp_path.glob("windlass-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "windlass/py.typed" in names and not [name for name in names if "test_" in name]
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    python = str(environment / "bin" / "python")
    install = [python, "-m", "pip", "install", "--no-index", "--quiet", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    run_until(blocks(GUIDE, sqlite_server.url)[0], "sending to ann@example.org", python, tmp_path)
    command = subprocess.run(
        [environment / "bin" / "windlass-worker", "--help"], capture_output=True, text=True, check=True
    )
    assert "MODULE:NAME" in command.stdout
