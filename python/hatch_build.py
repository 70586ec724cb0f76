"""Builds the program into the wheel, and its source into the sdist.

A wheel is of one platform, that of GOOS and GOARCH if they are set. CACHESIM_PROGRAM names a program that is built
already; without it, Go builds one. No C compiler is needed, as such a program uses no GPU.
"""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TAGS = {
    ("linux", "amd64"): "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    ("linux", "arm64"): "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    ("darwin", "amd64"): "macosx_12_0_x86_64",
    ("darwin", "arm64"): "macosx_12_0_arm64",
    ("windows", "amd64"): "win_amd64",
    ("windows", "arm64"): "win_arm64",
}

# What Go needs of the module to build the program.
SOURCES = ["cmd", "configs", "internal", "cachesim.go", "run.go", "go.mod", "go.sum", "LICENSE"]

# Lets a class be a policy: the package and programs without it have the same file.
ADAPTER = "examples/exec/cachesim.py"


class CustomBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            raise SystemExit("an editable install would lack the program; build a wheel")
        self.work = Path(tempfile.mkdtemp(prefix="cachesim-"))
        if self.target_name == "sdist":
            self.add_source(build_data)
        else:
            self.add_program(build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self.work)

    def add_source(self, build_data: dict[str, Any]) -> None:
        module = self.module()
        tracked = subprocess.run(["git", "ls-files", "-z", "--", *SOURCES, ADAPTER], cwd=module, check=True,
                                 capture_output=True).stdout.decode().split("\0")
        for name in tracked:
            if name and not name.endswith("_test.go") and "/testdata/script/" not in name and "/fuzz/" not in name:
                build_data["force_include"][str(module / name)] = "go/" + name

    def add_program(self, build_data: dict[str, Any]) -> None:
        goos, goarch = (self.go("env", name) for name in ("GOOS", "GOARCH"))
        if (goos, goarch) not in TAGS:
            raise SystemExit(f"there is no wheel for {goos}/{goarch}; want one of "
                             + ", ".join("/".join(platform) for platform in TAGS))
        name = "cachesim.exe" if goos == "windows" else "cachesim"
        program = os.environ.get("CACHESIM_PROGRAM")
        if not program:
            program = str(self.work / name)
            self.go("build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/cachesim")
        build_data["force_include"][program] = "cachesim/bin/" + name
        build_data["force_include"][str(self.module() / ADAPTER)] = "cachesim/_adapter.py"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{TAGS[goos, goarch]}"

    def module(self) -> Path:
        """The Go module: in an sdist, below it; else around it."""
        inside = Path(self.root) / "go"
        return inside if inside.exists() else Path(self.root).parent

    def go(self, *args: str) -> str:
        try:
            run = subprocess.run(["go", *args], cwd=self.module(), env={**os.environ, "CGO_ENABLED": "0"},
                                 capture_output=True, text=True, check=True)
        except FileNotFoundError:
            raise SystemExit("go is not installed; install Go, or take a wheel, which needs none") from None
        except subprocess.CalledProcessError as failed:
            raise SystemExit(f"go {' '.join(args)} failed:\n{failed.stderr}") from None
        return run.stdout.strip()
