// unbatch of a Function inside an op, such as the body of a loop.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "limpid/function/function.h"
#include "limpid/ops/detail/example_axis.h"

namespace limpid::detail {

// The Function for one example, with a dimension of 1 in place of the examples, and where these are
// in each output of the batch.
struct Unbatched {
  Function function;
  std::vector<Inner> outputs;
};

// `inputs` says where the examples are in each input. An output that has them in several places, as
// it repeats itself, has them where `wanted` says, if that is one of these; it may be shorter than
// the outputs. Nothing if examples may mix.
std::optional<Unbatched> unbatched(const Function& batch, std::span<const Inner> inputs,
                                   std::span<const Inner> wanted, std::int64_t size);

// The ways to read the operands of a call whose Functions take them from `first` on, as `types`: as
// they are, and with those that repeat themselves for each example read for one example.
std::vector<std::vector<Inner>> readings(const ExampleCall& c, std::size_t first,
                                         std::span<const Type> types);

}  // namespace limpid::detail
