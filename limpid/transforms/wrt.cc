#include "limpid/transforms/wrt.h"

namespace limpid {

std::vector<std::size_t> Wrt::positions_in(const Function& f) const {
  if (names_.empty()) return positions_;
  Named<std::size_t> inputs;
  for (std::size_t i = 0; i < f.inputs().size(); ++i) inputs.set(f.inputs()[i].name, i);
  return inputs.only(names_).values();
}

}  // namespace limpid
