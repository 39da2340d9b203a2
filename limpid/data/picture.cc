#include "limpid/data/picture.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include "limpid/core/error.h"

namespace limpid {

std::optional<PictureShape> shown_shape(const Dataset& data) {
  constexpr std::int64_t kSmallest = 8;
  if (data.picture) return data.picture;
  const std::int64_t count = data.input_type().shape.elements();
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(count))));
  if (data.task == Task::kNextToken || !data.feature_names.empty() || side < kSmallest ||
      side * side != count)
    return {};
  return PictureShape{1, side, side};
}

std::string half_blocks(std::span<const float> pixels, std::int64_t width) {
  if (width <= 0 || pixels.size() % static_cast<std::size_t>(width) != 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("half_blocks: {} pixels do not make rows of {}", pixels.size(), width));
  constexpr std::array<std::string_view, 4> kBlocks = {" ", "\u2580", "\u2584", "\u2588"};
  const auto columns = static_cast<std::size_t>(width);
  const auto ink = [&](std::size_t i) { return i < pixels.size() && pixels[i] >= 0.5f; };
  std::string text;
  for (std::size_t row = 0; row < pixels.size(); row += 2 * columns) {
    for (std::size_t i = row; i < row + columns; ++i)
      text += kBlocks[(ink(i) ? 1 : 0) + (ink(i + columns) ? 2 : 0)];
    text += '\n';
  }
  return text;
}

}  // namespace limpid
