"""Compares the pages of the library with the folders that they are made of."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import inline_page  # noqa: E402

FOLDERS = (ROOT / "flare" / "openapi" / "page",)


class Pages(unittest.TestCase):
    def test_each_module_is_that_of_its_folder(self):
        for folder in FOLDERS:
            with self.subTest(folder):
                module = folder.parent / "page_text.mojo"
                self.assertEqual(
                    module.read_text(),
                    inline_page.module_of(folder),
                    f"run tools/inline_page.py {folder} {module}",
                )


class Tool(unittest.TestCase):
    def made(self, page, style="", script=""):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "page.html").write_text(page)
            (folder / "page.css").write_text(style)
            (folder / "page.js").write_text(script)
            return inline_page.module_of(folder)

    def test_it_leaves_out_what_means_nothing(self):
        page = "<style>/* page.css */</style><script>/* page.js */</script>"
        text = self.made(
            page,
            "/* Nothing. */\na :hover {\n  color: red;\n}\n",
            "// Nothing.\nif (a) {\n  b = '// c';\n}\n",
        )
        self.assertIn("<style>a :hover{color:red;}</style>", text)
        self.assertIn("<script>if (a) {\nb = '// c';\n}</script>", text)
        # Of the inside of the element, to the octet.
        self.assertIn(inline_page.hash_of("a :hover{color:red;}"), text)

    def test_backslashes_and_quotes_stay(self):
        page = "<style>/* page.css */</style><script>/* page.js */</script>"
        text = self.made(page, script='a = "\\n" + """"b";')
        self.assertIn('a = "\\\\n" + \\"\\"\\""b";', text)

    def test_a_page_that_is_too_long_is_refused(self):
        page = "<style>/* page.css */</style><script>/* page.js */</script>"
        with self.assertRaises(SystemExit):
            self.made(page, script="x" * inline_page.OCTETS_MAX)

    def test_a_page_without_a_place_for_its_script_is_refused(self):
        with self.assertRaises(SystemExit):
            self.made("<style>/* page.css */</style>")


if __name__ == "__main__":
    unittest.main()
