#include "limpid/serve/receipt.h"

#include <fmt/format.h>

#include <charconv>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"

namespace limpid::serve {

std::string to_text(const Receipt& receipt) {
  return fmt::format("model={:016x}; input={:016x}; output={:016x}", receipt.model, receipt.input,
                     receipt.output);
}

Receipt parse_receipt(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  Receipt receipt;
  std::string_view rest = text;
  const auto take = [&](std::string_view name, std::uint64_t& hash) {
    const char* const begin = rest.data() + name.size();
    if (rest.size() >= name.size() + kDigits && rest.starts_with(name)) {
      const auto [end, error] = std::from_chars(begin, begin + kDigits, hash, 16);
      if (error == std::errc{} && end == begin + kDigits) {
        rest.remove_prefix(name.size() + kDigits);
        return;
      }
    }
    throw Error(ErrorCode::kParse,
                fmt::format("receipt: expected model=HASH; input=HASH; output=HASH, got {}",
                            in_quotes(text)));
  };
  take("model=", receipt.model);
  take("; input=", receipt.input);
  take("; output=", receipt.output);
  if (!rest.empty()) take("the end", receipt.output);
  return receipt;
}

}  // namespace limpid::serve
