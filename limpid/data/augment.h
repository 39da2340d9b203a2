// Augmentation: pictures that are drawn anew for every epoch, as pure functions of (picture, key).
// Nothing else has an influence: not the batch, the thread, the rank or the machine. Depends on
// dataset.h and key.h.
//
//   Augmentation augmentation = parse_augmentation("shift=2,rotate=10");
//   Augmenter augment(augmentation, {.channels = 1, .height = 28, .width = 28});
//   augment(key.fold_in(epoch).fold_in(row), picture, drawn);
//
// Step i draws from key.fold_in(i). All steps that move pixels become one map, by which the picture
// is resampled once (docs/arithmetic.md, "Augmentation"); the other steps follow, in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/core/key.h"
#include "limpid/data/dataset.h"

namespace limpid {

class AugmentDraws;

// The steps. augment_records() says what each does.
enum class AugmentKind : std::uint8_t {
  kShift,
  kRotate,
  kScale,
  kShear,
  kFlip,
  kFlipVertical,
  kCrop,
  kResizedCrop,
  kPerspective,
  kElastic,
  kBrightness,
  kContrast,
  kSaturation,
  kHue,
  kBlur,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutocontrast,
  kEqualize,
  kNoise,
  kErase,
  kRand,
  kTrivial,
  kMixup,
  kCutmix,
};
// Their names (core/enum_names.h).
constexpr EnumNames<26> enum_names(AugmentKind) {
  return {"augment", {"shift",         "rotate",    "scale",        "shear",        "flip",
                      "flip_vertical", "crop",      "resized_crop", "perspective",  "elastic",
                      "brightness",    "contrast",  "saturation",   "hue",          "blur",
                      "sharpness",     "posterize", "solarize",     "autocontrast", "equalize",
                      "noise",         "erase",     "rand",         "trivial",      "mixup",
                      "cutmix"}};
}

// What a step does, and the range of its amount, A.
struct AugmentRecord {
  AugmentKind kind;
  std::string_view help;
  double usual;             // the amount of a step that names none
  double low, high;         // its range; both 0: there is no amount
  bool whole;               // only integers
  double probability;       // with which the step takes place, unless it names another
  bool bounded;             // whether it needs pixels from 0 to 1
  std::int64_t channels{};  // that it needs; 0: any number
};
// The records, in the order of AugmentKind.
std::span<const AugmentRecord> augment_records();

// A step with its amount.
struct AugmentStep {
  AugmentKind kind = AugmentKind::kShift;
  double amount = 0;
  double probability = 1;

  bool operator==(const AugmentStep&) const = default;
};

// Steps in their order; none: pictures stay as they are.
struct Augmentation {
  std::vector<AugmentStep> steps;

  bool empty() const { return steps.empty(); }
  bool operator==(const Augmentation&) const = default;
};

// A list of steps by a name: "digits" is "shift=2,rotate=10,...".
struct AugmentPreset {
  std::string_view name, steps;
};
// All presets.
std::span<const AugmentPreset> augment_presets();

// The most steps of an augmentation.
inline constexpr std::size_t kMostAugmentSteps = 32;

// Parses "none", or steps and presets, each after a comma. A step is NAME, NAME=AMOUNT,
// NAME@PROBABILITY or NAME=AMOUNT@PROBABILITY: "shift=2,rotate=10@0.5,flip". Throws kParse, with a
// message that begins with "augment: ", for unknown names and for numbers out of range.
Augmentation parse_augmentation(std::string_view text);

// As text that parse_augmentation reads back as the same augmentation. What is usual is left out,
// but for amounts.
std::string to_text(const Augmentation& augmentation);

// Whether a step mixes examples: mixup or cutmix. Then a target is the probabilities of the
// classes.
bool mixes(const Augmentation& augmentation);

// Throws kInvalidArgument if the examples are no pictures, if a step needs colours and they have
// none, if a step needs pixels from 0 to 1 and a pixel is another number, or if a step mixes
// classes and the targets are none.
void check_augmentation(const Augmentation& augmentation, const Dataset& data);

// The steps in Markdown, a line for each, and the presets.
std::string augment_reference();

// Where a pixel of a result comes from: the point (x, y), in pixels from the middle of the picture,
// shows (xx x + (xy y + x0), yx x + (yy y + y0)) / (gx x + (gy y + 1)).
struct PictureMap {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;
  double gx = 0, gy = 0;

  bool operator==(const PictureMap&) const = default;
};

// Augments pictures of one shape, without the steps that mix examples. It holds the memory that
// this needs, and allocates nothing afterwards; one thread uses it at a time.
class Augmenter {
 public:
  // Throws kInvalidArgument if a step needs colours and the pictures have none, or if the shape has
  // no pixels or a side beyond 16,384.
  Augmenter(Augmentation augmentation, const PictureShape& shape);

