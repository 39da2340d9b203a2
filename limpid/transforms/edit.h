// edit: a Function with some of its values changed; everything that depends on them follows. Leans
// on rewrite.h.
//
//   // Unit 5 of the value %3 is 0 for every input.
//   const Edited what_if = edit(model.function, {parse_edit("%3[5] = 0")});
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

// One change of one value.
struct Edit {
  struct Set {
    double number = 0;  // rounded to the dtype of the value
  };
  struct Scale {
    double factor = 1;
  };
  struct Add {
    double number = 0;
  };
  // Plus std times normal(Key(seed)) of limpid/ops/random.h, in the order of the elements.
  struct Noise {
    double std = 1;
    std::uint64_t seed = 0;
  };
  // What the value is elsewhere: for another example, say. Of the value's type.
  struct Patch {
    Tensor tensor;
  };

  std::string at;  // "%3", the result of an op; "%layers.0.weight", "%x", an input
  // One element by its indices, where -1 stands for all of a dimension: {-1, 5} is unit 5 of every
  // row. Empty: the whole value.
  std::vector<std::int64_t> index = {};
  std::variant<Set, Scale, Add, Noise, Patch> change = Set{};
};

// The edited Function, and for each value of the original its number there: for an edited value,
// the number of its result after the edits.
struct Edited {
  Function function;
  std::vector<ValueId> values;
};

// Applies the edits in their order. Inputs and outputs stay. Values that do not depend on an edit
// keep their bits. Gradients flow through scaled, shifted and noisy values, and stop at set and
// patched ones. Throws kNotFound for an unknown value, kShape for indices out of range or a patch
// of another shape, kDtype for a change that the dtype does not support: integers can be set and
// patched; 16-bit formats and booleans can only be patched.
Edited edit(const Function& function, std::span<const Edit> edits);
inline Edited edit(const Function& function, std::initializer_list<Edit> edits) {
  return edit(function, std::span<const Edit>(edits.begin(), edits.size()));
}

// "%3[5] = 0", "%3 *= 2", "%x[0, -1] += 0.5", "%3 += noise(0.1, 7)"; the index stands for itself.
// Throws kParse for other text.
Edit parse_edit(std::string_view text);
// The text that parse_edit reads as this; of a patch "%3 = patch", which it does not read.
std::string to_text(const Edit& edit);

// The value that a name such as "%3" or "%x" stands for. Throws kNotFound.
ValueId value_of_name(const Function& function, std::string_view name);

}  // namespace limpid
