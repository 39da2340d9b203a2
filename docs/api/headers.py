"""Public headers with their comments as Doxygen reads them, each line in its place.

The headers are written for people who read them. Their comments are `//`: one above declarations stands for all of them down to
the next blank line, one after a declaration for that one, and a file's first comment, "Tensor: ...", for what it names as well.
Fields, accessors of one line and defaulted comparisons may do without: their names and types say it.
"""

import re


PLAIN = re.compile(r"""\s+(?: [^()]* (?: [ ] = [ ] .* )? ;                                      # a field
                        | [^()]* [ ] \w+ \(\) [ ] (?: const )? [& ]* \{ [ ] return [ ] .* ; [ ] \}  # an accessor
                        | [^()]* [ ] operator==\(.*\) [ ] const [ ] = [ ] default;
                        ) $""", re.X)


class Scopes:
    """Follows the braces of a header, so far as to know where a line begins a declaration."""

    def __init__(self):
        self.inside = []     # of every open brace: whether declarations stand in it
        self.statement = ""  # what has been read of the declaration under way

    def at_declaration(self):
        return all(self.inside) and not self.statement.strip()

    def read(self, code):
        code = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', '""', code)
        for c in code:
            if c == "{":
                self.inside.append(bool(re.match(r"\s*(?:template\s*<.*>\s*)?(?:inline )?(?:namespace|class|struct|enum)\b",
                                                 self.statement)) and "(" not in self.statement)
                self.statement = ""
            elif c == "}":
                self.inside.pop()
                self.statement = "}"
            elif c == ";":
                self.statement = ""
            elif self.statement == "}" and not c.isspace():
                # A body has ended, and something new begins, unless an initializer goes on.
                self.statement = c if c not in ",)" else "}" + c
            elif self.statement != "}":
                self.statement += c
        if self.statement == "}" or re.match(r"\s*(?:public|private|protected):\s*$", self.statement):
            self.statement = ""


def escaped(comment):
    """A comment with nothing in it that Doxygen would take for a command."""
    return re.sub(r"([\\\\@<>&$#%])", r"\\\1", comment)


def declared_apart(code, comment):
    """`double min = 0, max = 0;` as two declarations of one line, each with the comment."""
    match = re.match(r"(\s*)([\w:<>]+(?: \w+(?= \w))*) (\w+(?: = [^;,{]+)?(?:, \w+(?: = [^;,{]+)?)+);$", code)
    if not match:
        return None
    return match[1] + " ".join(f"/** {comment} */ {match[2]} {name};" for name in match[3].split(", "))


def converted(text, name):
    """The same lines for Doxygen."""
    lines, scopes = [], Scopes()
    opening, above, reading, behind = [], "", [], False
    for number, line in enumerate(text.split("\n")):
        comment = re.match(r"(\s*)//( ?)(.*)$", line)
        words = escaped(comment[3]) if comment else ""
        if comment and len(opening) == number:
            opening.append(words)
            lines.append(f"/// \\file {name} \\brief {words}" if number == 0 else f"/// {words}")
        elif comment and words.startswith("----"):
            lines.append("")
        elif comment and behind:
            lines.append(f"{comment[1]}///< {words}")
        elif comment:
            reading.append(words)
            lines.append(f"{comment[1]}///{comment[2]}{words}")
        elif not line.strip() or line.startswith("#"):
            above, reading, behind = "", [], False
            lines.append(line)
        else:
            code, _, trailing = (part.rstrip() for part in line.partition(" // "))
            if code == "}":  # "}  // namespace limpid"
                trailing = ""
            begins, named = scopes.at_declaration(), re.match(r"(?:class|struct|enum class) (\w+)", line)
            first = bool(reading)
            if first:
                above, reading = " ".join(reading), []
            said = escaped(trailing) or above or ("" if named else "\\plain")
            apart = declared_apart(code, said) if begins and scopes.inside else None
            scopes.read(code)
            behind = bool(trailing) and not apart
            if apart:
                code = apart
            elif trailing:
                code = f"{code} ///< {escaped(trailing)}"
            elif not first and named and opening[0].startswith(named[1] + ":"):
                code = f"/** {' '.join(opening)} */ {code}"
            elif not first and begins and (above or PLAIN.match(code)) and re.match(r"\s*[\w~]", code):
                code = f"/** {said} */ {code}"
            lines.append(code)
    return "\n".join(lines)


def with_included(source, headers):
    """The headers, and those of the same folder tree that they include."""
    found, new = [], list(headers)
    while new:
        header = new.pop()
        if header not in found and "detail/" not in header:
            found.append(header)
            new += re.findall(r'^#include "(limpid/.*)"$', (source / header).read_text(), re.M)
    return sorted(found)
