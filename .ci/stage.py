"""Copies the repository to a folder in which the project has an address: see .ci/release.

    stage.py FOLDER URL     copies what git knows, or would add, to the folder, with the address in manifests and readmes
    stage.py --address      prints the address that Cargo.toml names, or nothing

In the repository, the links of readmes are relative, and no manifest names the project's address: Cargo.toml is the only place that
has it. A registry shows a readme on a page of its own, where links have to be absolute.
"""

import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
IMAGES = (".png", ".svg")


def address():
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    return manifest["workspace"]["metadata"]["project"]["repository"].rstrip("/")


def absolute(readme, text, url):
    """Turns the relative links of a readme into URLs. Links within the page stay as they are."""

    def change(found):
        target = found[1]
        if "://" in target or target.startswith(("#", "mailto:")):
            return found[0]
        file, mark, heading = target.partition("#")
        path = posixpath.normpath(posixpath.join(readme.parent.relative_to(ROOT).as_posix(), file))
        view = "raw" if path.endswith(IMAGES) else "tree" if (ROOT / path).is_dir() else "blob"
        # An SVG is shown as an image only if the server is asked to clean it.
        query = "?sanitize=true" if path.endswith(".svg") else ""
        return f"]({url}/{view}/main/{path}{query}{mark}{heading})"

    return re.sub(r"\]\(([^)\s]+)\)", change, text)


def stage(folder, url):
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        source, copy = ROOT / name, folder / name
        if not name or not (source.exists() or source.is_symlink()):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy, follow_symlinks=False)
    for manifest in sorted([*folder.glob("*/Cargo.toml"), *folder.glob("crates/*/Cargo.toml")]):
        package = tomllib.loads(manifest.read_text()).get("package", {})
        if package.get("publish") is False or "readme" not in package:
            continue
        text = manifest.read_text()
        fields = f'[package]\nrepository = "{url}"\nhomepage = "{url}"\n'
        manifest.write_text(text.replace("[package]\n", fields, 1))
        home = manifest.parent.relative_to(folder).as_posix()
        name = pathlib.PurePosixPath(posixpath.normpath(posixpath.join(home, package["readme"])))
        (folder / name).write_text(absolute(ROOT / name, (ROOT / name).read_text(), url))


if __name__ == "__main__":
    if sys.argv[1:] == ["--address"]:
        print(address())
    else:
        stage(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2])
