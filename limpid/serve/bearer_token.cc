#include "limpid/serve/bearer_token.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/router.h"

namespace limpid::serve {
namespace {

constexpr std::size_t kLeast = 8, kMost = 4096;

// In constant time: compares all characters, wherever the first difference is.
bool equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different = different | static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ b[i]));
  return different == 0;
}

constexpr std::string_view kScheme = "Bearer ";

// In capital or small letters.
bool begins_with_scheme(std::string_view text) {
  const auto small = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  text = text.substr(0, kScheme.size());
  return std::equal(text.begin(), text.end(), kScheme.begin(), kScheme.end(),
                    [&](char a, char b) { return small(a) == small(b); });
}

}  // namespace

BearerToken::BearerToken(std::string secret) : secret_(std::move(secret)) {
  const bool fits =
      secret_.size() >= kLeast && secret_.size() <= kMost &&
      std::all_of(secret_.begin(), secret_.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!fits)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("token: expected {} to {} characters of printable ASCII without spaces",
                            kLeast, kMost));
}

BearerToken BearerToken::read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost + 1, '\0');  // an upper bound, as the file may be endless
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad())
    throw Error(ErrorCode::kIo, fmt::format("token: {} cannot be read", in_quotes(path.string())));
  return BearerToken(text.substr(0, text.find('\n')));
}

void BearerToken::check(const Request& head) const {
  if (is_public(head)) return;
  const std::string* const given = head.header("authorization");
  if (given && begins_with_scheme(*given) &&
      equal(std::string_view(*given).substr(kScheme.size()), secret_))
    return;
  throw HttpError(401, "expected the header Authorization: Bearer TOKEN",
                  {{"WWW-Authenticate", "Bearer"}});
}

}  // namespace limpid::serve
