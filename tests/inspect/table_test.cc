#include "limpid/inspect/table.h"

#include <gtest/gtest.h>

namespace limpid {
namespace {

TEST(Table, AlignsItsColumnsAndEndsLinesAtTheirLastCell) {
  const Table table{{{"name"}, {"count", Align::kRight}, {"note"}},
                    {{"a", "1", "first"}, {"longer name", "1,000", ""}, {"short"}}};
  EXPECT_EQ(to_text(table),
            "name         count  note\n"
            "a                1  first\n"
            "longer name  1,000\n"
            "short\n");
}

TEST(Table, CountsCharactersRatherThanBytes) {
  const Table table{{{"name"}, {"n"}}, {{"caf\xc3\xa9", "1"}, {"plain", "2"}}};
  EXPECT_EQ(to_text(table), "name   n\ncaf\xc3\xa9   1\nplain  2\n");
}

TEST(Table, KeepsControlCharactersFromTheTerminal) {
  const Table table{{{"name"}}, {{"\x1b[31mred\nline\x7f"}}};
  EXPECT_EQ(to_text(table), "name\n\\x1b[31mred\\x0aline\\x7f\n");
  // U+009B begins a sequence as ESC [ does; a byte that is no UTF-8 may.
  EXPECT_EQ(printable("\xc2\x9b\x33\x31m \x9b \xc2\xa0\xc3\xa9"),
            "\\xc2\\x9b31m \\x9b \xc2\xa0\xc3\xa9");
  EXPECT_EQ(printable("\xc2\x9f"), "\\xc2\\x9f");
  EXPECT_EQ(printable("a\tb\r\n", "\n\t"), "a\tb\\x0d\n");
}

TEST(Table, WritesShapesAsTuples) {
  EXPECT_EQ(tuple_text({}), "()");
  EXPECT_EQ(tuple_text({32, 784}), "(32, 784)");
}

}  // namespace
}  // namespace limpid
