"""What can be drawn of a source: a condition that always holds, another operator or number, arguments that change places, a statement
that is left out. Statements are found by the format that clang-format gives them, not by parsing C++."""

import re
from collections.abc import Iterable

from choices import Change, is_balanced, is_constant, masked

# The words and signs between spaces, as clang-format sets them, and what takes their place.
SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*", "%": "/",
    "and": "or", "or": "and", "&&": "||", "||": "&&", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "+=": "-=", "-=": "+=", "*=": "+=",
}  # fmt: skip
NAMES = {"std::min": "std::max", "std::max": "std::min", "front()": "back()", "back()": "front()", "true": "false", "false": "true"}
# A statement begins with one of these where it is no expression that can be left out.
OTHERS = re.compile(
    r"(using|typedef|template|static_assert|throw|case|default|goto|friend|class|struct|enum|namespace|break|continue|delete"
    r"|public|private)\b"
)
DECLARATION = re.compile(
    r"(?P<how>(?:(?:static|const|constexpr|inline|mutable|thread_local) )*)[\w:]+(?:<[^;=]*>)?(?:::\w+)?(?:[&*]+ const)?[&*]* "
    r"[&*]*(?:const )?\w+(?:\[[^\]]*\])? = "
)
ASSIGNMENT = re.compile(r"[\w:.\->*&()]+(?:\[[^\]=]*\])*[\w:.\->*&()]* (?:=|\+=|-=|\*=|/=|\|=|&=|<<=|>>=|\^=) ")
STEP = re.compile(r"\+\+|--|[\w:.>\-\[\]*()]+(?:\+\+|--)$")
CALL = re.compile(r"(?![^(]*\breserve\()\*?[\w:.\->\[\]]+(?:<[^()]*>)?\(")


def end_of(text: str, begin: int) -> int:
    """Where the bracket at `begin` is closed; the end of the text if it is not."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return len(text)


def parts_of(text: str, separator: str) -> list[tuple[int, int]]:
    """The ranges between separators outside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and text.startswith(separator, at):
            parts.append((begin, at))
            begin = at + len(separator)
    return [*parts, (begin, len(text))]


def wrong_versions(text: str, mask: str) -> list[str]:
    """Of an expression."""

    def replaced(begin: int, end: int, to: str) -> str:
        return text[:begin] + to + text[end:]

    versions = []
    question = parts_of(mask, " ? ")
    if len(question) == 2:
        answers = parts_of(mask[question[1][0] :], " : ")
        if len(answers) == 2:
            versions += [text[question[1][0] :][begin:end] for begin, end in answers]
    for word in re.finditer(r"(?<= )(?:<=|>=|==|!=|<<|>>|&&|\|\||\+=|-=|\*=|[-<>+*/%&|]|and|or)(?= )", mask):
        versions.append(replaced(*word.span(), SWAPS[word[0]]))
    for number in re.finditer(r"(?<![\w.])\d+(?![\w.'])", mask):
        versions.append(replaced(*number.span(), str(int(number[0]) + 1)))
    for negation in re.finditer(r"\bnot |!(?=[\w(])", mask):
        versions.append(replaced(*negation.span(), ""))
    for name in re.finditer(r"(?<![\w:])(?:std::(?:min|max)\b|(?:front|back)\(\)|(?:true|false)\b)", mask):
        versions.append(replaced(*name.span(), NAMES[name[0]]))
    for call in re.finditer(r"\w\(", mask):
        if re.search(r"(?i:min|max|equal)\($", mask[: call.end()]):
            continue  # in any order
        begin, end = call.end(), end_of(mask, call.end() - 1)
        arguments = [text[begin + a : begin + b].strip() for a, b in parts_of(mask[begin:end], ",")]
        if 2 <= len(arguments) <= 4 and "<" not in mask[begin:end]:
            for i in range(len(arguments) - 1):
                swapped = [*arguments[:i], arguments[i + 1], arguments[i], *arguments[i + 2 :]]
                versions.append(replaced(begin, end, ", ".join(swapped)))
    return [v for v in dict.fromkeys(versions) if v != text]


class Source:
    """What can be broken in a file."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text, self.mask = file, text, masked(text)
        self.changes: list[Change] = []
        begin = at = 0
        while at < len(self.mask):
            if self.mask[at] in ";{}":
                if self.mask[at] == "{" and is_constant(self.mask[begin:at]):
                    at = end_of(self.mask, at)  # no choice at run time in there
                else:
                    self.statement(begin, at)
                begin = at + 1
            elif self.mask.startswith("for (", at) and not re.match(r"\w", self.mask[at - 1]):
                begin = end_of(self.mask, at + 4)
                self.loop(at + 5, begin)
                at, begin = begin, begin + 1
            at += 1

    def expression(self, begin: int, end: int, more: Iterable[str] = ()) -> None:
        while begin < end and self.mask[begin].isspace():
            begin += 1
        text, mask = self.text[begin:end], self.mask[begin:end]
        if mask.strip() and "\0" not in mask and not mask.startswith("{") and is_balanced(mask) and ";" not in mask:
            versions = dict.fromkeys([*more, *wrong_versions(text, mask)])
            self.changes += [Change(self.file, begin, end, "expression", v) for v in versions if v != text]

    def loop(self, begin: int, end: int) -> None:
        """What stands in the brackets of a for."""
        parts = [(begin + a, begin + b) for a, b in parts_of(self.mask[begin:end], ";")]
        if len(parts) == 3:
            first = self.mask.find(" = ", *parts[0])
            if first >= 0:
                self.expression(first + 3, parts[0][1])
            self.expression(*parts[1])

    def statement(self, begin: int, end: int) -> None:
        while begin < end and self.mask[begin].isspace():
            begin += 1
        mask = self.mask[begin:end]
        if not mask or "\0" in mask:
            return
        if head := re.match(r"(?:else )?(if|while) \(", mask):
            inside, close = begin + head.end(), end_of(self.mask, begin + head.end() - 1)
            if close < end:
                if " = " not in self.mask[inside:close]:
                    self.expression(inside, close, ["true", "false"] if head[1] == "if" else [])
                self.statement(close + 1, end)
        elif head := re.match(r"else\s+", mask):
            self.statement(begin + head.end(), end)
        elif self.mask[end] != ";" or OTHERS.match(mask):
            return
        elif head := re.match(r"return\b", mask):
            self.expression(begin + head.end(), end)
        elif head := DECLARATION.match(mask):
            if "constexpr" not in head["how"]:
                self.expression(begin + head.end(), end)
        elif is_balanced(mask) and any(kind.match(mask) for kind in (ASSIGNMENT, STEP, CALL)):
            versions = ["", *wrong_versions(self.text[begin:end], mask)]
            self.changes += [Change(self.file, begin, end, "statement", v) for v in versions]
