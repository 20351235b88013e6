"""Follows the imports between the rooms of each package.

The rooms of a package are its modules and its folders; a folder counts as
one. An arrow is a room that imports another. A room without arrows stands on
the lowest floor, every other above all rooms that it imports; rooms that
import one another in a circle share a floor.

docs/architecture.md may declare the order of a package's rooms:

    | room of `flare/http/server` | floor | holds |
    |---|---|---|
    | `driver` | 2 | … |
    | `records`, `listening` | 1 | … |

A room then imports only rooms of its own or a lower floor. Each folder needs
a row; a module may have one.

Every import in flare/ has the form `from module import names`, and takes no
folder: other forms would hide which module it reaches.

docs/architecture.md may also declare who uses a member of a package's types:

    | member of `flare/http/server` | used in |
    |---|---|
    | `h1` | `receiving`, `transport/deadline` |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from tidy_ratchet import Finding
from tidy_source import Source, blank

DOCUMENT = "docs/architecture.md"
IMPORT = re.compile(
    r"^ *from +(?P<source>\.*[\w.]*) +import +"
    r"(?:\((?P<many>[^)]*)\)|(?P<few>[^\n]*))",
    re.MULTILINE,
)
ORDER = re.compile(
    r"^\| room of `(?P<package>flare/[\w/]+)` \|.*\n\|[-| :]+\n"
    r"(?P<rows>(?:\|.*\n?)+)",
    re.MULTILINE,
)
REACH = re.compile(
    r"^\| member of `(?P<package>flare/[\w/]+)` \|.*\n\|[-| :]+\n"
    r"(?P<rows>(?:\|.*\n?)+)",
    re.MULTILINE,
)
REACH_ROW = re.compile(r"^\| `(\w+)` \|(.*)\|", re.MULTILINE)
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| (\d+) \|", re.MULTILINE)

Arrows = dict[str, dict[str, tuple[str, int]]]


@dataclass
class Package:
    """Holds the rooms of one package, and what each room imports first from
    which module and line.
    """

    path: str
    rooms: set[str] = field(default_factory=set)
    arrows: Arrows = field(default_factory=dict)

    def circles(self) -> list[list[str]]:
        """Returns the groups of rooms that reach one another."""
        return [group for group in components(self) if len(group) > 1]

    def floors(self) -> int:
        """Returns how many floors the rooms need."""
        height: dict[str, int] = {}
        top = 0
        # Components come callees first.
        for group in components(self):
            below = [
                height[target]
                for room in group
                for target in self.arrows.get(room, ())
                if target not in group
            ]
            level = max(below, default=0) + 1
            height.update(dict.fromkeys(group, level))
            top = max(top, level)
        return top

    def arrow_count(self) -> int:
        """Returns how many ordered pairs of rooms import."""
        return sum(len(targets) for targets in self.arrows.values())


def components(package: Package) -> list[list[str]]:
    """Divides the rooms into circles, each after those that it imports."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(room: str) -> None:
        order[room] = low[room] = len(order)
        stack.append(room)
        for target in sorted(package.arrows.get(room, ())):
            if target not in order:
                visit(target)
                low[room] = min(low[room], low[target])
            elif target in stack:
                low[room] = min(low[room], order[target])
        if low[room] == order[room]:
            group = []
            while not group or group[-1] != room:
                group.append(stack.pop())
            groups.append(sorted(group))

    for room in sorted(package.rooms):
        if room not in order:
            visit(room)
    return groups


