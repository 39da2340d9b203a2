#include "limpid/formats/csv.h"

#include <fmt/format.h>

#include <cfenv>
#include <clocale>
#include <cmath>
#include <limits>

#include "limpid/core/key.h"
#include "limpid/core/utf8.h"
#include "tests/flush_subnormals.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using Kind = CsvOptions::Kind;
using namespace std::literals;

CsvTable parse(std::string_view text, const CsvOptions& options = {}) {
  return parse_csv(text, "a.csv", options);
}

void expect_broken(std::string_view text, const CsvOptions& options = {}) {
  expect_refused(ErrorCode::kFormat, [&] { parse(text, options); });
}

std::vector<std::string> names(const CsvTable& table) {
  std::vector<std::string> all;
  for (const CsvColumn& column : table.columns) all.push_back(column.name);
  return all;
}

// A column as text: its numbers, or its rows' categories; "-" where a value is missing.
std::vector<std::string> cells(const CsvColumn& column) {
  std::vector<std::string> all;
  for (const float number : column.numbers)
    all.push_back(std::isnan(number) ? "-" : fmt::format("{}", number));
  for (const std::int32_t code : column.codes)
    all.push_back(code < 0 ? "-" : column.categories[static_cast<std::size_t>(code)]);
  return all;
}

using Cells = std::vector<std::string>;

