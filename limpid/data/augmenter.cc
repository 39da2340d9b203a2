// Augmenter: what is drawn for a picture, the resampling, and the steps that change values. Only
// IEEE operations and the elementary functions of limpid/core are used, none of them fused, so that
// the compiler's vectors for any machine give the same bits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/data/augment.h"
#include "limpid/data/detail/augment_draws.h"

namespace limpid {
namespace {

constexpr std::int64_t kLongestSide = 16'384;
// Places are computed in blocks of so many pixels, whose loops the compiler turns into vectors.
constexpr std::size_t kPlacesAtOnce = 16;
constexpr double kDegree = 0.017453292519943295;
// RandAugment and TrivialAugment: magnitudes go from 0 to 30.
constexpr double kMostMagnitude = 30;

float in_unit_range(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }

// The weights of red, green and blue in grey (ITU-R BT.601).
constexpr float kRed = 0.299f, kGreen = 0.587f, kBlue = 0.114f;

// A level of 256.
std::uint32_t level_of(float v) {
  return static_cast<std::uint32_t>(in_unit_range(v) * 255.0f + 0.5f);
}
float of_level(std::uint32_t level) { return static_cast<float>(level) / 255.0f; }

// The values of the four cubic B-splines that are not 0 between two control points.
std::array<float, 4> spline_weights(double f) {
  const double g = 1 - f;
  return {
      static_cast<float>(g * g * g / 6), static_cast<float>((3 * f * f * f - 6 * f * f + 4) / 6),
      static_cast<float>((3 * g * g * g - 6 * g * g + 4) / 6), static_cast<float>(f * f * f / 6)};
}

// The hue of a colour with this largest channel and range, in turns from red; and back.
float hue_of(float r, float g, float b, float most, float range) {
  if (!(range > 0.0f)) return 0.0f;
  float sixths = 0.0f;
  if (most == r)
    sixths = (g - b) / range;
  else if (most == g)
    sixths = (b - r) / range + 2.0f;
  else
    sixths = (r - g) / range + 4.0f;
  return sixths / 6.0f;
}

std::array<float, 3> of_hue(float hue, float most, float range) {
  const float sixths = (hue - std::floor(hue)) * 6.0f;
  const auto channel = [&](float shift) {
    float k = shift + sixths;
    if (k >= 6.0f) k -= 6.0f;
    const float share = std::min(std::min(k, 4.0f - k), 1.0f);
    return most - range * std::max(share, 0.0f);
  };
  return {channel(5.0f), channel(3.0f), channel(1.0f)};
}

}  // namespace

Augmenter::Augmenter(Augmentation augmentation, const PictureShape& shape)
    : augmentation_(std::move(augmentation)), shape_(shape) {
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorCode::kInvalidArgument, "augment: " + message);
  };
  if (shape.channels < 1 || shape.height < 1 || shape.width < 1 || shape.height > kLongestSide ||
      shape.width > kLongestSide || shape.channels > kLongestSide)
    refuse(fmt::format("expected pictures with sides and channels from 1 to {}, got {} x {} x {}",
                       kLongestSide, shape.channels, shape.height, shape.width));
  for (const AugmentStep& step : augmentation_.steps) {
    const std::int64_t needed = augment_records()[static_cast<std::size_t>(step.kind)].channels;
    if (needed > 0 && shape.channels != needed)
      refuse(fmt::format("{}: expected pictures with {} channels, got {}", name(step.kind), needed,
                         shape.channels));
  }
  height_ = static_cast<std::size_t>(shape.height);
  width_ = static_cast<std::size_t>(shape.width);
  plane_ = height_ * width_;
  lanes_ = (width_ + kPlacesAtOnce - 1) / kPlacesAtOnce * kPlacesAtOnce;
  stride_ = width_ + 3;
  padded_.resize(static_cast<std::size_t>(shape.channels) * (height_ + 3) * stride_);
  const double middle = static_cast<double>(width_ - 1) / 2;
  for (std::size_t x = 0; x < lanes_; ++x)
    x_.push_back(static_cast<float>(static_cast<double>(x) - middle));
  for (auto* places : {&place_x_, &place_y_}) places->resize(lanes_);
  for (auto* parts : {&part_x_, &part_y_, &row_field_[0], &row_field_[1]}) parts->resize(lanes_);
  plane_memory_.resize(2 * plane_);
  blur_weights_.reserve(64);
  tones_.reserve(kMostAugmentSteps);
  // The control points, one before the first pixel and two after the last cell.
  const double spacing = std::max(2.0, static_cast<double>(std::min(height_, width_)) / 4);
  const auto splines = [&](std::size_t count, std::size_t& points) {
    Spline all;
    for (std::size_t i = 0; i < count; ++i) {
      const double t = static_cast<double>(i) / spacing;
      const double cell = std::floor(t);
      all.first.push_back(static_cast<std::uint32_t>(cell));
      for (const float w : spline_weights(t - cell)) all.weights.push_back(w);
      points = static_cast<std::size_t>(cell) + 4;
    }
    return all;
  };
  across_ = splines(width_, grid_columns_);
  down_ = splines(height_, grid_rows_);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    grid_[axis].resize(grid_rows_ * grid_columns_);
    expanded_[axis].resize(grid_rows_ * lanes_);
  }
}

