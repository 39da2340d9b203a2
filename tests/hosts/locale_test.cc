// A program with a locale whose decimal point is a comma, and which groups digits, reads and writes
// the same numbers.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdio>
#include <locale>

#include "tests/hosts/everything.h"

namespace limpid::hosts {
namespace {

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

void expect_same(const Parts& got, const Parts& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i] == expected[i]) << got[i].first;
}

TEST(Locale, OfCppDoesNotShow) {
  const Parts expected = everything();
  const std::locale before = std::locale::global(std::locale(std::locale(), new Commas));
  std::ostringstream out;
  out << 1234.5;
  const std::string stream = out.str();
  const Parts got = everything();
  std::locale::global(before);
  EXPECT_EQ(stream, "1.234,5");
  expect_same(got, expected);
}

TEST(Locale, OfCDoesNotShow) {
  const Parts expected = everything();
  const std::string before = std::setlocale(LC_ALL, nullptr);
  // The build made it, in LOCPATH.
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr)
    GTEST_SKIP() << "skipped: no locale with a decimal comma (Debian's package locales)";
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 0.5);
  const Parts got = everything();
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_STREQ(text, "0,5");
  expect_same(got, expected);
}

}  // namespace
}  // namespace limpid::hosts