TEST(Csv, HasNumbersAndCategories) {
  const CsvTable table = parse("size,colour\n1.5,red\n-2e3,blue\n+.25,red\n");
  EXPECT_TRUE(table.header);
  EXPECT_EQ(table.rows(), 3);
  EXPECT_EQ(table.lines, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(names(table), (Cells{"size", "colour"}));
  EXPECT_FALSE(table.columns[0].categorical);
  EXPECT_EQ(table.columns[0].numbers, (std::vector<float>{1.5f, -2000, 0.25f}));
  EXPECT_TRUE(table.columns[1].categorical);
  EXPECT_EQ(table.columns[1].categories, (Cells{"blue", "red"}));
  EXPECT_EQ(table.columns[1].codes, (std::vector<std::int32_t>{1, 0, 1}));
}

TEST(Csv, HasQuotesAsTheStandardSaysThem) {
  const CsvTable table = parse(
      "\"a,b\",\"say \"\"so\"\"\",c\r\n"
      "\"two\r\nlines\",\"\"\"\",\"1\"\r\n"
      "\"\", \" x \" ,  2 ");
  EXPECT_EQ(names(table), (Cells{"a,b", "say \"so\"", "c"}));
  EXPECT_EQ(cells(table.columns[0]), (Cells{"two\r\nlines", "-"}));
  EXPECT_EQ(cells(table.columns[1]), (Cells{"\"", " x "}));
  EXPECT_EQ(cells(table.columns[2]), (Cells{"1", "2"}));
  EXPECT_EQ(table.lines, (std::vector<std::int64_t>{2, 4}));
}

TEST(Csv, EndsItsLinesInAnyUsualWay) {
  for (const char* text :
       {"a,b\n1,2\n3,4\n", "a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "a,b\n\n1,2\r\n\r\n3,4\n\n",
        ("\xef\xbb\xbf"
         "a,b\n1,2\n3,4")}) {
    const CsvTable table = parse(text);
    EXPECT_EQ(names(table), (Cells{"a", "b"})) << text;
    EXPECT_EQ(cells(table.columns[1]), (Cells{"2", "4"})) << text;
  }
}

TEST(Csv, FindsItsSeparator) {
  EXPECT_EQ(names(parse("a,b\n1,2\n")), (Cells{"a", "b"}));
  EXPECT_EQ(names(parse("a;b,c\n1;2\n")), (Cells{"a", "b,c"}));
  EXPECT_EQ(names(parse("a\tb;c,d\n1\t2\n")), (Cells{"a", "b;c,d"}));
  EXPECT_EQ(names(parse("\"a;b\",c\n1,2\n")), (Cells{"a;b", "c"}));
  EXPECT_EQ(names(parse("a,b\n1,x;y\n")), (Cells{"a", "b"}));
  EXPECT_EQ(names(parse("a\n1\n")), (Cells{"a"}));
  EXPECT_EQ(names(parse("\n\na;b\n1;2\n")), (Cells{"a", "b"}));
  EXPECT_EQ(names(parse("\r\n\r\na;b\r\n1;2\r\n")), (Cells{"a", "b"}));
  EXPECT_EQ(names(parse("a;b,c;d\n1,2\n", {.separator = ','})), (Cells{"a;b", "c;d"}));
  EXPECT_EQ(cells(parse("a\tb\n\t2\n1\t\n").columns[0]), (Cells{"-", "1"}));
}

TEST(Csv, FindsItsHeader) {
  EXPECT_FALSE(parse("1,red\n2,blue\n").header);
  EXPECT_EQ(names(parse("1,red\n2,blue\n")), (Cells{"column1", "column2"}));
  EXPECT_EQ(names(parse(",x\n0,1\n")), (Cells{"column1", "x"}));
  EXPECT_TRUE(parse("a,b\nx,y\n").header);
  EXPECT_EQ(parse("a,b\nx,y\n", {.header = false}).rows(), 2);
  EXPECT_EQ(names(parse("1,2\n3,4\n", {.header = true})), (Cells{"1", "2"}));
}

TEST(Csv, KnowsWhatIsMissing) {
  const CsvTable table = parse("n,c\n,\nNA,na\nnan,NaN\n?,?\n\"\",\"NA\"\n1,x\n2,y\n,\n");
  EXPECT_EQ(cells(table.columns[0]), (Cells{"-", "-", "-", "-", "-", "1", "2", "-"}));
  EXPECT_EQ(cells(table.columns[1]), (Cells{"-", "-", "-", "-", "-", "x", "y", "-"}));
  const Cells near{"n", "name", "nanna", "N/A", "??"};
  EXPECT_EQ(cells(parse("c\nn\nname\nnanna\nN/A\n??\n").columns[0]), near);
}

TEST(Csv, DropsBlanksAroundAField) {
  const CsvTable table = parse(" a\t, b \n\tx y\t ,\t1\t\n", {.separator = ','});
  EXPECT_EQ(names(table), (Cells{"a", "b"}));
  EXPECT_EQ(cells(table.columns[0]), (Cells{"x y"}));
  EXPECT_EQ(cells(table.columns[1]), (Cells{"1"}));
}

TEST(Csv, ReadsNumbersToTheNearestF32WhateverTheLocale) {
  // The build made it, in LOCPATH.
  const std::string before = std::setlocale(LC_ALL, nullptr);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr)
    GTEST_SKIP() << "skipped: no locale with a decimal comma (Debian's package locales)";
  ASSERT_STREQ(std::localeconv()->decimal_point, ",");
  const CsvTable table = parse("x\n0.1\n16777217\n3.4028235e38\n1e-50\n-0\n1E2\n");
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_EQ(table.columns[0].numbers,
            (std::vector<float>{0.1f, 16777216, 3.4028235e38f, 0, 0, 100}));
  EXPECT_TRUE(std::signbit(table.columns[0].numbers[4]));
}

// Such a number is beyond f32 as its digits stand there, and is nearly 0.
TEST(Csv, APlusSignBelongsToTheExponent) {
  const CsvTable table = parse("x\n0." + std::string(60, '0') + "1e+5\n1e+2\n");
  EXPECT_EQ(table.columns[0].numbers, (std::vector<float>{0, 100}));
}

// To the nearest f32, with its sign: 0 or the smallest one.
TEST(Csv, ReadsNumbersThatAreNearlyZero) {
  const CsvTable table = parse("x\n-1E-50\n7.1e-46\n-6.9e-46\n1e-45\n");
  const std::vector<float>& numbers = table.columns[0].numbers;
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(numbers, (std::vector<float>{0, kSmallest, 0, kSmallest}));
  EXPECT_TRUE(std::signbit(numbers[0]));
  EXPECT_TRUE(std::signbit(numbers[2]));
}

