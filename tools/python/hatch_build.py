"""Adds an installation of frit to the wheel.

FRIT_WHEEL_TREE has the folders bin, include, lib and share, which go where the
environment has folders of these names, and python/frit with libfrit.so, the
runtime that the package opens, and its compiled module, if that was built.

The wheel is for every Python, so its tag names no binary interface: the module uses
the stable one of Python 3.9, and the package leaves it out in free-threaded ones,
which lack that.
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
        for path in tree.glob("python/frit/*.so"):
            build_data["force_include"][str(path)] = f"frit/{path.name}"
        for folder in ("bin", "include", "lib", "share"):
            build_data["shared_data"][str(tree / folder)] = folder
