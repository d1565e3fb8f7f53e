"""Adds an installation of frit to the wheel.

FRIT_WHEEL_TREE has the folders bin, include, lib and share, which go where the
environment has folders of these names, and python/frit/libfrit.so, the runtime
that the package opens. It holds no code for a certain Python, so the wheel is for
every one.
"""
import os
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TreeHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        if "FRIT_WHEEL_TREE" not in os.environ:
            raise RuntimeError("tools/dev/wheel builds the wheel")
        tree = Path(os.environ["FRIT_WHEEL_TREE"])
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"
        build_data["force_include"][str(tree / "python/frit/libfrit.so")] = \
            "frit/libfrit.so"
        for folder in ("bin", "include", "lib", "share"):
            build_data["shared_data"][str(tree / folder)] = folder
