"""Tests the counts of sentences by shape (tools/tidy_words.py)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tidy  # noqa: E402
import tidy_words  # noqa: E402
from test_tidy import TreeTest  # noqa: E402
from tidy_prose import docstrings, paragraphs, sentences  # noqa: E402
from tidy_source import Source  # noqa: E402


class SentenceTest(TreeTest):
    def assert_kinds(self, text, *expected):
        found = sorted(set(tidy_words.sentence_kinds(text)))
        self.assertEqual(found, sorted(expected), text)

    def test_subjects_without_a_noun_count(self):
        for text in (
            "Who waits is answered.",
            "Whoever reads it closes it.",
            "The last one, nobody else, closes it.",
            "Nothing means no limit.",
            "What was read is dropped.",
            "The time of who waits.",
            "It stays open if nothing was sent.",
            "It is read, what follows is dropped.",
        ):
            self.assert_kinds(text, "subject")

    def test_nouns_and_questions_pass(self):
        for text in (
            "The client that waits is answered.",
            "A peer who waits is answered.",
            "It returns nothing.",
            "What happens if the disk is full?",
            "The server decides what to send.",
        ):
            self.assert_kinds(text)

    def test_where_for_a_condition_counts(self):
        for text in (
            "Where the list is empty, the call returns.",
            "It is sent only where both agree.",
            "Empty where there is none.",
            "The octets stay, where it has no owner.",
        ):
            self.assert_kinds(text, "where")

    def test_where_for_a_place_passes(self):
        for text in (
            "The offset where the line ends.",
            "Where the line ends.",
            "A folder where the kernel puts sockets.",
        ):
            self.assert_kinds(text)

    def test_behind_for_an_order_counts(self):
        self.assert_kinds("The octets behind the head.", "behind")
        self.assert_kinds("Behind an upgrade it parks.", "behind")

    def test_behind_for_a_place_passes(self):
        for text in (
            "A server behind a proxy sees one client.",
            "The state behind the handle.",
            "A client behind a reverse proxy.",
            "A crash leaves the file behind.",
        ):
            self.assert_kinds(text)

    def test_inverted_order_counts_and_a_question_passes(self):
        self.assert_kinds("Is the list empty, it returns.", "inverted")
        self.assert_kinds("Should it fail, try again.", "inverted")
        self.assert_kinds("Every address, be it old or new.", "inverted")
        self.assert_kinds("Is the list empty, or full?")

    def test_what_for_a_noun_counts_and_what_to_do_passes(self):
        for text in (
            "Frees what the call returned.",
            "It drops what was read.",
            "The limit of what waits to be sent.",
            "A path that those who may write to it can use.",
        ):
            self.assert_kinds(text, "what")
        self.assert_kinds("What did the peer send, and why?")
        self.assert_kinds("The caller decides what to send.")

    def test_idioms_for_a_term_count_and_the_term_passes(self):
        for text in (
            "The name; upper and lower case differ.",
            "Names compare without regard to case.",
            "Unless caught, it is a 500.",
            "Reading goes on.",
            "The caller waits for ever.",
            "The descriptor; -1 if it is.",
            "The descriptor, which stays the socket's.",
            "Half of the head has come.",
        ):
            self.assert_kinds(text, "idiom")
        for text in (
            "The name; case-sensitive.",
            "Reading continues.",
            "The descriptor, which the socket still owns.",
            "Half of the head has arrived.",
        ):
            self.assert_kinds(text)

    def test_sentence_of_25_words_passes_and_26_counts(self):
        self.assert_kinds("Word " * 24 + "end.")
        self.assert_kinds("Word " * 25 + "end.", "long")


class BeginningTest(TreeTest):
    def assert_kinds(self, text, *expected):
        self.write("flare/net/a.mojo", text)
        found = [hit.kind for hit in tidy.Tree(self.root).hits]
        self.assertEqual(found, list(expected), text)

    def function(self, head, first, body="return self.a"):
        return f'struct S:\n    def {head}:\n        """{first}"""\n        {body}\n'

    def test_weak_verbs_count(self):
        for verb in ("Tells", "Names", "Lets", "Gives", "Says", "Is"):
            self.assert_kinds(f'"""{verb} the rules."""\n', "first-line")
        self.assert_kinds('"""Reads the rules."""\n')

    def test_questions_return_whether(self):
        row = "is_open(self) -> Bool"
        self.assert_kinds(self.function(row, "True if open."), "boolean")
        self.assert_kinds(self.function(row, "Tells whether open."), "boolean")
        self.assert_kinds(self.function(row, "Returns whether it is open."))
        self.assert_kinds(
            self.function("put(mut self) -> Bool", "Puts it in, if it fits.")
        )

    def test_fields_say_whether(self):
        text = 'struct S:\n    var a: {}\n    """{}"""\n'
        self.assert_kinds(text.format("Bool", "It is open."), "boolean")
        self.assert_kinds(text.format("Bool", "Whether it is open."))
        self.assert_kinds(text.format("Int", "The length."))

    def test_accessors_return(self):
        row = "length(self) -> Int"
        self.assert_kinds(self.function(row, "Tells the length."), "accessor")
        self.assert_kinds(self.function(row, "Counts octets."), "accessor")
        self.assert_kinds(self.function(row, "Returns the length."))
        self.assert_kinds(self.function(row, "Counts.", "a()\n        return b"))
        self.assert_kinds(self.function("copy(self) -> Int", "Copies it."))

    def test_constructors_say_what_they_create(self):
        row = "__init__(out self)"
        self.assert_kinds(self.function(row, "Starts at it."), "constructor")
        self.assert_kinds(self.function(row, "Uses a text."), "constructor")
        self.assert_kinds(self.function(row, "Creates an empty list."))
        self.assert_kinds(self.function(row, "Takes ownership of a text."))

    def test_entries_name_a_noun(self):
        row = "f(self, a: Int) raises -> Int"
        for entry in ("True if it does.", "How many.", "If it does not."):
            text = f"Returns it.\n\n    Returns:\n        {entry}\n    "
            self.assert_kinds(self.function(row, text), "terse")
        for entry in ("True if the rule matches.", "The number of octets."):
            text = f"Returns it.\n\n    Returns:\n        {entry}\n    "
            self.assert_kinds(self.function(row, text))

    def test_signature_over_lines_is_followed(self):
        head = "is_in(\n        self,\n        var a: Int,\n    ) -> Bool"
        self.assert_kinds(self.function(head, "True if so."), "boolean")


class ProseTest(TreeTest):
    def test_code_headings_and_sections_are_no_prose(self):
        text = "# Who\n\n```\nWho waits.\n```\n\nArgs:\n    a: Who.\n"
        found = [p.text for p in paragraphs(1, text.splitlines())]
        self.assertEqual(found, ["Who."])

    def test_cells_and_items_are_read_apart(self):
        text = "| a | b c |\n|---|---|\n- one\n  two\n- three\n"
        found = [(p.line, p.text) for p in paragraphs(1, text.splitlines())]
        self.assertEqual(
            found, [(1, "a"), (1, "b c"), (3, "one two"), (5, "three")]
        )

    def test_sentences_end_before_capitals(self):
        self.assertEqual(
            sentences("Reads RFC 9112 section 6.3 first. Then `x`. Ends."),
            ["Reads RFC 9112 section 6.3 first.", "Then `x`.", "Ends."],
        )

    def test_code_is_one_word_and_has_no_shape(self):
        self.assertEqual(tidy_words.plain("a `who b` [c](d)"), "a X c")

    def test_docstrings_know_what_they_document(self):
        text = (
            '"""M."""\n\ncomptime C = """no docstring"""\n"""C."""\n\n'
            'struct S(A):\n    """S."""\n\n    var f: Int\n    """F."""\n\n'
            '    def g(self) -> Bool:\n        """G."""\n        return h()\n'
        )
        found = [
            (d.kind, d.name, d.text) for d in docstrings(Source("a", text))
        ]
        self.assertEqual(
            found,
            [
                ("module", "", "M."),
                ("field", "C", "C."),
                ("type", "S", "S."),
                ("field", "f", "F."),
                ("function", "g", "G."),
            ],
        )


class BoundTest(TreeTest):
    def test_count_above_its_bound_fails_and_below_passes(self):
        self.write("docs/a.md", "Who waits.\n\nNobody does.\n")
        self.assert_rules("words")
        for bound, expected in ((1, ["words"]), (2, []), (3, [])):
            self.write(tidy_words.PATH, f"[docs]\nsubject {bound}\n")
            self.assert_rules(*expected)

    def test_areas_are_apart(self):
        self.write("docs/guide/a.md", "Who waits.\n")
        self.write("flare/http/server/a.mojo", "# Who waits.\n")
        self.write(tidy_words.PATH, "[docs]\nsubject 9\n")
        self.assert_rules("words", "words")
        rows = "[docs/guide]\nsubject 1\n[flare/http/server]\nsubject 1\n"
        self.write(tidy_words.PATH, rows)
        self.assert_rules()

    def test_settling_lowers_and_drops_but_never_raises(self):
        self.write("docs/a.md", "Who waits.\n\nNobody does.\n")
        rows = "# why\n[docs]\nsubject 5\nlong 2\n[README]\nlong 1\n"
        self.write(tidy_words.PATH, rows)
        tidy.Tree(self.root).settle()
        settled = "# why\n[docs]\nsubject 2\n[README]\n"
        text = (self.root / tidy_words.PATH).read_text()
        self.assertEqual(text, settled)
        self.write(tidy_words.PATH, "[docs]\nsubject 1\n")
        tidy.Tree(self.root).settle()
        self.assert_rules("words")


class CommentTest(TreeTest):
    def test_how_an_example_is_run_is_no_prose(self):
        text = "# Run: x\n# Prints: who waits\n# Who waits.\n"
        self.write("examples/01_a.mojo", text)
        found = [hit.text for hit in tidy.Tree(self.root).hits]
        self.assertEqual(found, ["Who waits."])