class Tree:
    """Finds the module that defines an imported name."""

    def __init__(self, sources: list[Source]):
        self.sources = {
            source.path.removesuffix(".mojo"): source for source in sources
        }
        self._roots = {source.path.split("/")[0] for source in sources}
        self._folders = {
            parent.as_posix()
            for source in sources
            for parent in Path(source.path).parents
        }

    def imports(self, module: str) -> Iterator[tuple[str, int]]:
        """Lists the modules that a module imports, with the line."""
        source = self.sources[module]
        for match in IMPORT.finditer(source.code):
            base = self._base(module, match["source"])
            if base is None:
                continue
            line = source.line_at(match.start("source"))
            for item in (match["many"] or match["few"]).split(","):
                if names := item.split():
                    if target := self.find(base, names[0]):
                        yield target, line

    def opaque_imports(self, module: str) -> Iterator[tuple[str, int]]:
        """Lists the imports of a module whose modules cannot be told, with the
        line: those that are not `from … import …`, and imported folders.
        """
        source = self.sources[module]
        rest = IMPORT.sub(lambda match: blank(match.group(0)), source.code)
        for match in re.finditer(r"\bimport\b", rest):
            line = source.line_at(match.start())
            yield source.lines[line - 1].strip(), line
        for match in IMPORT.finditer(source.code):
            base = self._base(module, match["source"])
            if base is None or base in self.sources:
                continue
            for item in (match["many"] or match["few"]).split(","):
                name = (item.split() or [""])[0]
                if name in ("*", "\\") or f"{base}/{name}" in self._folders:
                    what = f"from {match['source']} import {name}"
                    yield what, source.line_at(match.start("source"))

    def _base(self, module: str, name: str) -> str | None:
        if not name.startswith("."):
            is_ours = name.split(".")[0] in self._roots
            return name.replace(".", "/") if is_ours else None
        climb = len(name) - len(name.lstrip("."))
        parts = module.split("/")[:-climb]
        return "/".join(parts + [p for p in name.split(".") if p])

    def find(self, base: str, name: str, depth: int = 0) -> str | None:
        """Returns the module of `from base import name`, through the
        `__init__` of packages.
        """
        if base in self.sources:
            return base
        if f"{base}/{name}" in self.sources:
            return f"{base}/{name}"
        front = f"{base}/__init__"
        if front not in self.sources or depth > 9:
            return None
        for match in IMPORT.finditer(self.sources[front].code):
            for item in (match["many"] or match["few"]).split(","):
                names = item.split()
                if names and names[-1] == name:
                    inner = self._base(front, match["source"])
                    if inner is not None:
                        return self.find(inner, names[0], depth + 1)
        return None


Import = tuple[str, str, int]


def all_imports(tree: Tree) -> list[Import]:
    """Lists importing module, imported module and line, within flare/."""
    return [
        (module, target, line)
        for module in sorted(tree.sources)
        if not module.endswith("/__init__")
        for target, line in tree.imports(module)
        if target != module and not target.endswith("/__init__")
    ]


def package_at(
    path: str, modules: list[str], found: list[Import], whole: bool = False
) -> Package:
    """Returns a folder's rooms; each module is one if `whole`."""

    def room_of(module: str) -> str:
        inner = module.removeprefix(path + "/")
        return inner if whole else inner.split("/")[0]

    package = Package(path)
    for module in modules:
        if module.startswith(path + "/") and not module.endswith("/__init__"):
            package.rooms.add(room_of(module))
    for module, target, line in found:
        if module.startswith(path + "/") and target.startswith(path + "/"):
            source, sink = room_of(module), room_of(target)
            if source != sink:
                arrows = package.arrows.setdefault(source, {})
                arrows.setdefault(sink, (module + ".mojo", line))
    return package


def packages(sources: list[Source]) -> list[Package]:
    """Lists the folders of flare/ with their rooms and arrows."""
    tree = Tree(sources)
    found = all_imports(tree)
    modules = sorted(tree.sources)
    paths = {
        module.rsplit("/", depth)[0]
        for module in modules
        for depth in range(1, module.count("/") + 1)
    }
    listed = [package_at(path, modules, found) for path in sorted(paths)]
    return [package for package in listed if package.rooms]


def read_orders(document: str) -> dict[str, dict[str, int]]:
    """Reads the floor of each room of each package that declares them."""
    orders: dict[str, dict[str, int]] = {}
    for match in ORDER.finditer(document):
        floors = orders.setdefault(match["package"], {})
        for names, floor in ROW.findall(match["rows"]):
            for name in re.findall(r"`(\w+)`", names):
                floors[name] = int(floor)
    return orders


