#include "limpid/data/pictures/fit_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"

namespace limpid {
namespace {

// The input pixels of one output pixel along an axis: from `first` on, one for each weight.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};

// Of output pixels [begin, begin + count) of `to`, into which `from` input pixels are resized.
std::vector<Taps> taps_of(std::int64_t from, std::int64_t to, std::int64_t begin,
                          std::int64_t count) {
  std::vector<Taps> all(static_cast<std::size_t>(count));
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(scale, 1.0);
  std::vector<double> weights;
  for (std::int64_t i = 0; i < count; ++i) {
    Taps& taps = all[static_cast<std::size_t>(i)];
    if (from == to) {
      taps = {begin + i, {1.0f}};
      continue;
    }
    const double centre = (static_cast<double>(begin + i) + 0.5) * scale;
    const auto first = static_cast<std::int64_t>(std::max(0.0, std::floor(centre - reach + 0.5)));
    const auto end = std::min(from, static_cast<std::int64_t>(std::floor(centre + reach + 0.5)));
    double sum = 0;
    weights.clear();
    for (std::int64_t j = first; j < end; ++j) {
      const double distance = std::abs((static_cast<double>(j) + 0.5 - centre) / reach);
      weights.push_back(std::max(0.0, 1.0 - distance));
      sum += weights.back();
    }
    taps.first = first;
    for (const double weight : weights) taps.weights.push_back(static_cast<float>(weight / sum));
  }
  return all;
}

// The size to which a picture is resized, and the first row and column of what is cut out of it.
struct Cover {
  std::int64_t height, width, top, left;
};

Cover cover_of(const DecodedPicture& picture, const PictureShape& shape) {
  const auto scaled = [](std::int64_t side, std::int64_t to, std::int64_t from) {
    return (2 * side * to + from) / (2 * from);
  };
  Cover cover{shape.height, shape.width, 0, 0};
  if (shape.width * picture.height >= shape.height * picture.width)
    cover.height = std::max(shape.height, scaled(picture.height, shape.width, picture.width));
  else
    cover.width = std::max(shape.width, scaled(picture.width, shape.height, picture.height));
  cover.top = (cover.height - shape.height) / 2;
  cover.left = (cover.width - shape.width) / 2;
  return cover;
}

// Row y of a picture as `channels` lines of numbers.
template <class T>
void read_line(const DecodedPicture& picture, std::int64_t y, std::int64_t channels,
               std::span<float> out) {
  const auto width = static_cast<std::size_t>(picture.width);
  const auto sample = [&](std::int64_t i) {
    T value = 0;
    std::memcpy(&value, picture.samples.data() + i * static_cast<std::int64_t>(sizeof(T)),
                sizeof value);
    return value;
  };
  std::int64_t at = picture.first + y * picture.down;
  for (std::size_t x = 0; x < width; ++x, at += picture.right) {
    if (picture.channels == channels) {
      for (std::int64_t c = 0; c < channels; ++c)
        out[static_cast<std::size_t>(c) * width + x] = static_cast<float>(sample(at + c));
    } else if (channels == 1) {
      constexpr std::uint64_t kRedPart = 19595, kGreenPart = 38470, kBluePart = 7471, kHalf = 32768;
      const std::uint64_t luma = (kRedPart * sample(at) + kGreenPart * sample(at + 1) +
                                  kBluePart * sample(at + 2) + kHalf) >>
                                 16;
      out[x] = static_cast<float>(luma);
    } else {
      for (std::int64_t c = 0; c < channels; ++c)
        out[static_cast<std::size_t>(c) * width + x] = static_cast<float>(sample(at));
    }
  }
}

void check_fit(const PictureShape& shape, std::size_t out) {
  if (can_fit(shape) && out == static_cast<std::size_t>(shape.elements())) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("picture: expected a shape of 1 or 3 channels and sides of 1 to {}, got "
                  "{} x {} x {} with {} as white, and {} numbers",
                  kMaxFittedSide, shape.channels, shape.height, shape.width, shape.white, out));
}

}  // namespace

bool can_fit(const PictureShape& shape) {
  const auto side = [](std::int64_t n) { return n >= 1 && n <= kMaxFittedSide; };
  return (shape.channels == 1 || shape.channels == 3) && side(shape.height) && side(shape.width) &&
         shape.white > 0;
}

void fit_picture(const DecodedPicture& picture, const PictureShape& shape, std::span<float> out) {
  check_fit(shape, out.size());
  const DefaultFloatMode mode;
  const Cover cover = cover_of(picture, shape);
  const std::vector<Taps> columns = taps_of(picture.width, cover.width, cover.left, shape.width);
  const std::vector<Taps> rows = taps_of(picture.height, cover.height, cover.top, shape.height);

  // The rows of the picture that are needed, resized to columns: [row][channel][column].
  const std::int64_t top = rows.front().first;
  const std::int64_t bottom =
      rows.back().first + static_cast<std::int64_t>(rows.back().weights.size());
  const auto line = static_cast<std::size_t>(shape.channels * shape.width);
  const auto width = static_cast<std::size_t>(shape.width);
  std::vector<float> resized(static_cast<std::size_t>(bottom - top) * line);
  std::vector<float> read(static_cast<std::size_t>(shape.channels * picture.width));
  for (std::int64_t y = top; y < bottom; ++y) {
    if (picture.white > 255)
      read_line<std::uint16_t>(picture, y, shape.channels, read);
    else
      read_line<std::uint8_t>(picture, y, shape.channels, read);
    float* number = resized.data() + static_cast<std::size_t>(y - top) * line;
    for (std::int64_t c = 0; c < shape.channels; ++c)
      for (const Taps& taps : columns) {
        const float* from = read.data() + c * picture.width + taps.first;
        float sum = 0;
        for (const float weight : taps.weights) sum += weight * *from++;
        *number++ = sum;
      }
  }

  const float divisor = static_cast<float>(picture.white) / static_cast<float>(shape.white);
  for (std::int64_t c = 0; c < shape.channels; ++c)
    for (std::size_t y = 0; y < rows.size(); ++y) {
      const std::span<float> sums =
          out.subspan((static_cast<std::size_t>(c) * rows.size() + y) * width, width);
      std::fill(sums.begin(), sums.end(), 0.0f);
      const float* from = resized.data() + static_cast<std::size_t>(rows[y].first - top) * line +
                          static_cast<std::size_t>(c) * width;
      for (const float weight : rows[y].weights) {
        for (std::size_t x = 0; x < width; ++x) sums[x] += weight * from[x];
        from += line;
      }
      for (float& sum : sums) sum /= divisor;
    }
}

void read_picture(std::span<const std::byte> bytes, std::string_view where,
                  const PictureShape& shape, std::span<float> out, const PictureLimits& limits) {
  check_fit(shape, out.size());  // before the work of decoding
  fit_picture(decode_picture(bytes, where, limits), shape, out);
}

}  // namespace limpid
