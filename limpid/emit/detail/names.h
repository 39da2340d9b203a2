// Names in emitted code.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace limpid::emit {

// Whether the name is a valid C++ identifier.
bool is_identifier(std::string_view name);
// And no function of the C library, which its headers declare outside of any namespace, nor main.
bool is_namespace(std::string_view name);

// Makes unique names, each close to the wish.
class Names {
 public:
  explicit Names(std::set<std::string> taken) : taken_(std::move(taken)) {}
  std::string unique(std::string_view wish, std::string_view fallback);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> last_;  // the last number behind a name
};

// Text for a comment line: characters that could end the line become question marks.
std::string comment_text(std::string_view text);

}  // namespace limpid::emit