// A program may round upwards, or take subnormal numbers as 0.
TEST(Csv, ReadsTheSameNumbersWhateverTheFloatModeOfTheProgram) {
  constexpr std::string_view kText = "x\n0.1\n-0.3\n7.1e-46\n-1e-40\n3.3e37\n";
  const std::vector<float> expected = parse(kText).columns[0].numbers;
  for (void (*const set)() :
       std::vector<void (*)()>{testing::flush_subnormals, [] { std::fesetround(FE_UPWARD); },
                               [] { std::fesetround(FE_DOWNWARD); }}) {
    set();
    const std::vector<float> got = parse(kText).columns[0].numbers;
    std::fesetenv(FE_DFL_ENV);
    EXPECT_EQ(got, expected);
  }
}

TEST(Csv, TakesNoOtherWordForANumber) {
  const Cells words{"+-1", "nan(1)", "-nan", "1e", "0x10", "1 000"};
  EXPECT_EQ(cells(parse("x\n+-1\nnan(1)\n-nan\n1e\n0x10\n1 000\n").columns[0]), words);
}

TEST(Csv, TakesColumnsAsItIsTold) {
  CsvOptions options;
  options.kind = [](std::string_view name, std::size_t number) {
    if (name == "zip") return Kind::kCategorical;
    if (number == 3) return Kind::kIgnored;
    return name == "n" ? Kind::kNumeric : Kind::kAny;
  };
  const CsvTable table = parse("n,zip,mix\n,01,1\n,1,x\n,01,2\n", options);
  EXPECT_EQ(names(table), (Cells{"n", "zip"}));
  EXPECT_EQ(cells(table.columns[0]), (Cells{"-", "-", "-"}));
  EXPECT_FALSE(table.columns[0].categorical);
  EXPECT_EQ(table.columns[1].categories, (Cells{"01", "1"}));
  expect_broken("n\nx\n", options);
}

// No number is expected there, so that a comma in one is no mistake.
TEST(Csv, TakesCategoriesWithCommasAndOfNoRow) {
  CsvOptions options;
  options.kind = [](std::string_view, std::size_t) { return Kind::kCategorical; };
  const CsvTable table = parse("a;b\n1,5;\n2;NA\n", options);
  EXPECT_EQ(cells(table.columns[0]), (Cells{"1,5", "2"}));
  EXPECT_TRUE(table.columns[1].categorical);
  EXPECT_EQ(cells(table.columns[1]), (Cells{"-", "-"}));
}

TEST(CsvFault, NamesLineAndColumn) {
  expect_broken("a,b\n1,2\n1,2,3\n");
  expect_broken("a,b\n\"x\ny\",2\n\n1\n");
  expect_broken("\n\na,b\n1\n");
  expect_broken("a,b\n1,2\n1,x\n");
  expect_broken("a,b\n1,x\n1,y\n1,3\n");
  expect_broken("a\n1e39\n");
  // Also beyond f64, and magnitudes that depend on digits and exponent together.
  for (const std::string& text :
       {"1e400"s, "-1e99999999999999999999"s, "1e+9223372036854775807"s,
        "1" + std::string(400, '0'), "0." + std::string(400, '0') + "1e800",
        "-1" + std::string(800, '0') + "e-400"})
    expect_broken("a\n" + text + "\n");
  for (const std::string& text :
       {"1e-400"s, "-1e-99999999999999999999"s, "1e-9223372036854775808"s,
        "0." + std::string(400, '0') + "1", "0." + std::string(800, '0') + "1e400",
        "1" + std::string(400, '0') + "e-800"}) {
    EXPECT_EQ(parse("a\n" + text + "\n").columns[0].numbers.at(0), 0) << text;
  }
  expect_broken("a\n1\n-inf\n");
  expect_broken("a;b\n1,5;2\n");
  expect_broken("a,b\n1,\n2,NA\n");
  expect_broken("a,b,a\n1,2,3\n");
  expect_broken("a\xff\n1\n");
  expect_broken("a\n\xc0\xaf\n");
}

TEST(CsvFault, NamesTheLineOfAQuoteOutOfPlace) {
  expect_broken("a\n\"x\ny\n");
  expect_broken("a\nx\"y\"\n");
  expect_broken("a\n\"x\ny\"z\n");
  expect_broken("a\nx\ry\n");
  expect_broken("a\nx\0\n"s);
}