void Augmenter::check_sizes(std::span<const float> in, std::span<float> out) const {
  const auto expected = static_cast<std::size_t>(shape_.elements());
  if (in.size() != expected || out.size() != expected)
    throw Error(ErrorCode::kShape, fmt::format("augment: expected pictures of {} numbers, got {} "
                                               "for a result of {}",
                                               expected, in.size(), out.size()));
}

void Augmenter::operator()(Key key, std::span<const float> in, std::span<float> out) {
  const DefaultFloatMode mode;
  check_sizes(in, out);
  draw(key);
  resample_drawn(in, out);
  for (const Tone& tone : tones_) apply(tone, out);
}

void Augmenter::resample(const PictureMap& map, std::span<const float> in, std::span<float> out) {
  const DefaultFloatMode mode;
  check_sizes(in, out);
  map_ = map;
  elastic_ = false;
  resample_drawn(in, out);
}

// ---- what is drawn

// Word 0 of a step's key decides whether it takes place.
void Augmenter::draw(Key key) {
  map_ = {};
  tones_.clear();
  elastic_ = false;
  for (std::size_t i = 0; i < augmentation_.steps.size(); ++i) {
    const AugmentStep& step = augmentation_.steps[i];
    AugmentDraws draws(key.fold_in(i));
    if (draws.unit() < step.probability) choose(step.kind, step.amount, draws);
  }
}

// Maps of later steps come first: they say where, in the result of the earlier ones, a pixel is.
void Augmenter::then(const PictureMap& inner) {
  const PictureMap m = map_;
  // The product of 3 x 3 matrices whose last element is 1 before and after.
  const double last = m.gx * inner.x0 + m.gy * inner.y0 + 1;
  map_ = {.xx = (m.xx * inner.xx + m.xy * inner.yx + m.x0 * inner.gx) / last,
          .xy = (m.xx * inner.xy + m.xy * inner.yy + m.x0 * inner.gy) / last,
          .x0 = (m.xx * inner.x0 + m.xy * inner.y0 + m.x0) / last,
          .yx = (m.yx * inner.xx + m.yy * inner.yx + m.y0 * inner.gx) / last,
          .yy = (m.yx * inner.xy + m.yy * inner.yy + m.y0 * inner.gy) / last,
          .y0 = (m.yx * inner.x0 + m.yy * inner.y0 + m.y0) / last,
          .gx = (m.gx * inner.xx + m.gy * inner.yx + inner.gx) / last,
          .gy = (m.gx * inner.xy + m.gy * inner.yy + inner.gy) / last};
}

