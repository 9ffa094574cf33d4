"""``python -m leakscore``: the command line, which is the application's."""

from __future__ import annotations

import runpy

# By name: the library imports nothing of the application, which may be left out of an installation.
runpy.run_module("leakscore_app", run_name="__main__", alter_sys=True)
