"""Every link between files of the documentation leads somewhere, docs/README.md leads to every page, and what README.md shows of
C++ is what examples/hello has.

usage: links_test.py PROJECT
"""

import pathlib
import re
import sys
import unittest


def links_of(page):
    """The files that a page links to, and the headings in them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            path, _, heading = target.partition("#")
            yield (page.parent / path).resolve() if path else page, heading


def anchors_of(page):
    for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Links(unittest.TestCase):
    def setUp(self):
        self.pages = [page for folder in ("docs", "bench", "examples") for page in (PROJECT / folder).rglob("*.md")]
        self.pages.append(PROJECT / "README.md")

    def test_each_leads_somewhere(self):
        count = 0
        for page in self.pages:
            for target, heading in links_of(page):
                self.assertTrue(target.exists(), f"{page}: {target}")
                if heading:
                    self.assertIn(heading, anchors_of(target), f"{page}: {target}")
                count += 1
        self.assertGreater(count, 50)

    def test_the_index_leads_to_every_page(self):
        index = PROJECT / "docs/README.md"
        reached, new = set(), {index}
        while new:
            reached |= new
            new = {target for page in new if page.suffix == ".md" and page.exists()
                   for target, _ in links_of(page)} - reached
        missing = [str(page) for page in (PROJECT / "docs").rglob("*.md") if page not in reached]
        self.assertEqual(missing, [])


def statements(code):
    """The lines of C++ without comments and indentation."""
    lines = (re.sub(r" *//.*", "", line).strip() for line in code.splitlines())
    return [line for line in lines if line]


class Readme(unittest.TestCase):
    def test_its_program_is_the_example(self):
        shown = re.search(r"^```cpp\n(.*?)^```$", (PROJECT / "README.md").read_text(), re.M | re.S)[1]
        example = statements((PROJECT / "examples/hello/main.cc").read_text())
        self.assertEqual([line for line in statements(shown) if line not in example], [])
        self.assertGreater(len(statements(shown)), 8)


if __name__ == "__main__":
    PROJECT = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=sys.argv[:1])