namespace {

PictureMap moved(double x, double y) { return {.x0 = -x, .y0 = -y}; }

PictureMap rotated(double degrees) {
  const auto angle = static_cast<float>(degrees * kDegree);
  const double s = arithmetic::sin(angle), c = arithmetic::cos(angle);
  return {.xx = c, .xy = s, .yx = -s, .yy = c};
}

PictureMap slanted_along_x(double tangent) { return {.xy = tangent}; }
PictureMap slanted_along_y(double tangent) { return {.yx = tangent}; }

double tangent_of(double degrees) { return arithmetic::tan(static_cast<float>(degrees * kDegree)); }

}  // namespace

void Augmenter::choose(AugmentKind kind, double amount, AugmentDraws& draws) {
  const auto width = static_cast<double>(width_), height = static_cast<double>(height_);
  switch (kind) {
    case AugmentKind::kShift: {
      const double x = draws.either_side(amount);
      return then(moved(x, draws.either_side(amount)));
    }
    case AugmentKind::kRotate:
      return then(rotated(draws.either_side(amount)));
    case AugmentKind::kScale: {
      const double inverse = 1 / draws.within(1 - amount, 1 + amount);
      return then({.xx = inverse, .yy = inverse});
    }
    case AugmentKind::kShear:
      then(slanted_along_x(tangent_of(draws.either_side(amount))));
      return then(slanted_along_y(tangent_of(draws.either_side(amount))));
    case AugmentKind::kFlip:
      return then({.xx = -1});
    case AugmentKind::kFlipVertical:
      return then({.yy = -1});
    case AugmentKind::kCrop: {
      const auto places = static_cast<std::uint64_t>(2 * amount + 1);
      const double x = draws.below(places) - amount;
      return then(moved(x, draws.below(places) - amount));
    }
    case AugmentKind::kResizedCrop: {
      constexpr double kLogOfFourThirds = 0.2876820724517809;
      const double area = draws.within(amount, 1);
      const double ratio = arithmetic::exp(static_cast<float>(draws.either_side(kLogOfFourThirds)));
      const double across = std::min(1.0, std::sqrt(area * ratio));
      const double down = std::min(1.0, std::sqrt(area / ratio));
      const double x = draws.either_side((1 - across) * width / 2);
      return then(
          {.xx = across, .x0 = x, .yy = down, .y0 = draws.either_side((1 - down) * height / 2)});
    }
    case AugmentKind::kPerspective:
      return add_perspective(amount, draws);
    case AugmentKind::kElastic:
      return add_elastic(amount, draws);
    case AugmentKind::kBrightness:
    case AugmentKind::kContrast:
    case AugmentKind::kSaturation:
    case AugmentKind::kSharpness:
      return add_tone(kind, draws.within(1 - amount, 1 + amount));
    case AugmentKind::kHue:
      return add_tone(kind, draws.either_side(amount));
    case AugmentKind::kBlur:
      return add_tone(kind, draws.within(0, amount));
    case AugmentKind::kPosterize:
    case AugmentKind::kSolarize:
    case AugmentKind::kAutocontrast:
    case AugmentKind::kEqualize:
      return add_tone(kind, amount);
    case AugmentKind::kNoise:
      add_tone(kind, amount);
      tones_.back().key = draws.key().fold_in(0);
      return;
    case AugmentKind::kErase:
      add_tone(kind, amount);
      tones_.back().x = draws.below(width_);
      tones_.back().y = draws.below(height_);
      return;
    case AugmentKind::kRand:
      return choose_any(amount / kMostMagnitude, false, draws);
    case AugmentKind::kTrivial:
      return choose_any(draws.below(31) / kMostMagnitude, true, draws);
    case AugmentKind::kMixup:
    case AugmentKind::kCutmix:
      return;  // RowAugmenter's
  }
}

