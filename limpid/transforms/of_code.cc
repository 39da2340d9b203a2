#include "limpid/transforms/of_code.h"

#include <fmt/format.h>

#include "limpid/core/error.h"

namespace limpid::detail {

void throw_names_of_no_group() {
  throw Error(ErrorCode::kInvalidArgument,
              "grad of code: names select parts of Args, but the argument is a Value");
}

void throw_names_of_several() {
  throw Error(ErrorCode::kInvalidArgument,
              "grad of code: names select parts of one argument, but several positions are given");
}

void check_tangents(const Function& f) {
  for (const Output& o : f.outputs())
    if (const Dtype dtype = f.type(o.value).dtype; dtype != Dtype::kF32 && dtype != Dtype::kF64)
      throw Error(ErrorCode::kDtype, fmt::format("jvp of code: a result is {}, expected f32 or f64",
                                                 to_string(f.type(o.value))));
}

void check_axes(std::size_t axes, std::size_t arguments) {
  if (axes != arguments)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "vmap of code: expected an axis for each argument, got {} axes for {} arguments", axes,
            arguments));
}

std::int64_t batch_size(std::span<const Value> values,
                        std::span<const std::optional<std::int64_t>> axes) {
  std::optional<Type> first;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!axes[i]) continue;
    const Type type = values[i].type();
    const std::int64_t here =
        type.shape[normalize_axis(*axes[i], type.shape.rank(), "vmap of code")];
    if (!first) {
      first = type;
      size = here;
    } else if (here != size) {
      throw Error(ErrorCode::kShape,
                  fmt::format("vmap of code: {} has a batch of {}, but {} has one of {}",
                              to_string(*first), size, to_string(type), here));
    }
  }
  return size;
}

std::vector<Type> types_without(std::span<const Value> values,
                                std::span<const std::optional<std::int64_t>> axes) {
  std::vector<Type> types = types_of(values);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (axes[i])
      types[i].shape =
          types[i].shape.erase(normalize_axis(*axes[i], types[i].shape.rank(), "vmap of code"));
  return types;
}

void add_tangents(std::size_t position, const Value& tangent, std::vector<std::size_t>& by,
                  std::vector<Value>& tangents) {
  by.push_back(position);
  tangents.push_back(tangent);
}

void add_tangents(const Named<std::size_t>& positions, const Args& tangent,
                  std::vector<std::size_t>& by, std::vector<Value>& tangents) {
  for (const auto& [name, value] : tangent) add_tangents(positions.at(name), value, by, tangents);
}

}  // namespace limpid::detail
