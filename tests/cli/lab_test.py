"""The experiments of the lab: what they print and the pages they write."""

import html
import html.parser
import unittest

import tool

EXPERIMENTS = ("perceptron", "init", "activations", "collapse", "approximation")


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.links = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]


class Lab(tool.ToolTest):
    def test_perceptron(self):
        text = self.output("lab", "perceptron")
        self.shows("lab perceptron --epochs 2")
        self.assertTrue(text.startswith(self.document("lab", "perceptron")["about"] + "\n\ntarget "), text)

    def test_numbers_of_a_seed_are_those_of_every_machine(self):
        self.shows("lab collapse --in 4 --hidden 8 --out 2; lab approximation --units 2")

    def test_a_page_to_standard_output_is_all_that_is_printed(self):
        page = self.folder / "page.html"
        self.output("lab", "activations", "--html", page)
        self.assertEqual(self.output("lab", "activations", "--html", "/dev/stdout"), page.read_text())

    def test_pages_stand_alone(self):
        path = self.folder / "page.html"
        for experiment in EXPERIMENTS:
            less = ["--width", "32"] if experiment == "init" else []  # it takes minutes in a sanitized tool
            text = self.output("lab", experiment, *less, "--html", path)
            self.assertEqual(text.splitlines()[-1], f"saved {path}")
            page = Page(path.read_text())
            self.assertIn("svg", page.tags, experiment)
            self.assertIn("table", page.tags, experiment)
            self.assertNotIn("script", page.tags, experiment)
            self.assertEqual(page.links, ["data:,"], experiment)
            self.assertNotIn("No values to show", path.read_text(), experiment)
            path.unlink()
        notes = self.document("lab", "perceptron", "--html", path)["notes"]
        self.assertIn("svg", Page(path.read_text()).tags)
        self.assertTrue(notes)
        for note in notes:
            self.assertIn(f"<p>{html.escape(note)}</p>", path.read_text())
        self.error(1, "lab", "perceptron", "--html", self.folder / "none" / "page.html")

    def test_what_there_is_not(self):
        self.refuses(2, "lab init --layers 0; lab init --width x; lab activations --seed 1; lab activations --html /dev/stdout --json")


if __name__ == "__main__":
    unittest.main()
