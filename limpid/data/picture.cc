#include "limpid/data/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "limpid/core/error.h"
#include "limpid/formats/png_writer.h"

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

std::vector<std::byte> picture_sheet(std::span<const float> pictures, const PictureShape& shape,
                                     std::int64_t columns) {
  constexpr std::int64_t kLeastSide = 64, kGap = 4, kMostSide = 16'384;
  constexpr std::uint8_t kGapGrey = 96;
  const std::int64_t size = shape.elements();
  const auto numbers = static_cast<std::int64_t>(pictures.size());
  if (columns < 1 || size < 1 || numbers < 1 || numbers % size != 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("picture_sheet: expected whole pictures of {} numbers and 1 column or "
                            "more, got {} numbers and {} columns",
                            size, numbers, columns));
  const std::int64_t count = numbers / size, across = std::min(columns, count);
  const std::int64_t factor =
      std::max<std::int64_t>(1, kLeastSide / std::max(shape.height, shape.width));
  const std::int64_t cell_width = shape.width * factor + kGap,
                     cell_height = shape.height * factor + kGap;
  const std::int64_t lines = (count + across - 1) / across;
  if (across > kMostSide / cell_width || lines > kMostSide / cell_height)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("picture_sheet: {} x {} pictures of {} x {} pixels are more than {} "
                            "pixels",
                            lines, across, shape.height, shape.width, kMostSide));
  const std::int64_t width = across * cell_width + kGap, height = lines * cell_height + kGap;
  const std::int64_t shown = shape.channels == 3 ? 3 : 1;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * height * shown), kGapGrey);
  const std::int64_t plane = shape.height * shape.width;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const picture = pictures.data() + i * size;
    const std::int64_t top = i / across * cell_height + kGap, left = i % across * cell_width + kGap;
    for (std::int64_t y = 0; y < shape.height * factor; ++y)
      for (std::int64_t x = 0; x < shape.width * factor; ++x)
        for (std::int64_t c = 0; c < shown; ++c) {
          const float* const from = picture + y / factor * shape.width + x / factor;
          float value = from[c * plane];
          if (shown == 1) {
            for (std::int64_t other = 1; other < shape.channels; ++other)
              value += from[other * plane];
            value /= static_cast<float>(shape.channels);
          }
          value = value > 0.0f ? std::min(value, 1.0f) : 0.0f;
          pixels[static_cast<std::size_t>(((top + y) * width + left + x) * shown + c)] =
              static_cast<std::uint8_t>(std::lround(value * 255.0f));
        }
  }
  return png_bytes(height, width, shown, pixels);
}

}  // namespace limpid