TEST(CsvFault, RefusesWhatIsNoTable) {
  expect_broken("");
  expect_broken("\xef\xbb\xbf\r\n\n");
  expect_broken("a,b\n");
  expect_refused(ErrorCode::kUnsupported, [] {
    parse(
        "\xff\xfe"
        "a\0"s);
  });
  expect_refused(ErrorCode::kUnsupported, [] {
    parse(
        "\xfe\xff\0"
        "a"s);
  });
  std::string widest = "1";
  for (int i = 1; i < 65'536; ++i) widest += ",1";
  EXPECT_EQ(parse(widest).columns.size(), 65'536U);
  expect_refused(ErrorCode::kUnsupported, [&] { parse(widest + ",1"); });
  expect_refused(ErrorCode::kUnsupported, [&] { parse("\"two\nlines\"," + widest); });
  const testing::TemporaryFolder folder;
  testing::write(folder / "t.csv", testing::bytes_of("a\n"));
  expect_refused(ErrorCode::kFormat, [&] { load_csv(folder / "t.csv"); });
  expect_refused(ErrorCode::kIo, [&] { load_csv(folder / "none"); });
  std::filesystem::resize_file(folder / "t.csv", kMaxCsvBytes + 1);  // sparse
  expect_refused(ErrorCode::kUnsupported, [&] { load_csv(folder / "t.csv"); });
}

constexpr std::string_view kSample =
    "name,\"si\"\"ze\",n\r\n\"x, y\",1.5,2\r\nz,,-3e2\r\n\"a\nb\",?,4\r\n";

// Any bytes give a table with equally many values in every column, or an Error.
bool parses(std::string_view text) {
  try {
    const CsvTable table = parse(text);
    for (const CsvColumn& column : table.columns)
      EXPECT_EQ(column.numbers.size() + column.codes.size(), table.lines.size());
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(std::string_view(error.what()).substr(0, 12), "csv 'a.csv':");
    return false;
  }
}

TEST(CsvFuzz, EveryTruncationParsesOrIsRefused) {
  EXPECT_TRUE(parses(kSample));
  int parsed = 0;
  for (std::size_t n = 0; n < kSample.size(); ++n) parsed += parses(kSample.substr(0, n));
  EXPECT_GT(parsed, 5);
  EXPECT_LT(parsed, 40);
}

TEST(CsvFuzz, ChangedBytesParseOrAreRefused) {
  constexpr std::string_view kTelling = ",;\t\"\r\n01.e-?Nan \xef\xbb\xbf\xff\x00"sv;
  int parsed = 0;
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const Key key = Key(9).fold_in(round);
    std::string changed(kSample);
    for (std::uint64_t i = 0; i <= key.below(3, 0); ++i)
      changed[key.below(changed.size(), 2 * i + 1)] =
          kTelling[key.below(kTelling.size(), 2 * i + 2)];
    parsed += parses(changed);
  }
  EXPECT_GT(parsed, 1000);
  EXPECT_LT(parsed, 19'000);
}

TEST(Utf8, IsToldFromOtherBytes) {
  EXPECT_EQ(first_code_point("A")->value, U'A');
  EXPECT_EQ(first_code_point("\xc3\xa9x")->value, U'\u00e9');
  EXPECT_EQ(first_code_point("\xe2\x82\xac")->value, U'\u20ac');
  EXPECT_EQ(first_code_point("\xf0\x9f\x98\x80")->value, U'\U0001f600');
  EXPECT_EQ(first_code_point("\xf4\x8f\xbf\xbf")->value, U'\U0010ffff');
  EXPECT_EQ(first_code_point("\xf0\x9f\x98\x80")->bytes, 4u);
  for (const char* bad : {"", "\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf", "\xf8\x88\x80\x80\x80", "\xff"})
    EXPECT_FALSE(first_code_point(bad)) << testing::Bytes(testing::bytes_of(bad)).size();
  EXPECT_EQ(utf8_fault("a\xc3\xa9"), 3u);
  EXPECT_EQ(utf8_fault("a\xc3\xa9\xc3"), 3u);
}

}  // namespace
}  // namespace limpid
