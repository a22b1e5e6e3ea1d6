"""The code of `docs/python.md` and of the README runs as it is written."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from server import Server

REPOSITORY = Path(__file__).parents[3]
GUIDE = REPOSITORY / "docs" / "python.md"
README = REPOSITORY / "clients" / "python" / "README.md"


def blocks(page: Path, url: str) -> list[str]:
    """The Python blocks of a page, for another server."""
    found = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [block.replace("http://127.0.0.1:7700", url) for block in found]


def run_until(program: str, line: str, python: str = sys.executable, cwd: Path | None = None) -> None:
    """Runs a program until it prints a line, and then stops it with SIGTERM: it must end well."""
    process = subprocess.Popen([python, "-u", "-c", program], stdout=subprocess.PIPE, text=True, cwd=cwd)
    try:
        assert process.stdout
        assert process.stdout.readline() == f"{line}\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("page", "line"), [(GUIDE, "sending to ann@example.org"), (README, "to ann@example.org")])
def test_the_first_lines_of_each_page_run(page: Path, line: str, sqlite_server: Server) -> None:
    first = blocks(page, sqlite_server.url)[0]
    assert len([text for text in first.splitlines() if text]) <= 10
    run_until(first, line)


def test_the_other_examples_run(sqlite_server: Server) -> None:
    first, *others = blocks(GUIDE, sqlite_server.url)
    assert len(others) == 4
    ending = """
import threading
thread = threading.Thread(target=worker.run)
thread.start()
asyncio.run(main())
test_a_mail_is_sent()
with inline(worker, raise_errors=False) as jobs:
    resize.enqueue({"paths": ["a.png", "b.gif"]})
    assert isinstance(jobs[0].error, windlass.PermanentError)
worker.stop()
thread.join()
"""
    program = first.replace("worker.run()", "").replace('"mail")', '"examples")')
    program += "".join(others).replace('"mail"', '"examples"') + ending
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "scheduled" and "succeeded" in done.stdout


@pytest.mark.parametrize("name", ["Django", "FastAPI"])
def test_the_recipes_are_valid_python(name: str) -> None:
    section = GUIDE.read_text("utf-8").split(f"## {name}\n")[1]
    recipe = section.split("```text\n")[1].split("```")[0]
    compile(recipe, name, "exec")
