"""Tests the arrows between the rooms of a package (tools/tidy_rooms.py)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tidy  # noqa: E402
from test_tidy import TreeTest  # noqa: E402
from tidy_rooms import floors_report, packages  # noqa: E402

ORDER = """
| room of `flare/http` | floor | holds |
|---|---|---|
| `driver` | 3 | the loop |
| `receiving`, `sending` | 2 | both directions |
| `config` | 1 | settings |
"""


class RoomTreeTest(TreeTest):
    def module(self, path, *imports):
        names = "".join(f"from {i} import X\n" for i in imports)
        uses = "".join(f"comptime A{i} = X\n" for i in range(len(imports)))
        self.write(f"flare/{path}.mojo", '"""Parses it."""\n' + names + uses)

    def package(self, path):
        library = tidy.Tree(self.root).library
        return next(p for p in packages(library) if p.path == path)


class RoomTest(RoomTreeTest):
    def test_floors_and_arrows_are_counted(self):
        self.module("net/a", "flare.net.b", ".c")
        self.module("net/b", ".c")
        self.module("net/c")
        self.module("net/d")
        package = self.package("flare/net")
        self.assertEqual(package.floors(), 3)
        self.assertEqual(package.arrow_count(), 3)
        self.assertEqual(package.circles(), [])
        self.assert_rules()
        report = floors_report(tidy.Tree(self.root).library)
        self.assertIn("flare/net 4 3 3 0", [" ".join(r.split()) for r in report])

    def test_folder_is_one_room_and_its_modules_are_listed_apart(self):
        self.module("http/server/a", "..in.x", ".b")
        self.module("http/server/b", "..in.x")
        self.module("http/in/x")
        package = self.package("flare/http")
        self.assertEqual(package.rooms, {"server", "in"})
        self.assertEqual(package.arrow_count(), 1)
        rows = [
            row.split()
            for row in floors_report(tidy.Tree(self.root).library)
        ]
        self.assertIn(["its", "modules", "3", "3", "3", "0"], rows)

    def test_name_of_a_package_is_followed_to_its_module(self):
        self.write(
            "flare/net/__init__.mojo",
            '"""Parses it."""\nfrom .b import (\n    Y,\n    Z as X,\n)\n',
        )
        self.module("net/a", "flare.net")
        self.module("net/b")
        package = self.package("flare/net")
        self.assertEqual(list(package.arrows["a"]), ["b"])

    def test_circle_fails_and_a_ratchet_allows_its_size(self):
        self.module("net/a", ".b")
        self.module("net/b", ".c")
        self.module("net/c", ".a")
        self.assert_rules("circle")
        self.write("tools/tidy_ratchet.txt", "circle net net 3\n")
        self.assert_rules()
        self.write("tools/tidy_ratchet.txt", "circle net net 2\n")
        self.assert_rules("circle")
        self.write("tools/tidy_ratchet.txt", "circle net net 4\n")
        self.assert_rules("ratchet")

    def test_circle_through_folders_fails(self):
        self.module("http/one/a", "..two.b")
        self.module("http/two/b", "flare.http.one.c")
        self.module("http/one/c")
        self.assert_rules("circle")

    def test_test_code_has_no_rooms(self):
        self.write("tests/net/a.mojo", "from .b import X\n")
        self.write("tests/net/b.mojo", "from .a import X\n")
        self.assert_rules()


REACH = """
| member of `flare/http` | used in |
|---|---|
| `h1` | `receiving`, `state` |
"""


class ReachTest(RoomTreeTest):
    def setUp(self):
        super().setUp()
        document = self.root / "docs/architecture.md"
        document.write_text(document.read_text() + REACH)
        self.use("receiving/input")
        self.use("state")

    def use(self, path, line="comptime A = X.h1"):
        text = '"""Parses it."""\nfrom flare.h1.b import X\n\n' + line
        self.write(f"flare/http/{path}.mojo", text + "\n")

    def test_declared_places_may_use_a_member(self):
        self.use("other", "comptime A = X.h10")
        self.assert_rules()

    def test_use_elsewhere_fails_in_its_line(self):
        self.use("receivingtoo/other")
        (found,) = tidy.tidy(self.root)
        self.assertEqual(found.rule, "reach")
        self.assertEqual(found.path, "flare/http/receivingtoo/other.mojo")
        self.assertEqual(found.line, 4)

    def test_place_that_uses_it_no_more_fails(self):
        self.use("state", "comptime A = X")
        self.assert_rules("reach")


class OrderTest(RoomTreeTest):
    def setUp(self):
        super().setUp()
        document = self.root / "docs/architecture.md"
        document.write_text(document.read_text() + ORDER)
        self.module("http/driver/loop", "..receiving.input", "..config")
        self.module("http/receiving/input", "..sending.output")
        self.module("http/sending/output", "flare.http.config")
        self.module("http/config")

    def test_arrows_downwards_and_on_one_floor_pass(self):
        self.assert_rules()

    def test_arrow_upwards_fails_in_its_line(self):
        self.module("http/sending/output", "..config", "..driver.loop")
        found = tidy.tidy(self.root)
        self.assertEqual([f.rule for f in found], ["circle", "rooms"])
        self.assertEqual(found[1].path, "flare/http/sending/output.mojo")
        self.assertEqual(found[1].line, 3)

    def test_folder_without_a_row_fails_and_a_module_passes(self):
        self.module("http/version")
        self.assert_rules()
        self.module("http/worker/a")
        self.assert_rules("rooms")

    def test_row_without_a_room_fails(self):
        (self.root / "flare/http/config.mojo").unlink()
        self.module("http/driver/loop")
        self.module("http/sending/output")
        self.assert_rules("rooms")

    def test_import_that_hides_its_module_fails_in_its_line(self):
        rows = [
            "import flare.http.driver.loop",
            "def f():\n    import flare.http.driver.loop as loop",
            "import std.os, flare.http.driver",
            "import flare.http",
            "from .. import driver",
            "from .. import config, driver as due",
            "from .. import (\n    config,\n    driver,\n)",
            "from flare import http",
            "from ..driver import *",
            "from ..driver import \\\n    X",
            "pass; from ..driver.loop import X",
        ]
        for row in rows:
            with self.subTest(row):
                text = f'"""Parses it."""\n{row}\n'
                self.write("flare/http/sending/output.mojo", text)
                found = [
                    f for f in tidy.tidy(self.root) if f.rule == "import"
                ]
                line = 3 if row.startswith("def") else 2
                self.assertEqual([f.line for f in found], [line])

    def test_imported_module_is_an_arrow(self):
        self.write("flare/http/driver/__init__.mojo", '"""Parses it."""\n')
        text = '"""Parses it."""\nfrom ..driver import loop as due\n'
        self.write("flare/http/sending/output.mojo", text)
        self.assert_rules("circle", "rooms")
