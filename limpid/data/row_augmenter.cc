// RowAugmenter: rows of a data set, and the steps that mix two of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/data/augment.h"
#include "limpid/data/detail/augment_draws.h"

namespace limpid {
namespace {

// The check comes before what it protects.
const PictureShape& checked_shape(const Augmentation& augmentation, const Dataset& data) {
  if (!data.picture)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("augment: expected pictures, the data has {} features",
                            data.input_type().shape.elements()));
  check_augmentation(augmentation, data);
  return *data.picture;
}

// A number of the distribution Beta(a, a), a <= 1, by Johnk's method: of u^(1/a) and v^(1/a) whose
// sum is at most 1, the first one's share. It hardly ever takes more than a few tries.
double beta_share(double a, AugmentDraws& draws) {
  constexpr int kTries = 64;
  const auto power = static_cast<float>(1 / a);
  for (int i = 0; i < kTries; ++i) {
    const double u = arithmetic::power(static_cast<float>(draws.unit()), power);
    const double v = arithmetic::power(static_cast<float>(draws.unit()), power);
    if (u + v > 0 && u + v <= 1) return u / (u + v);
  }
  return 0.5;
}

}  // namespace

RowAugmenter::RowAugmenter(const Augmentation& augmentation, const Dataset& data,
                           std::int64_t classes)
    : augmentation_(augmentation),
      data_(data),
      mixes_(mixes(augmentation)),
      augmenter_(augmentation, checked_shape(augmentation, data)),
      classes_(static_cast<std::size_t>(classes)) {
  if (mixes_ && classes < data.classes)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("augment: expected {} classes or more, got {}", data.classes, classes));
  if (mixes_) other_.resize(static_cast<std::size_t>(data.picture->elements()));
}

std::span<const float> RowAugmenter::picture(std::int64_t row) const {
  const auto size = static_cast<std::size_t>(data_.picture->elements());
  return data_.inputs.values<float>().subspan(static_cast<std::size_t>(row) * size, size);
}

void RowAugmenter::operator()(Key epoch, std::int64_t row, std::span<float> x, std::span<float> y) {
  const DefaultFloatMode mode;
  const Key key = epoch.fold_in(static_cast<std::uint64_t>(row));
  augmenter_(key, picture(row), x);
  if (!mixes_) return;
  if (y.size() != classes_)
    throw Error(ErrorCode::kShape,
                fmt::format("augment: expected room for {} classes, got {}", classes_, y.size()));
  const auto labels = data_.targets.values<std::int32_t>();
  std::fill(y.begin(), y.end(), 0.0f);
  y[static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])] = 1.0f;
  for (std::size_t i = 0; i < augmentation_.steps.size(); ++i) {
    const AugmentStep& step = augmentation_.steps[i];
    if (step.kind != AugmentKind::kMixup && step.kind != AugmentKind::kCutmix) continue;
    AugmentDraws draws(key.fold_in(i));
    if (!(draws.unit() < step.probability)) continue;
    const auto other =
        static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(data_.size())));
    augmenter_(epoch.fold_in(static_cast<std::uint64_t>(other)), picture(other), other_);
    const double share = beta_share(step.amount, draws);
    mix(step.kind, share, labels[static_cast<std::size_t>(other)], x, y, draws);
  }
}

// `share` is that of the row itself.
void RowAugmenter::mix(AugmentKind kind, double share, std::int64_t label, std::span<float> x,
                       std::span<float> y, AugmentDraws& draws) const {
  auto own = static_cast<float>(share);
  if (kind == AugmentKind::kMixup) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = other_[i] + own * (x[i] - other_[i]);
  } else {
    const PictureShape& shape = *data_.picture;
    const double side = std::sqrt(1 - share);
    const auto range = [&](std::int64_t length) {
      const auto cut = static_cast<std::int64_t>(side * static_cast<double>(length));
      const std::int64_t begin = draws.below(static_cast<std::uint64_t>(length)) - cut / 2;
      return std::pair{std::max<std::int64_t>(begin, 0), std::min(begin + cut, length)};
    };
    const auto [left, right] = range(shape.width);
    const auto [top, bottom] = range(shape.height);
    for (std::int64_t c = 0; c < shape.channels; ++c)
      for (std::int64_t row = top; row < bottom; ++row) {
        const auto begin = static_cast<std::size_t>((c * shape.height + row) * shape.width + left);
        const auto part =
            std::span<const float>(other_).subspan(begin, static_cast<std::size_t>(right - left));
        std::copy(part.begin(), part.end(), x.begin() + static_cast<std::ptrdiff_t>(begin));
      }
    own = 1.0f - static_cast<float>((right - left) * (bottom - top)) /
                     static_cast<float>(shape.height * shape.width);
  }
  for (float& p : y) p = p * own;
  y[static_cast<std::size_t>(label)] += 1.0f - own;
}

}  // namespace limpid
