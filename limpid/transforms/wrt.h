// Wrt: the inputs that a derivative is taken with respect to, by name or by position.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

class Wrt {
 public:
  // The first input.
  Wrt() : positions_{0} {}
  // Positions: {0, 2}. Names: {"layers.2"}, which stands for all inputs below it, too.
  // NOLINTBEGIN(google-explicit-constructor)
  Wrt(std::initializer_list<std::size_t> positions) : positions_(positions) {}
  Wrt(std::vector<std::size_t> positions) : positions_(std::move(positions)) {}
  Wrt(std::initializer_list<std::string_view> names) : names_(names.begin(), names.end()) {}
  Wrt(std::vector<std::string> names) : names_(std::move(names)) {}
  // NOLINTEND(google-explicit-constructor)

  // In the order of the positions that were given, or of the inputs that are named. Throws
  // kNotFound for a name without an input.
  std::vector<std::size_t> positions_in(const Function& f) const;

 private:
  std::vector<std::size_t> positions_;
  std::vector<std::string> names_;
};

}  // namespace limpid
