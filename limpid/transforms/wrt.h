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
  // By positions: {0, 2}. By names: {"layers.2"} also selects all inputs below it.
  // NOLINTBEGIN(google-explicit-constructor)
  Wrt(std::initializer_list<std::size_t> positions) : positions_(positions) {}
  Wrt(std::vector<std::size_t> positions) : positions_(std::move(positions)) {}
  Wrt(std::initializer_list<std::string_view> names) : names_(names.begin(), names.end()) {}
  Wrt(std::vector<std::string> names) : names_(std::move(names)) {}
  // NOLINTEND(google-explicit-constructor)

  // The selected positions, in the given order; for names, in the order of the inputs. Throws
  // kNotFound for an unknown input.
  std::vector<std::size_t> positions_in(const Function& f) const;

 private:
  std::vector<std::size_t> positions_;
  std::vector<std::string> names_;
};

}  // namespace limpid