def check_rooms(root: Path, sources: list[Source]) -> Iterator[Finding]:
    """Finds circles, imports that hide arrows, and arrows that run up against
    a declared order.
    """
    document = root / DOCUMENT
    orders = read_orders(document.read_text() if document.exists() else "")
    found = {package.path: package for package in packages(sources)}
    for path, package in found.items():
        # The levels of docs/architecture.md divide flare/ itself.
        if path != "flare" and (circles := package.circles()):
            rooms = [room for circle in circles for room in circle]
            what = f"{path}: {', '.join(rooms)} import one another"
            name = path.removeprefix("flare/")
            yield Finding(
                f"{path}/__init__.mojo", 1, "circle", what, name, len(rooms)
            )
    tree = Tree(sources)
    for module in sorted(tree.sources):
        for what, line in tree.opaque_imports(module):
            what = f"{what} hides which module is imported"
            yield Finding(module + ".mojo", line, "import", what)
    for path, floors in orders.items():
        if path not in found:
            yield Finding(DOCUMENT, 1, "rooms", f"{path} has no modules")
            continue
        yield from check_order(found[path], floors, sources)


def check_reach(root: Path, sources: list[Source]) -> Iterator[Finding]:
    """Finds modules that use a member outside of its declared places."""
    document = root / DOCUMENT
    text = document.read_text() if document.exists() else ""
    for match in REACH.finditer(text):
        package = match["package"]
        for member, cells in REACH_ROW.findall(match["rows"]):
            use = re.compile(rf"\.{member}\b")
            places = re.findall(r"`([\w/]+)`", cells)
            unused = set(places)
            for source in sources:
                if not source.path.startswith(package + "/"):
                    continue
                module = source.path[len(package) + 1 :].removesuffix(".mojo")
                lines = [
                    number
                    for number, line in enumerate(source.code_lines, 1)
                    if use.search(line) and not line.startswith("from ")
                ]
                allowed = [
                    place
                    for place in places
                    if module == place or module.startswith(place + "/")
                ]
                if lines and not allowed:
                    what = f"{package}/{module} uses the member {member}"
                    yield Finding(source.path, lines[0], "reach", what)
                if lines:
                    unused.difference_update(allowed)
            for place in sorted(unused):
                what = f"{package}/{place} does not use the member {member}"
                yield Finding(DOCUMENT, 1, "reach", what)


def check_order(
    package: Package, floors: dict[str, int], sources: list[Source]
) -> Iterator[Finding]:
    """Checks one package against the floors that it declares."""
    for room in sorted(floors.keys() - package.rooms):
        what = f"{package.path} has no room {room}"
        yield Finding(DOCUMENT, 1, "rooms", what)
    folders = {
        source.path.removeprefix(package.path + "/").split("/")[0]
        for source in sources
        if source.path.startswith(package.path + "/")
    }
    for room in sorted(folders & package.rooms - floors.keys()):
        what = f"{package.path}/{room} is not in its table"
        yield Finding(DOCUMENT, 1, "rooms", what)
    for room, targets in sorted(package.arrows.items()):
        for target, (module, line) in sorted(targets.items()):
            if floors.get(target, 0) > floors.get(room, 99):
                what = (
                    f"{room}, floor {floors[room]}, imports {target},"
                    f" floor {floors[target]}"
                )
                yield Finding(module, line, "rooms", what)


def floors_report(sources: list[Source]) -> list[str]:
    """Returns a table of rooms, floors, arrows and rooms in circles. A package
    of folders has a second row, in which each of its modules is a room.
    """
    tree = Tree(sources)
    found = all_imports(tree)
    modules = sorted(tree.sources)
    lines = [f"{'package':32} rooms floors arrows in circles"]

    def add(title: str, package: Package) -> None:
        circled = sum(len(circle) for circle in package.circles())
        lines.append(
            f"{title:32} {len(package.rooms):5} {package.floors():6}"
            f" {package.arrow_count():6} {circled:10}"
        )

    for package in packages(sources):
        if len(package.rooms) > 1:
            add(package.path, package)
            flat = package_at(package.path, modules, found, whole=True)
            if package.path != "flare" and len(flat.rooms) > len(package.rooms):
                add("  its modules", flat)
    return lines
