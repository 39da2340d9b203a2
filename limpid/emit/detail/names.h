// Names in emitted code.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace limpid::emit {

// Whether C++ takes it as a name.
bool is_identifier(std::string_view name);

// Gives every name once, each near to what was wished for.
class Names {
 public:
  explicit Names(std::set<std::string> taken) : taken_(std::move(taken)) {}
  std::string unique(std::string_view wish, std::string_view fallback);

 private:
  std::set<std::string> taken_;
};

// For a line of comment: what could end the line is a question mark.
std::string comment_text(std::string_view text);

}  // namespace limpid::emit