// The operations of RandAugment (arXiv 1909.13719) and, with wide ranges, of TrivialAugment (arXiv
// 2103.10158), each as likely as the others, at a strength from 0 to 1. Pictures without colours
// have no saturation.
void Augmenter::choose_any(double strength, bool wide, AugmentDraws& draws) {
  const std::uint32_t count = shape_.channels == 3 ? 14 : 13;
  const std::uint32_t operation = draws.below(count);
  const double sign = draws.sign();
  const auto tone = [&](AugmentKind kind) {
    add_tone(kind, 1 + sign * strength * (wide ? 0.99 : 0.9));
  };
  const double slant = sign * strength * (wide ? 0.99 : 0.3);
  const auto distance = [&](std::size_t side) {
    return std::floor(sign * strength * (wide ? 32 : 150.0 / 331 * static_cast<double>(side)) +
                      0.5);
  };
  switch (operation) {
    case 0:
      return;
    case 1:
      return then(slanted_along_x(slant));
    case 2:
      return then(slanted_along_y(slant));
    case 3:
      return then(moved(distance(width_), 0));
    case 4:
      return then(moved(0, distance(height_)));
    case 5:
      return then(rotated(sign * strength * (wide ? 135 : 30)));
    case 6:
      return tone(AugmentKind::kBrightness);
    case 7:
      return tone(AugmentKind::kContrast);
    case 8:
      return tone(AugmentKind::kSharpness);
    case 9:
      return add_tone(AugmentKind::kPosterize, 8 - std::floor(strength * (wide ? 6 : 4) + 0.5));
    case 10:
      return add_tone(AugmentKind::kSolarize, 1 - strength);
    case 11:
      return add_tone(AugmentKind::kAutocontrast, 0);
    case 12:
      return add_tone(AugmentKind::kEqualize, 0);
    default:
      return tone(AugmentKind::kSaturation);
  }
}

// The projective map of the picture's corners to the moved ones (Heckbert, Fundamentals of Texture
// Mapping and Image Warping, 1989, section 2.2.3): of the unit square, then of the picture.
void Augmenter::add_perspective(double amount, AugmentDraws& draws) {
  const double half_x = static_cast<double>(width_) / 2, half_y = static_cast<double>(height_) / 2;
  std::array<double, 4> x{-half_x, half_x, half_x, -half_x}, y{-half_y, -half_y, half_y, half_y};
  for (std::size_t i = 0; i < 4; ++i) {
    x[i] += draws.either_side(amount * half_x);
    y[i] += draws.either_side(amount * half_y);
  }
  const double dx1 = x[1] - x[2], dx2 = x[3] - x[2], sx = x[0] - x[1] + x[2] - x[3];
  const double dy1 = y[1] - y[2], dy2 = y[3] - y[2], sy = y[0] - y[1] + y[2] - y[3];
  const double area = dx1 * dy2 - dx2 * dy1;
  const double g = (sx * dy2 - dx2 * sy) / area, h = (dx1 * sy - sx * dy1) / area;
  // Of s = x / width + 1/2 and t = y / height + 1/2.
  const PictureMap square{.xx = x[1] - x[0] + g * x[1],
                          .xy = x[3] - x[0] + h * x[3],
                          .x0 = x[0],
                          .yx = y[1] - y[0] + g * y[1],
                          .yy = y[3] - y[0] + h * y[3],
                          .y0 = y[0],
                          .gx = g,
                          .gy = h};
  then(square);
  then({.xx = 1 / (2 * half_x), .x0 = 0.5, .yy = 1 / (2 * half_y), .y0 = 0.5});
}

void Augmenter::add_elastic(double amount, AugmentDraws& draws) {
  const auto most = static_cast<float>(amount);
  for (std::vector<float>& grid : grid_)
    for (float& point : grid) {
      const float drawn = most * (static_cast<float>(draws.word() >> 8) * 0x1p-23f - 1.0f);
      point = elastic_ ? point + drawn : drawn;
    }
  elastic_ = true;
}

// ---- the resampling

