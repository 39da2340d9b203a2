// Reporter: error messages for readers of file formats. Depends on core/error.h and fmt; included
// only by sources.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"

namespace limpid::detail {

// Throws errors with messages of the form "idx 'train-images': what is wrong".
class Reporter {
 public:
  Reporter(std::string_view format, std::string_view where)
      : prefix_(fmt::format("{} {}: ", format, in_quotes(where))) {}

  template <class... Args>
  [[noreturn]] void broken(fmt::format_string<Args...> text, Args&&... args) const {
    throw Error(ErrorCode::kFormat, prefix_ + fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void unsupported(fmt::format_string<Args...> text, Args&&... args) const {
    throw Error(ErrorCode::kUnsupported, prefix_ + fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  std::string prefix_;
};

}  // namespace limpid::detail
