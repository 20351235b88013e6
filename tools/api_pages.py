"""Writes the reference of the public names from what `mojo doc` has found.

A name is public if the `__init__.mojo` of a package imports it or its package
is a module of its own. Each struct and trait gets a page, functions and
constants stand on the page of their package.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_CHARACTERS_MAX = 24
LINE_CHARACTERS_MAX = 80
IMPORT = re.compile(
    r"^from +([\w.]+) +import +(?:\(([^)]*)\)|([^\n]*))", re.MULTILINE
)
# What only machines of tests and the kernel's interface need.
INTERNAL = ("flare.sys", "flare.testing.contract")
# What every type has, and no reader looks for.
EVERYDAY = {"__deinit__", "__init__(copy)", "__init__(move)"}
EVERYDAY_TRAITS = {"AnyType", "Deinitable", "Movable", "ImplicitlyDeletable"}


@dataclass
class Package:
    """Holds the public names of a package: definitions and page paths."""

    name: str
    summary: str
    description: str
    types: dict[str, dict] = field(default_factory=dict)
    functions: dict[str, dict] = field(default_factory=dict)
    constants: dict[str, dict] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Returns the folder of its pages, below that of the reference."""
        return self.name.removeprefix("flare").strip(".").replace(".", "/")


class Reference:
    """Holds the public packages of a library, and makes their pages."""

    def __init__(self, root: Path, documentation: dict) -> None:
        self.root = root
        self.packages: list[Package] = []
        # The page of a definition, by the path that `mojo doc` gives it.
        self.pages: dict[str, str] = {}
        self._definitions: dict[str, tuple[str, dict]] = {}
        self._collect(documentation["decl"], "flare")
        self._add_packages(documentation["decl"], "flare")
        self._add_prelude(documentation["decl"])

    def write(self, folder: Path) -> None:
        """Writes the pages."""
        rows = ["| package | |", "|---|---|"]
        for package in self.packages:
            link = f"{package.folder}/index.md"
            rows.append(f"| [`{package.name}`]({link}) | {package.summary} |")
            self._write_package(folder, package)
        text = "# API reference\n\nThe public names of flare, by package.\n\n"
        (folder / "index.md").write_text(text + "\n".join(rows) + "\n")

    def _collect(self, package: dict, name: str) -> None:
        for module in package["modules"]:
            path = f"{name}.{module['name']}"
            for kind in ("structs", "traits", "functions", "aliases"):
                for item in module[kind]:
                    if not item["name"].startswith("_"):
                        key = f"{path}.{item['name']}"
                        self._definitions[key] = kind, item
        for child in package["packages"]:
            self._collect(child, f"{name}.{child['name']}")

    def _add_packages(self, package: dict, name: str) -> None:
        if name != "flare" and not name.startswith(INTERNAL):
            self._add_package(package, name)
        for child in sorted(package["packages"], key=lambda x: x["name"]):
            self._add_packages(child, f"{name}.{child['name']}")

    def _add_prelude(self, package: dict) -> None:
        """Adds the module of everyday names, which defines none itself."""
        found = Package("flare.prelude", "", "")
        for module in package["modules"]:
            if module["name"] == "prelude":
                found.summary = module["summary"]
                found.description = module["description"]
        path = self.root / "flare" / "prelude.mojo"
        if not path.exists():
            return
        for module, names in imports(path.read_text(), "flare.prelude"):
            for exported in names:
                self._add_name(found, module, exported)
        self.packages.insert(0, found)

    def _add_package(self, package: dict, name: str) -> None:
        found = Package(name, package["summary"], package["description"])
        path = self.root / Path(*name.split(".")) / "__init__.mojo"
        if not path.exists():
            # To the compiler, a folder of other files is a package too.
            return
        for module, names in imports(path.read_text(), name):
            for exported in names:
                self._add_name(found, module, exported)
        for part in (found.types, found.functions, found.constants):
            items = sorted(part.items())
            part.clear()
            part.update(items)
        if found.types or found.functions or found.constants:
            self.packages.append(found)

    def _add_name(self, package: Package, module: str, name: str) -> None:
        path = self._path_of(module, name)
        if path is None or path in self.pages:
            if path is not None:
                package.elsewhere[name] = self.pages[path]
            return
        kind, item = self._definitions[path]
        if kind in ("structs", "traits"):
            package.types[name] = item
            self.pages[path] = f"{package.folder}/{name}.md"
            return
        anchor = name.lower()
        self.pages[path] = f"{package.folder}/index.md#{anchor}"
        if kind == "functions":
            package.functions[name] = item
        else:
            package.constants[name] = item

    def _path_of(self, module: str, name: str) -> str | None:
        """Finds where a name is defined, through packages that import it."""
        if f"{module}.{name}" in self._definitions:
            return f"{module}.{name}"
        path = self.root / Path(*module.split(".")) / "__init__.mojo"
        if not path.exists():
            return None
        for source, names in imports(path.read_text(), module):
            if name in names:
                return self._path_of(source, name)
        return None

    def _write_package(self, folder: Path, package: Package) -> None:
        place = folder / package.folder
        place.mkdir(parents=True, exist_ok=True)
        parts = [f"# `{package.name}`", package.summary, package.description]
        rows = [
            (name, f"{name}.md", item["summary"])
            for name, item in package.types.items()
        ]
        parts.append(table("Types", rows))
        rows = [
            (name, f"#{name.lower()}", overload["summary"])
            for name, item in package.functions.items()
            for overload in item["overloads"][:1]
        ]
        parts.append(table("Functions", rows))
        if package.elsewhere:
            up = "../" * (package.folder.count("/") + 1)
            names = [
                f"[`{name}`]({up}{page})"
                for name, page in sorted(package.elsewhere.items())
            ]
            parts.append("Exported from other packages: " + ", ".join(names) + ".")
        for name, item in package.functions.items():
            parts.append(self._function(item, package.folder, level=2))
        if package.constants:
            parts.append("## Constants")
        for name, item in package.constants.items():
            parts.append(f"### {name}")
            parts.append(code(constant_text(item)))
            parts += [item["summary"], item["description"]]
        (place / "index.md").write_text(joined(parts))
        for name, item in package.types.items():
            text = self._type(item, package)
            (place / f"{name}.md").write_text(text)

    def _type(self, item: dict, package: Package) -> str:
        name, folder = item["name"], package.folder
        home = f"In package [`{package.name}`](index.md)."
        parts = [f"# {name}", home]
        parts += [item["summary"], item["description"]]
        traits = [
            self._link(x["name"], x.get("path"), folder)
            for x in item["parentTraits"]
            if x["name"] not in EVERYDAY_TRAITS
        ]
        if traits:
            parts.append("Conforms to " + ", ".join(traits) + ".")
        parts.append(self._named("Parameters", item.get("parameters"), folder))
        fields = [x for x in item["fields"] if not x["name"].startswith("_")]
        if fields:
            parts.append("## Fields")
        for entry in fields:
            parts.append(f"### {entry['name']}")
            parts.append(code(f"var {entry['name']}: {entry['type']}"))
            parts += [entry["summary"], entry["description"]]
        constants = [x for x in item["aliases"] if is_shown(x)]
        if constants:
            parts.append("## Constants")
            rows = [
                f"| `{x['name']}` | {in_cell(x['summary'])} |"
                for x in constants
            ]
            parts.append("| name | |\n|---|---|\n" + "\n".join(rows))
        shown = [x for x in item["functions"] if is_shown(x)]
        if shown:
            parts.append("## Methods")
        for function in shown:
            parts.append(self._function(function, folder, level=3))
        return joined(parts)

    def _function(self, item: dict, folder: str, level: int) -> str:
        parts = [f"{'#' * level} {title_of(item['name'])}"]
        for overload in item["overloads"]:
            if everyday_kind(overload) in EVERYDAY:
                continue
            parts.append(code(signature(overload)))
            parts += [overload["summary"], overload["description"]]
            parts.append(
                self._named("Parameters", overload["parameters"], folder)
            )
            parts.append(self._named("Arguments", overload["args"], folder))
            returns = overload.get("returns")
            if returns and returns.get("doc"):
                linked = self._link(
                    returns["type"], returns.get("path"), folder
                )
                text = f"**Returns** {linked}: {one_line(returns['doc'])}"
                parts.append(text)
            if overload["raises"] and overload["raisesDoc"]:
                text = one_line(overload["raisesDoc"]).removeprefix("Error: ")
                parts.append(f"**Raises** {text}")
        return joined(parts) if len(parts) > 1 else ""

    def _named(self, title: str, items: list | None, folder: str) -> str:
        rows = []
        for item in items or []:
            if item["name"] == "self" or not item.get("description"):
                continue
            linked = self._link(item["type"], item.get("path"), folder)
            text = one_line(item["description"])
            rows.append(f"- `{item['name']}` ({linked}): {text}")
        return f"**{title}**\n\n" + "\n".join(rows) if rows else ""

    def _link(self, text: str, path: str | None, folder: str) -> str:
        shown = f"`{text}`"
        key = (path or "").strip("/").replace("/", ".")
        page = self.pages.get(key)
        if page is None:
            return shown
        return f"[{shown}]({'../' * (folder.count('/') + 1)}{page})"


