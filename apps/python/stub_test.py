"""The committed types are those of the package and its options."""

import contextlib
import io
import pathlib
import runpy
import unittest


class StubTest(unittest.TestCase):
    maxDiff = None

    def test_is_what_make_stub_prints(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            runpy.run_path("apps/python/make_stub.py", run_name="__main__")
        committed = pathlib.Path("apps/python/dtnn/__init__.pyi").read_text()
        self.assertEqual(
            committed.splitlines(), printed.getvalue().splitlines(),
            "run: bazel run //apps/python:make_stub > apps/python/dtnn/__init__.pyi",
        )
        compile(committed, "__init__.pyi", "exec")
