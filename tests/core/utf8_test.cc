#include "limpid/core/utf8.h"

#include <gtest/gtest.h>

#include <utility>

namespace limpid {
namespace {

// The first and the last character of every length.
TEST(Utf8, CharactersReadBack) {
  for (const char32_t c :
       {0x0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xd7ffu, 0xe000u, 0xffffu, 0x10000u, 0x10ffffu}) {
    const std::string text = utf8_of(c);
    const std::optional<CodePoint> read = first_code_point(text + "a");
    ASSERT_TRUE(read) << static_cast<unsigned>(c);
    EXPECT_EQ(read->value, c);
    EXPECT_EQ(read->bytes, text.size());
    EXPECT_EQ(utf8_fault(text + "a"), text.size() + 1);
  }
}

TEST(Utf8, OtherBytesAreNone) {
  const std::pair<std::string_view, const char*> cases[] = {
      {"\x80", "goes on with nothing"},
      {"\xc3", "ends too early"},
      {"\xe2\x82", "ends too early"},
      {"\xe2\x82z", "has another character within"},
      {"\xe2\x82\xc3", "has the beginning of another one within"},
      {"\xc1\xbf", "is longer than it need be"},
      {"\xe0\x9f\xbf", "is longer than it need be"},
      {"\xf0\x8f\xbf\xbf", "is longer than it need be"},
      {"\xed\xa0\x80", "is a half of a pair of UTF-16"},
      {"\xed\xbf\xbf", "is a half of a pair of UTF-16"},
      {"\xf4\x90\x80\x80", "is beyond the last character"},
      {"\xf8\x90\x80\x80\x80", "begins one of five bytes"},
      {"\xfc\x80\x80\x80\x80\x80", "begins one of six bytes"},
      {"\xff", "begins none"}};
  for (const auto& [bytes, why] : cases) {
    EXPECT_FALSE(first_code_point(bytes)) << why;
    EXPECT_EQ(utf8_fault("ab" + std::string(bytes)), 2u) << why;
  }
}

}  // namespace
}  // namespace limpid
