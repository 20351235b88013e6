"""Tests that the documents show programs that compile and link to files."""

import re
import tempfile
import unittest
from pathlib import Path

from run_tests import MOJO, ROOT, run
from tidy_shapes import structs
from tidy_source import Source

BLOCK = re.compile(r"^```mojo\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# In code, `name[T](argument)` is no link.
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
GUIDE = ROOT / "docs" / "guide"
# What a source defines: types, functions, fields, arguments and members.
KNOWN = re.compile(
    r"\b(?:struct|trait|def|comptime|var|out|mut|owned) +(\w+)"
    r"|^ +(\w+): |\[\"(\w+)\"\]",
    re.MULTILINE,
)
NAME = re.compile(r"[A-Za-z_]\w*")
# Values that the programs of the guide call so.
EXAMPLES = {
    "T", "a", "body", "client", "f", "handle", "id", "name", "q", "req",
    "response", "router", "status", "url", "value", "raises", "def",
    "Bool", "Int", "String", "SIGTERM",
}
PAGE_LINES_MAX = 249
PROGRAM_LINE_MAX = 8
MEMBER = re.compile(
    r"^    (?:(?:var|comptime) |(?:async )?def )(\w+)", re.MULTILINE
)
BEFORE_A_MEMBER = re.compile(r"`([A-Z]\w+)\.(\w+)")


def members():
    """Gives the names of the members of each type of the library."""
    found = {}
    for file in (ROOT / "flare").rglob("*.mojo"):
        source = Source(file.name, file.read_text())
        for struct in structs(source):
            names = MEMBER.findall(source.code, struct.start, struct.end)
            found.setdefault(struct.name, set()).update(names)
    return found


def documents():
    """Lists every document of the tree."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def anchors(document):
    """Lists what a link can name after the number sign, as GitHub forms it."""
    headings = HEADING.findall(FENCED.sub("", document.read_text()))
    return [
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    ]


class DocumentTest(unittest.TestCase):
    def test_programs_compile_as_they_stand(self):
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder) / "shown"
            package.mkdir()
            (package / "__init__.mojo").write_text('"""Shown."""\n')
            count = 0
            for document in documents():
                text = document.read_text()
                for match in BLOCK.finditer(text):
                    line = text.count("\n", 0, match.start()) + 1
                    path = document.relative_to(ROOT).with_suffix("")
                    name = re.sub(r"\W", "_", str(path).lower())
                    module = package / f"{name}_line_{line}.mojo"
                    # A package may not hold a `main`.
                    program = match.group(1).replace("def main(", "def run(")
                    module.write_text(program)
                    count += 1
            command = [MOJO, "precompile", "-I", ROOT, package]
            command += ["-o", Path(folder) / "shown.mojoc"]
            finished = run([str(part) for part in command], 300)
        self.assertGreater(count, 0)
        self.assertEqual(finished.code, 0, finished.output)

    def test_security_names_every_field_that_a_reverse_proxy_drops(self):
        source = (ROOT / "flare" / "http" / "field_guard.mojo").read_text()
        listed = source.partition("FIELDS_DROPPED:")[2].partition("\n]\n")[0]
        names = re.findall(r'^    "(.+)",$', listed, re.MULTILINE)
        self.assertGreater(len(names), 40)
        text = (ROOT / "docs" / "security.md").read_text()
        self.assertEqual([x for x in names if f"`{x}`" not in text], [])

    def test_links_lead_to_files_and_to_headings(self):
        for document in documents():
            text = CODE.sub("", document.read_text())
            for target, anchor in LINK.findall(text):
                with self.subTest(document=document.name, target=target):
                    file = document.parent / target if target else document
                    self.assertTrue(file.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(file))

    def test_members_that_documents_name_are_there(self):
        known = members()
        count = 0
        for document in documents():
            if document.name == "CHANGELOG.md":
                continue
            for owner, name in BEFORE_A_MEMBER.findall(document.read_text()):
                # Other members of such a type are not declared.
                if "__getattr__" not in known.get(owner, {"__getattr__"}):
                    count += 1
                    with self.subTest(document.name, member=f"{owner}.{name}"):
                        self.assertIn(name, known[owner])
        self.assertGreater(count, 80)

    def test_tables_for_newcomers_name_what_there_is(self):
        sources = [*(ROOT / "flare").rglob("*.mojo")]
        known = set()
        for source in sources:
            for groups in KNOWN.findall(source.read_text()):
                known.update(groups)
        for name in ("server", "client"):
            text = (GUIDE / f"{name}.md").read_text()
            table = text.partition("## Coming from")[2].partition("\nNext:")[0]
            rows = [row for row in table.splitlines() if row.startswith("| ")]
            self.assertGreater(len(rows), 15)
            for row in rows[1:]:
                ours = row.rstrip("| ").rpartition(" | ")[2]
                for span in re.findall(r"`([^`]+)`", ours):
                    with self.subTest(page=name, span=span):
                        # The patterns of routes are no names.
                        names = NAME.findall(re.sub(r"[/:*{][/\w}]*", "", span))
                        wanted = set(names) - EXAMPLES
                        self.assertEqual(wanted - known, set())

    def test_the_index_of_the_guide_lists_each_page_once(self):
        index = (GUIDE / "README.md").read_text()
        listed = re.findall(r"^\d+\. .*?\[[^]]+\]\(([^)]+)\)", index, re.M)
        pages = [x.name for x in GUIDE.glob("*.md") if x.name != "README.md"]
        self.assertEqual(sorted(listed), sorted(pages))
        self.assertGreater(len(pages), 30)

    def test_a_page_of_the_guide_is_short_and_begins_with_a_program(self):
        for page in GUIDE.glob("*.md"):
            with self.subTest(page=page.name):
                lines = page.read_text().splitlines()
                self.assertLessEqual(len(lines), PAGE_LINES_MAX)
                if page.name != "README.md":
                    blocks = [x for x in lines if x.startswith("```")]
                    self.assertIn(blocks[0], ("```mojo", "```sh"))
                    start = lines.index(blocks[0])
                    self.assertLess(start, PROGRAM_LINE_MAX)
                    self.assertNotIn("## ", "\n".join(lines[1:start]))
