"""Makes the site: README, guide, reference documents, examples and the API.

`make docs` calls it. MkDocs, with its theme Material, lies in `.venv/site` in
the versions of tools/site.txt (`tools/setup.sh site` brings it). The pages ask
no other host for anything, and the search works when they are opened as files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from api_document import documentation
from api_pages import Reference, joined

ROOT = Path(__file__).resolve().parent.parent
GENERATOR = ROOT / ".venv" / "site"
BUILD = ROOT / "build" / "site"
ASSETS = Path(__file__).resolve().parent / "site_assets"
SECONDS_MAX = 600
# In code, `name[T](argument)` is no link.
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[((?:[^][]|\[[^][]*\])*)\]\((?!https?:)([^)\s]+)\)")
NUMBERED = re.compile(r"^(\d+\.|##) (?:.*?\[[^]]+\]\(([^)]+)\).*|(.+))$", re.M)
RUN_LINE = re.compile(r"^# (?:Run|Prints): .*\n", re.MULTILINE)
ALONE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "license.md",
}


def main() -> int:
    """Builds the site, and prints where it begins."""
    pages = BUILD / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir(parents=True)
    write_documents(pages)
    write_examples(pages / "examples")
    shutil.copytree(ASSETS, pages / "assets")
    (pages / "api").mkdir()
    Reference(ROOT, documentation()).write(pages / "api")
    # JSON is YAML.
    settings = BUILD / "mkdocs.yml"
    settings.write_text(json.dumps(configuration(pages), indent=1))
    finished = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
        + ["--config-file", settings],
        # It would print news about itself otherwise.
        env={
            **os.environ,
            "PYTHONPATH": str(GENERATOR),
            "NO_MKDOCS_2_WARNING": "1",
        },
        timeout=SECONDS_MAX,
    )
    if finished.returncode == 0:
        print(BUILD / "html" / "index.html")
    return finished.returncode


def sources() -> dict[str, str]:
    """Maps the files that become pages to the pages."""
    found = dict(ALONE)
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").as_posix()
        page = re.sub(r"(^|/)README\.md$", r"\1index.md", name)
        found[f"docs/{name}"] = page
    for path in examples():
        found[f"examples/{path.name}"] = f"examples/{path.stem}.md"
    for folder in projects():
        found[f"examples/{folder.name}"] = f"examples/{folder.name}.md"
    found["examples"] = "examples/index.md"
    return found


def images() -> dict[str, str]:
    """Maps the images of the documents to files of the site."""
    folder = ROOT / "docs"
    return {
        f"docs/{name}": name
        for path in sorted(folder.rglob("*.png"))
        for name in [path.relative_to(folder).as_posix()]
    }


def examples() -> list[Path]:
    """Lists the examples in their order."""
    return sorted((ROOT / "examples").glob("*.mojo"))


def projects() -> list[Path]:
    """Lists the examples that have a folder."""
    found = (ROOT / "examples").glob("*/*.mojo")
    return sorted({path.parent for path in found})


def write_documents(pages: Path) -> None:
    """Writes the pages of the Markdown documents, and of the license."""
    all_pages = sources()
    for source, page in all_pages.items():
        if source.startswith("examples"):
            continue
        text = (ROOT / source).read_text()
        if not source.endswith(".md"):
            text = f"# License\n\n```text\n{text}```\n"
        (pages / page).parent.mkdir(parents=True, exist_ok=True)
        (pages / page).write_text(
            relinked(text, source, all_pages | images())
        )
    for source, name in images().items():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / source, pages / name)


def write_examples(folder: Path) -> None:
    """Writes a page for each example, and one that lists them."""
    folder.mkdir()
    rows = []
    for path in examples():
        text = path.read_text()
        what = text.partition('"""')[2].partition('"""')[0].split("\n\n")[0]
        what = " ".join(what.split())
        command = f"```sh\nmojo run -I . examples/{path.name}\n```"
        shown = f"```mojo\n{RUN_LINE.sub('', text)}```"
        page = joined([f"# {path.stem}", what, command, shown])
        (folder / f"{path.stem}.md").write_text(page)
        rows.append(f"| [{path.stem}]({path.stem}.md) | {what} |")
    for path in projects():
        files = sorted(path.glob("*.mojo"))
        shown = [f"## {x.name}\n\n```mojo\n{x.read_text()}```" for x in files]
        page = joined([f"# {path.name}", *shown])
        (folder / f"{path.name}.md").write_text(page)
        names = ", ".join(f"`{x.name}`" for x in files)
        rows.append(f"| [{path.name}]({path.name}.md) | {names} |")
    text = "Whole programs. `make examples` runs those of one file.\n\n"
    table = "| example | shows |\n|---|---|\n" + "\n".join(rows)
    (folder / "index.md").write_text(f"# Examples\n\n{text}{table}\n")


def relinked(text: str, source: str, pages: dict[str, str]) -> str:
    """Turns links between files into links between pages.

    A link to a file that is no page loses its target."""
    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [(text[end : code.start()], False), (code.group(), True)]
        end = code.end()
    parts.append((text[end:], False))
    # A link's text may hold code, so that code is put aside and back.
    held = [part for part, is_code in parts if is_code]
    plain = "".join("\0" if is_code else part for part, is_code in parts)

    def link(match: re.Match) -> str:
        shown, target = match.groups()
        path, mark, anchor = target.partition("#")
        if not path:
            return match.group()
        there = os.path.normpath(os.path.join(os.path.dirname(source), path))
        page = pages.get(there)
        if page is None:
            return shown
        here = os.path.dirname(pages[source])
        return f"[{shown}]({os.path.relpath(page, here or '.')}{mark}{anchor})"

    plain = LINK.sub(link, plain)
    return re.sub("\0", lambda _: held.pop(0), plain)


def configuration(pages: Path) -> dict:
    """Gives what MkDocs is told."""
    return {
        "site_name": "flare",
        "docs_dir": str(pages),
        "site_dir": str(BUILD / "html"),
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "font": False,
            "features": [
                "content.code.copy",
                "navigation.indexes",
                "navigation.footer",
                "navigation.tabs",
                "search.highlight",
                "search.suggest",
                "toc.follow",
            ],
            "palette": [
                palette("default", "slate", "dark"),
                palette("slate", "default", "light"),
            ],
        },
        "extra": {
            "generator": False,
            "polyfills": ["assets/iframe-worker.js"],
        },
        "extra_css": ["assets/extra.css"],
        "plugins": ["search", "offline"],
        "markdown_extensions": [
            "sane_lists",
            "tables",
            {"toc": {"permalink": True}},
            {"pymdownx.highlight": {"pygments_lang_class": True}},
            "pymdownx.superfences",
        ],
        "validation": {
            "nav": {"omitted_files": "ignore"},
            "links": {"anchors": "warn", "unrecognized_links": "warn"},
        },
        "nav": navigation(pages),
    }


def palette(scheme: str, other: str, name: str) -> dict:
    """Gives one scheme of colors, and the switch to the other one."""
    query = "light" if scheme == "default" else "dark"
    return {
        "media": f"(prefers-color-scheme: {query})",
        "scheme": scheme,
        "primary": "deep orange",
        "accent": "deep orange",
        "toggle": {
            "icon": f"material/weather-{'night' if name == 'dark' else 'sunny'}",
            "name": f"Switch to {name} mode",
        },
    }


def navigation(pages: Path) -> list:
    """Gives the order of the pages; the guide's is that of its index."""
    guide: list = ["guide/index.md"]
    for mark, page, title in NUMBERED.findall(
        (pages / "guide" / "index.md").read_text()
    ):
        if mark == "##":
            guide.append({title: []})
        elif page:
            next(iter(guide[-1].values())).append(f"guide/{page}")
    shown = ["examples/index.md"]
    shown += [f"examples/{path.stem}.md" for path in examples() + projects()]
    packages = [pages / "api" / "prelude" / "index.md"]
    packages += [pages / "api" / "http" / "index.md"]
    found = (pages / "api").rglob("index.md")
    rest = set(found) - {pages / "api" / "index.md", *packages}
    packages += sorted(rest, key=lambda path: path.parent)
    notes = sorted((pages / "notes").glob("*.md"))
    return [
        {"flare": "index.md"},
        {"Guide": guide},
        {"Examples": shown},
        {"API": ["api/index.md"] + [
            str(path.relative_to(pages)) for path in packages
        ]},
        {"Reference": [
            "supported.md",
            "comparison.md",
            "security.md",
            "performance.md",
            "architecture.md",
            "contributing.md",
            "changelog.md",
            "license.md",
            *[f"notes/{path.name}" for path in notes],
        ]},
    ]


if __name__ == "__main__":
    sys.exit(main())