  // The picture `in` as the key draws it. Both have the elements of the shape, channels first, and
  // do not overlap. Throws kShape for other sizes.
  void operator()(Key key, std::span<const float> in, std::span<float> out);

  // The picture resampled by a map: bilinear, +0 outside. A map to whole pixels, without rotation,
  // copies them. Throws as above.
  void resample(const PictureMap& map, std::span<const float> in, std::span<float> out);

 private:
  // A step that changes values, with what was drawn for it.
  struct Tone {
    AugmentKind kind;
    float amount = 0;
    std::int64_t x = 0, y = 0;
    Key key{0};
  };

  void check_sizes(std::span<const float> in, std::span<float> out) const;
  void draw(Key key);
  void choose(AugmentKind kind, double amount, AugmentDraws& draws);
  void choose_any(double strength, bool wide, AugmentDraws& draws);
  void then(const PictureMap& inner);
  void add_perspective(double amount, AugmentDraws& draws);
  void add_elastic(double amount, AugmentDraws& draws);
  void add_tone(AugmentKind kind, double amount) {
    tones_.push_back({kind, static_cast<float>(amount)});
  }
  bool copies_pixels() const;
  void copy_pixels(std::span<const float> in, std::span<float> out) const;
  void resample_drawn(std::span<const float> in, std::span<float> out);
  void expand_field();
  void row_field(std::size_t y);
  void row_places(std::size_t y);
  template <bool with_field, bool projective>
  void row_places_as(std::size_t y);
  void apply(const Tone& tone, std::span<float> out);
  void blend(float factor, std::span<const float> with, std::span<float> out) const;
  std::span<const float> grey(std::span<const float> pixels);
  void blur(float deviation, std::span<float> out);
  void sharpen(float factor, std::span<float> out);
  void equalize(std::span<float> out) const;
  void noise(const Tone& tone, std::span<float> out) const;
  void erase(const Tone& tone, std::span<float> out) const;

  Augmentation augmentation_;
  PictureShape shape_;
  std::size_t height_, width_, plane_;  // as counts of elements
  std::size_t lanes_;                   // the width, rounded up to whole blocks of places
  std::size_t stride_;                  // of a row of padded_
  std::vector<float> padded_;           // channels of height + 3 rows: zeros around a picture
  std::vector<float> x_;                // of each column, from the middle
  // What was drawn.
  PictureMap map_;
  std::vector<Tone> tones_;
  bool elastic_ = false;
  // The displacement field: a grid of control points for each axis, the weights of those around
  // each column and row, the grids' rows at every column, and the field of one row.
  std::size_t grid_rows_ = 0, grid_columns_ = 0;
  std::vector<float> grid_[2], expanded_[2], row_field_[2];
  struct Spline {
    std::vector<std::uint32_t> first;  // control point
    std::vector<float> weights;        // four, one after another
  } across_, down_;
  // A row's places in padded_, and how far they are between pixels.
  std::vector<std::int32_t> place_x_, place_y_;
  std::vector<float> part_x_, part_y_;
  std::vector<float> plane_memory_;  // of the steps that change values
  std::vector<float> blur_weights_;
};

// Augments the rows of a data set: their pictures and, if a step mixes examples, their targets. As
// Augmenter, it allocates nothing after it is made, and one thread uses it at a time.
class RowAugmenter {
 public:
  // `data` must outlive it. Targets become probabilities of so many classes, at least those of the
  // data. Throws what check_augmentation throws.
  RowAugmenter(const Augmentation& augmentation, const Dataset& data, std::int64_t classes);
  RowAugmenter(const Augmentation&, const Dataset&&, std::int64_t) = delete;

  // Row `row` as it is drawn in an epoch by the epoch's key, epoch.fold_in(row). A row to mix with
  // is drawn from all rows of the data; its picture is as in this epoch, but not mixed. `y` gets
  // the probabilities if a step mixes examples; else it is not used. Throws kShape for spans of
  // other sizes.
  void operator()(Key epoch, std::int64_t row, std::span<float> x, std::span<float> y);

 private:
  std::span<const float> picture(std::int64_t row) const;
  void mix(AugmentKind kind, double share, std::int64_t label, std::span<float> x,
           std::span<float> y, AugmentDraws& draws) const;

  Augmentation augmentation_;
  const Dataset& data_;
  bool mixes_;
  Augmenter augmenter_;
  std::size_t classes_;
  std::vector<float> other_;  // the picture to mix with
};

// Pictures, f32 [N, channels, height, width] or [N, height, width], as the key draws them: picture
// i is drawn by key.fold_in(i). `between` is called between pictures; it may throw to stop. Throws
// kShape for other ranks, kDtype for another type of elements, kInvalidArgument for steps that mix
// examples, and what Augmenter and check_augmentation throw.
Tensor augment(const Augmentation& augmentation, const Tensor& pictures, Key key,
               const std::function<void()>& between = {});

}  // namespace limpid