// Whether every pixel of the result is a pixel of the picture, or outside.
bool Augmenter::copies_pixels() const {
  const auto whole = [](double v) { return v == std::floor(v) && std::fabs(v) <= kLongestSide; };
  return !elastic_ && map_.gx == 0 && map_.gy == 0 && map_.xy == 0 && map_.yx == 0 &&
         std::fabs(map_.xx) == 1 && std::fabs(map_.yy) == 1 && whole(map_.x0) && whole(map_.y0);
}

void Augmenter::copy_pixels(std::span<const float> in, std::span<float> out) const {
  const auto moves_x = static_cast<std::int64_t>(map_.x0),
             moves_y = static_cast<std::int64_t>(map_.y0);
  const auto from = [](std::int64_t at, std::int64_t side, bool turned, std::int64_t moves) {
    return (turned ? side - 1 - at : at) + moves;
  };
  float* to = out.data();
  for (std::int64_t channel = 0; channel < shape_.channels; ++channel) {
    const float* const plane = in.data() + static_cast<std::size_t>(channel) * plane_;
    for (std::int64_t y = 0; y < shape_.height; ++y, to += width_) {
      const std::int64_t row = from(y, shape_.height, map_.yy < 0, moves_y);
      if (row < 0 || row >= shape_.height) {
        std::fill_n(to, width_, 0.0f);
        continue;
      }
      const float* const source = plane + static_cast<std::size_t>(row) * width_;
      for (std::int64_t x = 0; x < shape_.width; ++x) {
        const std::int64_t column = from(x, shape_.width, map_.xx < 0, moves_x);
        to[x] = column >= 0 && column < shape_.width ? source[column] : 0.0f;
      }
    }
  }
}

void Augmenter::resample_drawn(std::span<const float> in, std::span<float> out) {
  if (copies_pixels()) return copy_pixels(in, out);
  const auto channels = static_cast<std::size_t>(shape_.channels);
  const std::size_t padded_plane = (height_ + 3) * stride_;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t y = 0; y < height_; ++y)
      std::memcpy(padded_.data() + c * padded_plane + (y + 1) * stride_ + 1,
                  in.data() + c * plane_ + y * width_, width_ * sizeof(float));
  if (elastic_) expand_field();
  for (std::size_t y = 0; y < height_; ++y) {
    row_places(y);
    for (std::size_t c = 0; c < channels; ++c) {
      const float* const plane = padded_.data() + c * padded_plane;
      float* const to = out.data() + c * plane_ + y * width_;
      for (std::size_t x = 0; x < width_; ++x) {
        const float* const p = plane + static_cast<std::size_t>(place_y_[x]) * stride_ +
                               static_cast<std::size_t>(place_x_[x]);
        const float* const q = p + stride_;
        const float right = part_x_[x];
        const float above = p[0] + right * (p[1] - p[0]);
        const float below = q[0] + right * (q[1] - q[0]);
        to[x] = above + part_y_[x] * (below - above);
      }
    }
  }
}

// The rows of the control points, at every column.
void Augmenter::expand_field() {
  for (std::size_t axis = 0; axis < 2; ++axis)
    for (std::size_t r = 0; r < grid_rows_; ++r) {
      const float* const points = grid_[axis].data() + r * grid_columns_;
      float* const to = expanded_[axis].data() + r * lanes_;
      for (std::size_t x = 0; x < width_; ++x) {
        const float* const p = points + across_.first[x];
        const float* const w = across_.weights.data() + 4 * x;
        to[x] = ((w[0] * p[0] + w[1] * p[1]) + w[2] * p[2]) + w[3] * p[3];
      }
    }
}

// The displacements of a row of pixels.
void Augmenter::row_field(std::size_t y) {
  const float* const w = down_.weights.data() + 4 * y;
  const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const float* const rows = expanded_[axis].data() + down_.first[y] * lanes_;
    float* const to = row_field_[axis].data();
    for (std::size_t begin = 0; begin < lanes_; begin += kPlacesAtOnce) {
      float sums[kPlacesAtOnce];
      const float* const a = rows + begin;
      const float* const b = a + lanes_;
      const float* const c = b + lanes_;
      const float* const d = c + lanes_;
      for (std::size_t i = 0; i < kPlacesAtOnce; ++i)
        sums[i] = ((w0 * a[i] + w1 * b[i]) + w2 * c[i]) + w3 * d[i];
      std::memcpy(to + begin, sums, sizeof sums);
    }
  }
}