def imports(text: str, package: str) -> list[tuple[str, list[str]]]:
    """Lists modules that a source imports from, each with the names."""
    found = []
    for module, many, few in IMPORT.findall(text):
        if module.startswith("."):
            dots = len(module) - len(module.lstrip("."))
            parts = package.split(".")
            base = parts[: len(parts) - dots + 1]
            rest = module.lstrip(".")
            module = ".".join([*base, *([rest] if rest else [])])
        names = [x.strip().split(" as ")[0] for x in (many or few).split(",")]
        found.append((module, [x for x in names if x and x[0] != "_"]))
    return found


def everyday_kind(overload: dict) -> str:
    """Names a constructor by what it takes, for `EVERYDAY`."""
    name = overload["name"]
    arguments = [x["name"] for x in overload["args"] if x["name"] != "self"]
    if name == "__init__" and arguments in (["copy"], ["move"]):
        return f"{name}({arguments[0]})"
    return name


def is_shown(item: dict) -> bool:
    """Returns whether readers look for a function or constant."""
    name = item["name"]
    if name.startswith("_") and not name.startswith("__"):
        return False
    if "overloads" not in item:
        return not name.startswith("_") and bool(item["summary"])
    return any(everyday_kind(x) not in EVERYDAY for x in item["overloads"])


