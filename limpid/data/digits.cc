#include "limpid/data/digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/data/detail/digit_skeletons.h"

// Below are only + - * /, square roots and comparisons of floats: IEEE 754 fixes the bits of these,
// while sines and exponentials differ between C libraries.

namespace limpid {
namespace {

using digit_skeletons::Joint;
using digit_skeletons::kSkeletons;
using SkeletonNode = digit_skeletons::Node;
using digit_skeletons::Skeleton;

constexpr std::size_t kSide = static_cast<std::size_t>(kDigitSide);
constexpr std::size_t kPixels = kSide * kSide;

struct PenPoint {
  float x;
  float y;
};

PenPoint operator+(PenPoint a, PenPoint b) { return {a.x + b.x, a.y + b.y}; }
PenPoint operator-(PenPoint a, PenPoint b) { return {a.x - b.x, a.y - b.y}; }
PenPoint operator*(float s, PenPoint a) { return {s * a.x, s * a.y}; }

// The random numbers of one image, one after another.
class Draws {
 public:
  explicit Draws(Key key) : key_(key) {}

  std::size_t below(std::uint64_t bound) { return key_.below(bound, next_++); }
  float uniform(float low, float high) { return low + (high - low) * key_.uniform(next_++); }
  // Mean 0, standard deviation `deviation`, never beyond 3.5 of them: four uniform numbers.
  float spread(float deviation) {
    float sum = -2.0f;
    for (int i = 0; i < 4; ++i) sum += key_.uniform(next_++);
    return sum * 1.7320508f * deviation;
  }

 private:
  Key key_;
  std::uint64_t next_ = 0;
};

// How one writer bends, slants and stretches every digit.
class Hand {
 public:
  explicit Hand(Draws& draws)
      : bend_x_{draws.spread(0.15f), draws.spread(0.15f), draws.spread(0.15f)},
        bend_y_{draws.spread(0.15f), draws.spread(0.15f), draws.spread(0.15f)} {
    // The rational form of a rotation: t is the tangent of half its angle.
    const float t = draws.spread(0.09f);
    const float cosine = (1.0f - t * t) / (1.0f + t * t);
    const float sine = 2.0f * t / (1.0f + t * t);
    const float width = draws.uniform(0.6f, 1.15f);
    const float slant = -0.16f + draws.spread(0.27f);
    // Stretch, then slant, then rotate.
    xx_ = cosine * width;
    xy_ = cosine * slant - sine;
    yx_ = sine * width;
    yy_ = sine * slant + cosine;
  }

  // A point of the unit square on paper; the middle of the square is the origin.
  PenPoint operator()(PenPoint p) const {
    const float u = p.x - 0.5f;
    const float v = p.y - 0.5f;
    const float x = u + bend_x_[0] * u * u + bend_x_[1] * u * v + bend_x_[2] * v * v;
    const float y = v + bend_y_[0] * u * u + bend_y_[1] * u * v + bend_y_[2] * v * v;
    return {xx_ * x + xy_ * y, yx_ * x + yy_ * y};
  }

