"""The package as it is published: typed, documented, and it installs."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parent


def run(*command: object, cwd: Path = PACKAGE) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.cache = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.cache.cleanup)

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def mypy(self, *files: object) -> str:
        return run(sys.executable, "-m", "mypy", f"--cache-dir={self.cache.name}", "--config-file=pyproject.toml", *files)

    def test_annotations(self) -> None:
        """Of the package itself, and of the examples in README.md."""
        readme = (PACKAGE / "README.md").read_text()
        blocks = re.findall(r"^```python\n(from pgscylla.*?|import asyncio.*?)^```", readme, re.M | re.S)
        self.assertEqual(len(blocks), 2)
        for number, block in enumerate(blocks):
            (self.folder / f"example_{number}.py").write_text(block)
        self.mypy("src/pgscylla", *sorted(self.folder.glob("*.py")))

    def test_annotations_are_looked_at(self) -> None:
        wrong = self.folder / "wrong.py"
        wrong.write_text("from pgscylla import Worker\nWorker('', 'q', lambda job: job.spek, concurrency='4')\n")
        with self.assertRaises(AssertionError) as raised:
            self.mypy(wrong)
        self.assertIn('"Job" has no attribute "spek"', str(raised.exception))
        self.assertIn('Argument "concurrency"', str(raised.exception))

    def test_builds_and_installs(self) -> None:
        source = self.folder / "source"
        run("cp", "-r", PACKAGE, source)
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", self.folder / "dist", source)
        [sdist] = (self.folder / "dist").glob("pgscylla-*.tar.gz")
        [wheel] = (self.folder / "dist").glob("pgscylla-*-py3-none-any.whl")
        with tarfile.open(sdist) as archive:
            names = [name.split("/", 1)[-1] for name in archive.getnames()]
        for name in ("pyproject.toml", "README.md", "LICENSE", "src/pgscylla/py.typed", "tests/test_worker.py"):
            self.assertIn(name, names)
        with zipfile.ZipFile(wheel) as archive_of_wheel:
            archive_of_wheel.extractall(self.folder / "installed")
        installed = self.folder / "installed"
        self.assertTrue((installed / "pgscylla" / "py.typed").exists())
        [metadata] = installed.glob("*.dist-info/METADATA")
        self.assertIn("Requires-Dist: psycopg>=3.1", metadata.read_text().replace(" (>=3.1)", ">=3.1"))
        where = "import pgscylla; print(pgscylla.__file__, [getattr(pgscylla, n) for n in pgscylla.__all__])"
        said = run("env", f"PYTHONPATH={installed}", sys.executable, "-c", where, cwd=self.folder)
        self.assertTrue(said.startswith(str(installed)))

    def test_licence_and_version_are_those_of_the_project(self) -> None:
        project = PACKAGE.parent.parent
        self.assertEqual((PACKAGE / "LICENSE").read_bytes(), (project / "LICENSE").read_bytes())
        version = re.search(r'"version": "([^"]+)"', (project / "META.json").read_text())
        assert version is not None
        self.assertIn(f'version = "{version[1]}"', (PACKAGE / "pyproject.toml").read_text())


if __name__ == "__main__":
    unittest.main()