def title_of(name: str) -> str:
    """Gives a heading; underscores at both ends would make it bold."""
    return name.replace("_", "\\_")


def signature(overload: dict) -> str:
    """Gives the declaration, in several lines if it is long."""
    text = overload["signature"]
    for argument in overload["args"]:
        default = argument.get("default", "")
        if len(default) > DEFAULT_CHARACTERS_MAX:
            text = text.replace(f" = {default}", " = …")
    if overload["raises"]:
        head, arrow, result = text.rpartition(") -> ")
        text = f"{head}) raises -> {result}" if arrow else f"{text} raises"
    if overload.get("isStatic") and overload["name"] != "__init__":
        text = f"@staticmethod\n{text}"
    first, _, last = text.rpartition("\n")
    if len(last) <= LINE_CHARACTERS_MAX:
        return text
    lines = broken(last)
    return "\n".join([first, lines]) if first else lines


def broken(declaration: str) -> str:
    """Puts each argument of a declaration on a line of its own."""
    depth, start = 0, None
    for i, letter in enumerate(declaration):
        if letter == "(" and depth == 0:
            start = i
            break
        depth += {"[": 1, "]": -1}.get(letter, 0)
    if start is None:
        return declaration
    parts, depth, begin, end = [], 0, start + 1, len(declaration)
    for i in range(start, len(declaration)):
        letter = declaration[i]
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(
            letter, 0
        )
        if depth == 0:
            end = i
            break
        if letter == "," and depth == 1:
            parts.append(declaration[begin:i].strip())
            begin = i + 1
    parts.append(declaration[begin:end].strip())
    lines = "".join(f"    {part},\n" for part in parts if part)
    return f"{declaration[: start + 1]}\n{lines}{declaration[end:]}"


def constant_text(item: dict) -> str:
    """Gives the declaration of a constant, without a long value."""
    value = item["value"]
    if value and len(value) <= 2 * DEFAULT_CHARACTERS_MAX:
        return f"comptime {item['name']} = {value}"
    return f"comptime {item['name']}"


def table(title: str, rows: list[tuple[str, str, str]]) -> str:
    """Makes a section with a table of links."""
    if not rows:
        return ""
    lines = [
        f"| [`{name}`]({link}) | {in_cell(summary)} |"
        for name, link, summary in rows
    ]
    return f"## {title}\n\n| name | |\n|---|---|\n" + "\n".join(lines)


def code(text: str) -> str:
    """Makes a block of Mojo."""
    return f"```mojo\n{text}\n```"


def in_cell(text: str) -> str:
    """Makes a text fit a cell of a table."""
    return one_line(text).replace("|", "\\|")


def one_line(text: str) -> str:
    """Joins the lines of a text."""
    return " ".join(text.split())


def joined(parts: list[str]) -> str:
    """Joins the parts of a page."""
    return "\n\n".join(x.strip("\n") for x in parts if x.strip()) + "\n"