void Augmenter::row_places(std::size_t y) {
  const bool projective = map_.gx != 0 || map_.gy != 0;
  if (elastic_) row_field(y);
  if (elastic_)
    projective ? row_places_as<true, true>(y) : row_places_as<true, false>(y);
  else
    projective ? row_places_as<false, true>(y) : row_places_as<false, false>(y);
}

// Places in the padded picture are never negative, so that truncation is floor. A place that is no
// number is outside, too.
template <bool with_field, bool projective>
void Augmenter::row_places_as(std::size_t y) {
  const auto xx = static_cast<float>(map_.xx), xy = static_cast<float>(map_.xy),
             x0 = static_cast<float>(map_.x0), yx = static_cast<float>(map_.yx),
             yy = static_cast<float>(map_.yy), y0 = static_cast<float>(map_.y0),
             gx = static_cast<float>(map_.gx), gy = static_cast<float>(map_.gy);
  const float middle_x = static_cast<float>(width_ + 1) / 2;
  const float middle_y = static_cast<float>(height_ + 1) / 2;
  const auto most_x = static_cast<float>(width_ + 1), most_y = static_cast<float>(height_ + 1);
  const float row = static_cast<float>(y) - static_cast<float>(height_ - 1) / 2;
  for (std::size_t begin = 0; begin < lanes_; begin += kPlacesAtOnce) {
    float u[kPlacesAtOnce], v[kPlacesAtOnce], part[kPlacesAtOnce];
    std::int32_t whole[kPlacesAtOnce];
    const float* const columns = x_.data() + begin;
    const float* const field_x = row_field_[0].data() + begin;
    const float* const field_y = row_field_[1].data() + begin;
    for (std::size_t i = 0; i < kPlacesAtOnce; ++i) {
      const float px = with_field ? columns[i] + field_x[i] : columns[i];
      const float py = with_field ? row + field_y[i] : row;
      u[i] = xx * px + (xy * py + x0);
      v[i] = yx * px + (yy * py + y0);
      if constexpr (projective) {
        const float depth = gx * px + (gy * py + 1.0f);
        u[i] = u[i] / depth;
        v[i] = v[i] / depth;
      }
    }
    const auto place = [&](float* at, float middle, float most, std::int32_t* places,
                           float* parts) {
      for (std::size_t i = 0; i < kPlacesAtOnce; ++i) {
        float p = at[i] + middle;
        p = p > 0.0f ? p : 0.0f;
        p = p < most ? p : most;
        whole[i] = static_cast<std::int32_t>(p);
        part[i] = p - static_cast<float>(whole[i]);
      }
      std::memcpy(places + begin, whole, sizeof whole);
      std::memcpy(parts + begin, part, sizeof part);
    };
    place(u, middle_x, most_x, place_x_.data(), part_x_.data());
    place(v, middle_y, most_y, place_y_.data(), part_y_.data());
  }
}

// ---- the steps that change values