 private:
  std::array<float, 3> bend_x_;
  std::array<float, 3> bend_y_;
  float xx_, xy_, yx_, yy_;
};

// A straight piece of the pen's way and the pressure on it, 1 on average.
struct Segment {
  PenPoint from;
  PenPoint to;
  float pressure;
};

// Cubic Hermite interpolation: from a to b, with these derivatives at its ends.
PenPoint on_curve(PenPoint a, PenPoint b, PenPoint leaving, PenPoint arriving, float t) {
  const float s = 1.0f - t;
  return (s * s * (1.0f + 2.0f * t)) * a + (t * t * (3.0f - 2.0f * t)) * b + (s * s * t) * leaving -
         (s * t * t) * arriving;
}

// Where this hand puts the nodes of a skeleton, and how hard it presses there.
struct Station {
  PenPoint place;
  float pressure;
};

std::vector<Station> place(Skeleton nodes, const Hand& hand, Draws& draws) {
  constexpr float kJitter = 0.038f;
  constexpr float kPressure = 0.12f;
  std::vector<Station> stations;
  for (const SkeletonNode& node : nodes) {
    const PenPoint p = hand({node.x + draws.spread(kJitter), node.y + draws.spread(kJitter)});
    stations.push_back({p, 1.0f + draws.spread(kPressure)});
  }
  return stations;
}

// The pen's way through its stations, in straight pieces.
std::vector<Segment> trace(Skeleton nodes, const std::vector<Station>& stations) {
  constexpr int kPieces = 6;
  // The derivative of the curve at node i, on its piece along `chord`: Catmull and Rom's where the
  // pen passes, the chord itself where it begins, turns or ends.
  const auto derivative = [&](std::size_t i, PenPoint chord) {
    const bool passes = nodes[i].joint == Joint::kPass && i + 1 < nodes.size() &&
                        nodes[i + 1].joint != Joint::kStart;
    return passes ? 0.5f * (stations[i + 1].place - stations[i - 1].place) : chord;
  };
  std::vector<Segment> way;
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    if (nodes[i + 1].joint == Joint::kStart) continue;
    const auto& [a, press_a] = stations[i];
    const auto& [b, press_b] = stations[i + 1];
    const PenPoint leaving = derivative(i, b - a);
    const PenPoint arriving = derivative(i + 1, b - a);
    PenPoint from = a;
    for (int piece = 1; piece <= kPieces; ++piece) {
      const float t = static_cast<float>(piece) / kPieces;
      const PenPoint to = on_curve(a, b, leaving, arriving, t);
      way.push_back({from, to, press_a + (press_b - press_a) * t});
      from = to;
    }
  }
  return way;
}

float length(PenPoint p) { return std::sqrt(p.x * p.x + p.y * p.y); }

// Scales the way to a box of `box` pixels (no skeleton shrinks to a point: the bends are too weak
// for that) and puts its centre of mass at `centre`.
void fit(std::vector<Segment>& way, float box, PenPoint centre) {
  PenPoint low = way[0].from;
  PenPoint high = low;
  PenPoint moment{0, 0};
  float total = 0;
  for (const Segment& s : way) {
    for (const PenPoint p : {s.from, s.to}) {
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
    const float weight = length(s.to - s.from);
    moment = moment + (0.5f * weight) * (s.from + s.to);
    total += weight;
  }
  const float scale = box / std::max(high.x - low.x, high.y - low.y);
  const PenPoint middle = (1.0f / total) * moment;
  for (Segment& s : way) {
    s.from = scale * (s.from - middle) + centre;
    s.to = scale * (s.to - middle) + centre;
  }
}

using Field = std::array<float, kPixels>;

// The pixels whose centres may be in [low, high] on one axis, as [first, second).
std::pair<int, int> pixels_between(float low, float high) {
  const auto bounded = [](float v) {
    return static_cast<int>(std::clamp(v, 0.0f, static_cast<float>(kSide)));
  };
  return {bounded(low), bounded(high + 1.0f)};
}

// Lowers the squared distances of the pixels around a segment to those from it; heavy pressure
// makes them smaller.
void draw(Field& field, const Segment& s, float reach) {
  const auto [x0, x1] =
      pixels_between(std::min(s.from.x, s.to.x) - reach, std::max(s.from.x, s.to.x) + reach);
  const auto [y0, y1] =
      pixels_between(std::min(s.from.y, s.to.y) - reach, std::max(s.from.y, s.to.y) + reach);
  const PenPoint way = s.to - s.from;
  const float squared = way.x * way.x + way.y * way.y;
  const float inverse = squared > 0.0f ? 1.0f / squared : 0.0f;
  const float lightness = 1.0f / (s.pressure * s.pressure);
  for (int y = y0; y < y1; ++y) {
    float* row = field.data() + static_cast<std::size_t>(y) * kSide;
    const float py = static_cast<float>(y) + 0.5f - s.from.y;
    for (int x = x0; x < x1; ++x) {
      const float px = static_cast<float>(x) + 0.5f - s.from.x;
      const float along = (px * way.x + py * way.y) * inverse;
      const float t = std::clamp(along, 0.0f, 1.0f);
      const float dx = px - t * way.x;
      const float dy = py - t * way.y;
      row[x] = std::min(row[x], (dx * dx + dy * dy) * lightness);
    }
  }
}

// Smooth noise over the image: random numbers on a coarse lattice, interpolated.
class Grain {
 public:
  Grain(Draws& draws, float deviation) {
    for (float& value : lattice_) value = draws.spread(deviation);
  }
  float at(std::size_t y, std::size_t x) const {
    const std::size_t i = y / kCell * kLattice + x / kCell;
    const float fy = static_cast<float>(y % kCell) / kCell;
    const float fx = static_cast<float>(x % kCell) / kCell;
    const float top = lattice_[i] + (lattice_[i + 1] - lattice_[i]) * fx;
    const float bottom =
        lattice_[i + kLattice] + (lattice_[i + kLattice + 1] - lattice_[i + kLattice]) * fx;
    return top + (bottom - top) * fy;
  }

 private:
  static constexpr std::size_t kCell = 4;
  static constexpr std::size_t kLattice = kSide / kCell + 1;
  std::array<float, kLattice * kLattice> lattice_;
};

// One image of `label`, onto black.
void write_digit(std::size_t label, Draws& draws, std::span<float> image) {
  const Skeleton skeleton = kSkeletons[label][draws.below(digit_skeletons::kHands)];
  const Hand hand(draws);
  std::vector<Segment> way = trace(skeleton, place(skeleton, hand, draws));

  const float radius = draws.uniform(0.65f, 1.95f);
  const float softness = draws.uniform(1.1f, 1.7f);
  const float box = (20.0f - 2.0f * radius) * draws.uniform(0.92f, 1.04f);
  const float middle = static_cast<float>(kSide) / 2;
  fit(way, box, {middle + draws.spread(0.4f), middle + draws.spread(0.4f)});

  const float reach = 1.4f * (radius + softness);
  Field field;
  const float far = reach * reach;
  field.fill(far);
  for (const Segment& s : way) draw(field, s, reach);

  const Grain grain(draws, 0.3f);
  for (std::size_t i = 0; i < kPixels; ++i) {
    if (field[i] == far) continue;  // black, as the image begins
    const float outside = std::sqrt(field[i]) - radius - grain.at(i / kSide, i % kSide);
    const float t = std::clamp(0.5f - outside / softness, 0.0f, 1.0f);
    const float ink = t * t * (3.0f - 2.0f * t);
    image[i] = std::floor(ink * 255.0f + 0.5f) / 255.0f;
  }
}

}  // namespace

Dataset digits(Key key, std::int64_t count, const std::function<void()>& between) {
  const DefaultFloatMode mode;
  if (count < 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("digits: expected 0 or more images, got {}", count));
  const auto n = static_cast<std::size_t>(count);
  std::vector<std::int32_t> labels(n);
  Dataset data;
  data.inputs =
      Tensor::generate<float>(Shape{count, kDigitSide * kDigitSide}, [&](std::span<float> out) {
        for (std::size_t i = 0; i < n; ++i) {
          if (between) between();
          Draws draws(key.fold_in(i));
          const std::size_t label = draws.below(kSkeletons.size());
          labels[i] = static_cast<std::int32_t>(label);
          write_digit(label, draws, out.subspan(i * kPixels, kPixels));
        }
      });
  data.targets = Tensor::from(Shape{count}, labels);
  data.classes = static_cast<std::int64_t>(kSkeletons.size());
  data.name = "digits";
  data.picture = PictureShape{1, kDigitSide, kDigitSide};
  return data;
}

Split digits_split(std::uint64_t seed, std::int64_t train_count, std::int64_t test_count,
                   const std::function<void()>& between) {
  const Key key(seed);
  return {.train = digits(key.fold_in(0), train_count, between),
          .validation = digits(key, 0),
          .test = digits(key.fold_in(1), test_count, between)};
}

}  // namespace limpid
