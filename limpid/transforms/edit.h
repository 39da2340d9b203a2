// edit: changes values inside a Function; all values that depend on them are recomputed. Depends on
// rewrite.h.
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
  // Adds std * normal(Key(seed)) of limpid/ops/random.h.
  struct Noise {
    double std = 1;
    std::uint64_t seed = 0;
  };
  // Replaces the value by a tensor of its type: its value for another example, say.
  struct Patch {
    Tensor tensor;
  };

  std::string at;  // "%3", the result of an op; "%layers.0.weight", "%x", an input
  // The indices of an element; -1 selects a whole dimension: {-1, 5} is unit 5 of every row. Empty:
  // the whole value.
  std::vector<std::int64_t> index = {};
  std::variant<Set, Scale, Add, Noise, Patch> change = Set{};
};

// The edited Function, and for each ValueId of the original the ValueId in it (of an edited value:
// after the edits).
struct Edited {
  Function function;
  std::vector<ValueId> values;
};

// Applies the edits in order. Inputs and outputs stay. Values that do not depend on an edit keep
// their bits. Gradients pass through scale, add and noise, and stop at set and patch. Throws
// kNotFound for an unknown value, kShape for indices out of range or a patch of another shape,
// kDtype for a change that the dtype does not support: integers can be set, to integers of 32 bits,
// and patched; 16-bit formats and booleans can only be patched.
Edited edit(const Function& function, std::span<const Edit> edits);
inline Edited edit(const Function& function, std::initializer_list<Edit> edits) {
  return edit(function, std::span<const Edit>(edits.begin(), edits.size()));
}

// "%3[5] = 0", "%3 *= 2", "%x[0, -1] += 0.5", "%3 += noise(0.1, 7)"; an index is that of
// Edit::index. Throws kParse for other text.
Edit parse_edit(std::string_view text);
// The text that parse_edit reads back; not for a patch, "%3 = patch", and names in quotes.
std::string to_text(const Edit& edit);

// The value with a name such as "%3" or "%x". Throws kNotFound.
ValueId value_of_name(const Function& function, std::string_view name);

}  // namespace limpid
