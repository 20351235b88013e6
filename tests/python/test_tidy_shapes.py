"""Tests the bounds of structs and functions, the clashes of names, and the
ratchet that allows known ones (tools/tidy_shapes.py, tools/tidy_ratchet.py).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tidy  # noqa: E402
from test_tidy import TreeTest  # noqa: E402
from tidy_ratchet import PATH  # noqa: E402


def struct(name, count):
    fields = "".join(f"    var f{i}: Int\n" for i in range(count))
    return f"\nstruct {name}(Movable):\n{fields}"


class FieldTest(TreeTest):
    def test_struct_of_12_fields_passes_and_13_fails(self):
        self.flare(struct("A", 12))
        self.assert_rules()
        self.flare(struct("A", 13))
        self.assert_rules("struct-fields")

    def test_settings_may_have_more(self):
        for name in ("ServerConfig", "H1Limits", "Timeouts"):
            self.flare(struct(name, 20))
            self.assert_rules()

    def test_locals_and_the_next_struct_are_no_fields(self):
        method = "\n    def f(self):\n" + "        var a: Int = 1\n" * 9
        self.flare(struct("A", 7) + method + struct("B", 7))
        self.assert_rules()

    def test_test_code_is_not_bounded(self):
        self.write("tests/net/a.mojo", struct("A", 13))
        self.assert_rules()


class ParameterTest(TreeTest):
    def test_five_parameters_pass_and_six_fail(self):
        self.flare("def f(a: Int, b: Int, c: Int, d: Int, e: Int):\n    g()\n")
        self.assert_rules()
        self.flare("def f(a: Int, b: C[D, E], c: A, d: A, e: A, g: A):\n    g()")
        self.assert_rules("parameters")

    def test_brackets_hold_no_parameters_of_the_outside(self):
        self.flare("def f[a: A, b: A, c: A, d: A](e: B[C, D, E], f: Int):\n  g()")
        self.assert_rules()

    def test_receiver_and_markers_do_not_count(self):
        rows = ("self", "mut self", "out self", "var self", "ref[o] self")
        for row in rows:
            with self.subTest(row):
                head = f"({row}, a: A, b: A, /, c: A, *, d: A, e: A)"
                self.flare(f"struct S:\n    def f{head}:\n        g()\n")
                self.assert_rules()

    def test_constructors_of_settings_may_take_more(self):
        head = "(out self, a: A, b: A, c: A, d: A, e: A, f: A)"
        text = "struct {}:\n    def {}" + head + ":\n        g()\n"
        self.flare(text.format("ServerConfig", "__init__"))
        self.assert_rules()
        self.flare(text.format("Server", "__init__"))
        self.assert_rules("parameters")
        self.flare(text.format("ServerConfig", "load"))
        self.assert_rules("parameters")


class SharedNameTest(TreeTest):
    def test_module_name_twice_in_a_package_fails(self):
        self.flare("", path="flare/http/stream.mojo")
        self.flare("", path="flare/tcp/stream.mojo")
        self.assert_rules()
        self.flare("", path="flare/http/server/stream.mojo")
        self.assert_rules("module-name")

    def test_init_may_be_in_each_folder(self):
        self.flare("", path="flare/http/__init__.mojo")
        self.flare("", path="flare/http/server/__init__.mojo")
        self.assert_rules()

    def test_type_name_twice_fails_unless_it_is_private(self):
        self.flare("struct Stage:\n    pass\n\nstruct _A:\n    pass\n")
        text = "trait Stage:\n    pass\n\nstruct _A:\n    pass\n"
        self.flare(text, path="flare/tcp/b.mojo")
        self.assert_rules("type-name")
        self.write(PATH, "type-name flare Stage 2\n")
        self.assert_rules()

    def test_alias_is_a_type_and_a_constant_is_none(self):
        self.flare("struct Router:\n    pass\n\ncomptime OCTETS_MAX = 7\n")
        for alias in ("Router = Int", "Router[T: A] = List[T]", "Router: A = B"):
            with self.subTest(alias):
                text = f"comptime {alias}\ncomptime OCTETS_MAX = 8\n"
                self.flare(text, path="flare/tcp/b.mojo")
                self.assert_rules("type-name")
        self.flare("comptime _Router = Int\n", path="flare/tcp/b.mojo")
        self.assert_rules()


class RatchetTest(TreeTest):
    def test_two_structs_of_one_name_have_two_numbers(self):
        self.flare(struct("_A", 20))
        self.flare(struct("_A", 15), path="flare/net/b.mojo")
        self.write(PATH, "struct-fields net _A 20 15\n")
        self.assert_rules()
        self.write(PATH, "struct-fields net _A 19 15\n")
        self.assert_rules("struct-fields")
        self.write(PATH, "struct-fields net _A 20\n")
        self.assert_rules("struct-fields")
        self.write(PATH, "struct-fields net _A 20 16\n")
        self.assert_rules("ratchet")

    def test_module_may_move_within_its_package_only(self):
        self.write(PATH, "struct-fields http A 20\n")
        self.flare(struct("A", 20), path="flare/http/a.mojo")
        self.assert_rules()
        (self.root / "flare/http/a.mojo").unlink()
        self.flare(struct("A", 20), path="flare/http/server/state.mojo")
        self.assert_rules()
        (self.root / "flare/http/server/state.mojo").unlink()
        self.flare(struct("A", 20), path="flare/net/a.mojo")
        self.assert_rules("ratchet", "struct-fields")

    def test_settling_lowers_and_drops_but_never_raises(self):
        self.flare(struct("A", 15) + struct("B", 30))
        rows = ["# why", "struct-fields net A 20", "struct-fields net B 25",
                "struct-fields net C 14"]
        self.write(PATH, "\n".join(rows) + "\n")
        self.assert_rules("ratchet", "ratchet", "struct-fields")
        tidy.Tree(self.root).settle()
        self.assertEqual(
            (self.root / PATH).read_text(),
            "# why\nstruct-fields net A 15\nstruct-fields net B 25\n",
        )
        self.assert_rules("struct-fields")