void Augmenter::apply(const Tone& tone, std::span<float> out) {
  const auto channels = static_cast<std::size_t>(shape_.channels);
  const float a = tone.amount;
  switch (tone.kind) {
    case AugmentKind::kBrightness:
      if (a == 1.0f) return;
      for (float& v : out) v = in_unit_range(a * v);
      return;
    case AugmentKind::kContrast: {
      if (a == 1.0f) return;
      const float mean = arithmetic::sum(grey(out)) / static_cast<float>(plane_);
      for (float& v : out) v = in_unit_range(mean + a * (v - mean));
      return;
    }
    case AugmentKind::kSaturation: {
      if (a == 1.0f) return;
      const std::span<const float> greys = grey(out);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const float g = greys[i % plane_];
        out[i] = in_unit_range(g + a * (out[i] - g));
      }
      return;
    }
    case AugmentKind::kHue:
      if (a == 0.0f) return;
      for (std::size_t i = 0; i < plane_; ++i) {
        float &r = out[i], &g = out[plane_ + i], &b = out[2 * plane_ + i];
        const float most = std::max(std::max(r, g), b);
        const float range = most - std::min(std::min(r, g), b);
        const auto turned = of_hue(hue_of(r, g, b, most, range) + a, most, range);
        r = in_unit_range(turned[0]);
        g = in_unit_range(turned[1]);
        b = in_unit_range(turned[2]);
      }
      return;
    case AugmentKind::kBlur:
      return blur(a, out);
    case AugmentKind::kSharpness:
      return sharpen(a, out);
    case AugmentKind::kPosterize: {
      const std::uint32_t kept = 0xffu << (8 - static_cast<std::uint32_t>(a));
      for (float& v : out) v = of_level(level_of(v) & kept);
      return;
    }
    case AugmentKind::kSolarize:
      for (float& v : out) v = v >= a ? 1.0f - v : v;
      return;
    case AugmentKind::kAutocontrast:
      for (std::size_t c = 0; c < channels; ++c) {
        const std::span<float> plane = out.subspan(c * plane_, plane_);
        const auto [low, high] = std::minmax_element(plane.begin(), plane.end());
        const float least = *low, range = *high - least;
        if (!(range > 0.0f)) continue;
        for (float& v : plane) v = (v - least) / range;
      }
      return;
    case AugmentKind::kEqualize:
      return equalize(out);
    case AugmentKind::kNoise:
      return noise(tone, out);
    case AugmentKind::kErase:
      return erase(tone, out);
    default:
      throw Error(ErrorCode::kInternal, "augment: a step without an end");
  }
}

// One number a pixel: of three channels those of red, green and blue, else their mean.
std::span<const float> Augmenter::grey(std::span<const float> pixels) {
  const auto channels = static_cast<std::size_t>(shape_.channels);
  if (channels == 1) return pixels;
  const std::span<float> greys(plane_memory_.data(), plane_);
  for (std::size_t i = 0; i < plane_; ++i) {
    if (channels == 3) {
      greys[i] = (kRed * pixels[i] + kGreen * pixels[plane_ + i]) + kBlue * pixels[2 * plane_ + i];
      continue;
    }
    float sum = 0;
    for (std::size_t c = 0; c < channels; ++c) sum += pixels[c * plane_ + i];
    greys[i] = sum / static_cast<float>(channels);
  }
  return greys;
}

// Along rows, then along columns. Pixels beyond the border are those of the border.
void Augmenter::blur(float deviation, std::span<float> out) {
  constexpr float kLeast = 0.1f;  // below, the weights of neighbours are 0
  if (deviation < kLeast) return;
  const auto radius = static_cast<std::int64_t>(std::ceil(3.0f * deviation));
  blur_weights_.clear();
  float sum = 0;
  for (std::int64_t i = -radius; i <= radius; ++i) {
    const float t = static_cast<float>(i) / deviation;
    blur_weights_.push_back(arithmetic::exp(-0.5f * (t * t)));
    sum += blur_weights_.back();
  }
  for (float& w : blur_weights_) w = w / sum;
  const auto line = [&](const float* from, float* to, std::int64_t count, std::int64_t step) {
    for (std::int64_t i = 0; i < count; ++i) {
      float total = 0;
      for (std::int64_t k = -radius; k <= radius; ++k)
        total += blur_weights_[static_cast<std::size_t>(k + radius)] *
                 from[std::clamp<std::int64_t>(i + k, 0, count - 1) * step];
      to[i * step] = total;
    }
  };
  for (std::int64_t c = 0; c < shape_.channels; ++c) {
    float* const plane = out.data() + static_cast<std::size_t>(c) * plane_;
    float* const memory = plane_memory_.data();
    for (std::int64_t y = 0; y < shape_.height; ++y)
      line(plane + y * shape_.width, memory + y * shape_.width, shape_.width, 1);
    for (std::int64_t x = 0; x < shape_.width; ++x)
      line(memory + x, plane + x, shape_.height, shape_.width);
  }
}

