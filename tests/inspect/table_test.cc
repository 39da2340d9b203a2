#include "limpid/inspect/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

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
  EXPECT_EQ(printable("a\tb\r\n", "\n\t"), "a\tb\\x0d\n");
}

TEST(Numbers, Grouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(235146), "235,146");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(INT64_MAX), "9,223,372,036,854,775,807");
  EXPECT_EQ(grouped(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(Numbers, ShortAndExact) {
  EXPECT_EQ(short_number(static_cast<double>(1.94f)), "1.94");
  EXPECT_EQ(short_number(-0.000123456789), "-0.000123457");
  EXPECT_EQ(short_number(-std::nan("")), "nan");
  EXPECT_EQ(short_number(-HUGE_VAL), "-inf");
  EXPECT_EQ(exact_number(static_cast<double>(1.61f), Dtype::kF32), "1.61");
  EXPECT_EQ(exact_number(0.1, Dtype::kF64), "0.1");
  EXPECT_EQ(exact_number(static_cast<double>(0.1f), Dtype::kF64), "0.10000000149011612");
}

TEST(Numbers, Shapes) {
  EXPECT_EQ(tuple_text({}), "()");
  EXPECT_EQ(tuple_text({32, 784}), "(32, 784)");
}

}  // namespace
}  // namespace limpid
