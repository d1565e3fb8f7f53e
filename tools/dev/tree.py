"""The files of the repository, for the scripts that check them."""
import subprocess
from pathlib import Path


def files(root: Path) -> list[Path]:
    """Existing files that git tracks, relative to `root`; without git, all files."""
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z"],
                                check=True, capture_output=True, text=True)
        names = map(Path, listed.stdout.rstrip("\0").split("\0"))
        return [name for name in names if (root / name).is_file()]
    return sorted(path.relative_to(root) for path in root.rglob("*")
                  if path.is_file())