// Away from the mean of a pixel, with weight 5, and its eight neighbours. The border stays.
void Augmenter::sharpen(float factor, std::span<float> out) {
  if (factor == 1.0f || height_ < 3 || width_ < 3) return;
  for (std::int64_t c = 0; c < shape_.channels; ++c) {
    const std::span<float> plane = out.subspan(static_cast<std::size_t>(c) * plane_, plane_);
    std::copy(plane.begin(), plane.end(), plane_memory_.begin());
    for (std::size_t y = 1; y + 1 < height_; ++y)
      for (std::size_t x = 1; x + 1 < width_; ++x) {
        const float* const p = plane_memory_.data() + y * width_ + x;
        const float* const above = p - width_;
        const float* const below = p + width_;
        const float sum = ((above[-1] + above[0]) + above[1]) + ((p[-1] + 5.0f * p[0]) + p[1]) +
                          ((below[-1] + below[0]) + below[1]);
        const float smooth = sum / 13.0f;
        plane[y * width_ + x] = in_unit_range(smooth + factor * (p[0] - smooth));
      }
  }
}

// As Pillow has it: level v of a channel becomes the number of pixels below it, plus half a step,
// in steps of a 255th of all pixels but those of the last level.
void Augmenter::equalize(std::span<float> out) const {
  for (std::int64_t c = 0; c < shape_.channels; ++c) {
    const std::span<float> plane = out.subspan(static_cast<std::size_t>(c) * plane_, plane_);
    std::array<std::uint64_t, 256> counts{};
    for (const float v : plane) ++counts[level_of(v)];
    const auto last = std::find_if(counts.rbegin(), counts.rend(), [](auto n) { return n > 0; });
    const std::uint64_t step = (plane_ - *last) / 255;
    if (step == 0) continue;
    std::array<float, 256> levels{};
    std::uint64_t below = step / 2;
    for (std::size_t v = 0; v < levels.size(); ++v) {
      levels[v] = of_level(static_cast<std::uint32_t>(std::min<std::uint64_t>(below / step, 255)));
      below += counts[v];
    }
    for (float& v : plane) v = levels[level_of(v)];
  }
}

// The sum of eight 16-bit numbers is an exact integer; its distribution has the mean and deviation
// below, and ends 4.9 deviations from its mean.
void Augmenter::noise(const Tone& tone, std::span<float> out) const {
  constexpr std::int32_t kMean = 262'140;     // 8 * 65535 / 2
  constexpr float kDeviation = 53'510.2359f;  // sqrt(8 * (65536^2 - 1) / 12)
  const float scale = tone.amount / kDeviation;
  AugmentDraws draws(tone.key);
  for (float& v : out) {
    std::uint32_t sum = 0;
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t word = draws.word();
      sum += (word & 0xffff) + (word >> 16);
    }
    v = in_unit_range(v + scale * static_cast<float>(static_cast<std::int32_t>(sum) - kMean));
  }
}

void Augmenter::erase(const Tone& tone, std::span<float> out) const {
  const auto side = static_cast<std::int64_t>(tone.amount);
  const auto range = [&](std::int64_t middle, std::int64_t length) {
    const std::int64_t begin = middle - side / 2;
    return std::pair{std::max<std::int64_t>(begin, 0), std::min(begin + side, length)};
  };
  const auto [left, right] = range(tone.x, shape_.width);
  const auto [top, bottom] = range(tone.y, shape_.height);
  for (std::int64_t c = 0; c < shape_.channels; ++c)
    for (std::int64_t y = top; y < bottom; ++y)
      for (std::int64_t x = left; x < right; ++x)
        out[static_cast<std::size_t>((c * shape_.height + y) * shape_.width + x)] = 0.0f;
}

}  // namespace limpid
