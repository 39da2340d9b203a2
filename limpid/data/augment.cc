#include "limpid/data/augment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"

namespace limpid {
namespace {

constexpr double kMostPixels = 1024;

constexpr std::array<AugmentRecord, 26> kAugmentRecords{{
    {AugmentKind::kShift, "move by up to A pixels along each axis", 2, 0, kMostPixels, false, 1,
     false},
    {AugmentKind::kRotate, "rotate by up to A degrees", 10, 0, 180, false, 1, false},
    {AugmentKind::kScale, "enlarge by a factor from 1 - A to 1 + A", 0.1, 0, 0.9, false, 1, false},
    {AugmentKind::kShear, "slant by up to A degrees, along x and along y", 10, 0, 60, false, 1,
     false},
    {AugmentKind::kFlip, "exchange left and right", 0, 0, 0, false, 0.5, false},
    {AugmentKind::kFlipVertical, "exchange top and bottom", 0, 0, 0, false, 0.5, false},
    {AugmentKind::kCrop, "pad by A pixels and crop: move by up to A whole pixels along each axis",
     4, 0, kMostPixels, true, 1, false},
    {AugmentKind::kResizedCrop,
     "enlarge a part of the picture to its whole: a share of its area from A to 1, with an aspect "
     "ratio from 3/4 to 4/3 of its own",
     0.25, 0.01, 1, false, 1, false},
    {AugmentKind::kPerspective, "move each corner by up to A of half a side along each axis", 0.2,
     0, 0.45, false, 1, false},
    {AugmentKind::kElastic,
     "move every pixel by up to A pixels along each axis, smoothly: cubic B-splines with control "
     "points a quarter of the shorter side apart",
     4, 0, kMostPixels, false, 1, false},
    {AugmentKind::kBrightness, "multiply by a factor from 1 - A to 1 + A", 0.2, 0, 1, false, 1,
     true},
    {AugmentKind::kContrast,
     "multiply the differences from the mean grey by a factor from 1 - A to 1 + A", 0.2, 0, 1,
     false, 1, true},
    {AugmentKind::kSaturation,
     "multiply the differences from each pixel's grey by a factor from 1 - A to 1 + A", 0.2, 0, 1,
     false, 1, true, 3},
    {AugmentKind::kHue, "turn the hue by up to A of the colour circle", 0.05, 0, 0.5, false, 1,
     true, 3},
    {AugmentKind::kBlur, "blur by a Gaussian with a deviation from 0 to A pixels", 1, 0, 8, false,
     1, true},
    {AugmentKind::kSharpness,
     "multiply the differences from the smoothed picture by a factor from 1 - A to 1 + A", 0.5, 0,
     1, false, 1, true},
    {AugmentKind::kPosterize, "keep A of the 8 bits of a pixel", 4, 1, 8, true, 0.5, true},
    {AugmentKind::kSolarize, "invert the pixels of A and above", 0.5, 0, 1, false, 0.5, true},
    {AugmentKind::kAutocontrast, "stretch each channel to the range from 0 to 1", 0, 0, 0, false,
     0.5, true},
    {AugmentKind::kEqualize, "equalize the histogram of each channel", 0, 0, 0, false, 0.5, true},
    {AugmentKind::kNoise, "add nearly normal noise with a standard deviation of A", 0.05, 0, 1,
     false, 1, true},
    {AugmentKind::kErase,
     "set a square with sides of A pixels to 0, its middle anywhere in the picture", 8, 0,
     kMostPixels, true, 1, false},
    {AugmentKind::kRand, "an operation of RandAugment at magnitude A of 30", 9, 0, 30, false, 1,
     true},
    {AugmentKind::kTrivial, "TrivialAugment: any operation at any magnitude", 0, 0, 0, false, 1,
     true},
    {AugmentKind::kMixup,
     "mix with another row of the training set, its share drawn from a Beta(A, A) distribution; "
     "targets are mixed, too",
     0.2, 0.01, 1, false, 1, false},
    {AugmentKind::kCutmix,
     "paste a rectangle of another row of the training set, the rest's share drawn from a Beta(A, "
     "A) distribution; targets are mixed by area",
     1, 0.01, 1, false, 0.5, false},
}};

constexpr AugmentPreset kAugmentPresets[] = {
    {"light", "shift=1,rotate=5,scale=0.05"},
    {"digits", "shift=2,rotate=10,scale=0.1,shear=10,elastic=4"},
    {"objects", "flip,crop=4,erase=8"},
};

const AugmentRecord& step_record(AugmentKind kind) {
  return kAugmentRecords[static_cast<std::size_t>(kind)];
}

bool has_amount(const AugmentRecord& record) { return record.low < record.high; }

[[noreturn]] void refuse_augmentation(const std::string& message,
                                      ErrorCode code = ErrorCode::kParse) {
  throw Error(code, "augment: " + message);
}

std::string range_text(double low, double high, bool whole) {
  return fmt::format("{} from {} to {}", whole ? "an integer" : "a number", low, high);
}

double number_of_step(std::string_view text, std::string_view what, double low, double high,
                      bool whole) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || behind != end || !(number >= low && number <= high) ||
      (whole && number != std::floor(number)))
    refuse_augmentation(fmt::format("{}: expected {}, got {}", what, range_text(low, high, whole),
                                    in_quotes(text)));
  return number;
}

std::vector<std::string> names_of_steps_and_presets() {
  std::vector<std::string> names = all_names<AugmentKind>();
  for (const AugmentPreset& preset : kAugmentPresets) names.emplace_back(preset.name);
  return names;
}

AugmentStep parse_step(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view before = text.substr(0, at);
  const std::size_t equals = before.find('=');
  const std::string_view step_name = before.substr(0, equals);
  const std::optional<AugmentKind> kind = find_name<AugmentKind>(step_name);
  if (!kind)
    refuse_augmentation(fmt::format("expected none, or some of {}; got {}",
                                    fmt::join(names_of_steps_and_presets(), ", "),
                                    in_quotes(step_name)));
  const AugmentRecord& record = step_record(*kind);
  AugmentStep step{*kind, record.usual, record.probability};
  if (equals != std::string_view::npos) {
    if (!has_amount(record))
      refuse_augmentation(fmt::format("{}: expected no number, got {}", step_name,
                                      in_quotes(before.substr(equals + 1))));
    step.amount =
        number_of_step(before.substr(equals + 1), step_name, record.low, record.high, record.whole);
  }
  if (at != std::string_view::npos)
    step.probability =
        number_of_step(text.substr(at + 1), fmt::format("{}@", step_name), 0, 1, false);
  return step;
}

void add_steps(Augmentation& augmentation, std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const auto preset = std::find_if(std::begin(kAugmentPresets), std::end(kAugmentPresets),
                                     [&](const AugmentPreset& p) { return p.name == part; });
    if (preset != std::end(kAugmentPresets))
      add_steps(augmentation, preset->steps);
    else
      augmentation.steps.push_back(parse_step(part));
    if (augmentation.steps.size() > kMostAugmentSteps)
      refuse_augmentation(fmt::format("expected at most {} steps", kMostAugmentSteps));
    begin = end + 1;
  }
}

}  // namespace

std::span<const AugmentRecord> augment_records() { return kAugmentRecords; }
std::span<const AugmentPreset> augment_presets() { return kAugmentPresets; }

Augmentation parse_augmentation(std::string_view text) {
  Augmentation augmentation;
  if (text != "none") add_steps(augmentation, text);
  return augmentation;
}

std::string to_text(const Augmentation& augmentation) {
  if (augmentation.empty()) return "none";
  std::string text;
  for (const AugmentStep& step : augmentation.steps) {
    const AugmentRecord& record = step_record(step.kind);
    text += fmt::format("{}{}", text.empty() ? "" : ",", name(step.kind));
    if (has_amount(record)) text += fmt::format("={}", step.amount);
    if (step.probability != record.probability) text += fmt::format("@{}", step.probability);
  }
  return text;
}

namespace {

// The first step that mixes examples, or null.
const AugmentStep* mixing_step(const Augmentation& augmentation) {
  for (const AugmentStep& step : augmentation.steps)
    if (step.kind == AugmentKind::kMixup || step.kind == AugmentKind::kCutmix) return &step;
  return nullptr;
}

// Refuses pixels that are not from 0 to 1 where a step needs that they are.
void check_pixels(const Augmentation& augmentation, std::span<const float> pixels,
                  std::int64_t picture) {
  const auto step = std::find_if(augmentation.steps.begin(), augmentation.steps.end(),
                                 [](const AugmentStep& s) { return step_record(s.kind).bounded; });
  if (step == augmentation.steps.end()) return;
  const auto other =
      std::find_if(pixels.begin(), pixels.end(), [](float v) { return !(v >= 0.0f && v <= 1.0f); });
  if (other != pixels.end())
    refuse_augmentation(
        fmt::format("{}: expected pixels from 0 to 1 (standardize=none), got {} in picture {}",
                    name(step->kind), unsigned_nan(static_cast<double>(*other)),
                    (other - pixels.begin()) / picture),
        ErrorCode::kInvalidArgument);
}

}  // namespace

bool mixes(const Augmentation& augmentation) { return mixing_step(augmentation) != nullptr; }

void check_augmentation(const Augmentation& augmentation, const Dataset& data) {
  if (augmentation.empty()) return;
  if (data.windows)
    refuse_augmentation("expected pictures, the data is a text", ErrorCode::kInvalidArgument);
  const std::int64_t features = data.input_type().shape.elements();
  if (!data.picture || data.picture->elements() != features || data.inputs.dtype() != Dtype::kF32)
    refuse_augmentation(fmt::format("expected pictures, the data has {} features", features),
                        ErrorCode::kInvalidArgument);
  const AugmentStep* const mixing = mixing_step(augmentation);
  if (mixing && data.task != Task::kClassification)
    refuse_augmentation(fmt::format("{}: expected classes, the data is for {}", name(mixing->kind),
                                    name(data.task)),
                        ErrorCode::kInvalidArgument);
  const Augmenter checks_channels(augmentation, *data.picture);
  check_pixels(augmentation, data.inputs.values<float>(), features);
}

Tensor augment(const Augmentation& augmentation, const Tensor& pictures, Key key,
               const std::function<void()>& between) {
  const Shape& shape = pictures.shape();
  if (shape.rank() != 3 && shape.rank() != 4)
    refuse_augmentation(
        fmt::format("expected pictures [N, channels, height, width] or [N, height, width], got {}",
                    to_string(pictures.type())),
        ErrorCode::kShape);
  if (pictures.dtype() != Dtype::kF32)
    refuse_augmentation(fmt::format("expected pictures of f32, got {}", to_string(pictures.type())),
                        ErrorCode::kDtype);
  if (const AugmentStep* const mixing = mixing_step(augmentation))
    refuse_augmentation(fmt::format("{}: expected the rows of a training set, got pictures alone",
                                    name(mixing->kind)),
                        ErrorCode::kInvalidArgument);
  const std::size_t last = shape.rank() - 1;
  const PictureShape picture{shape.rank() == 4 ? shape[1] : 1, shape[last - 1], shape[last]};
  Augmenter augmenter(augmentation, picture);
  const std::span<const float> pixels = pictures.values<float>();
  check_pixels(augmentation, pixels, picture.elements());
  const auto size = static_cast<std::size_t>(picture.elements());
  return Tensor::generate<float>(shape, [&](std::span<float> out) {
    for (std::size_t i = 0; i * size < out.size(); ++i) {
      if (between) between();
      augmenter(key.fold_in(i), pixels.subspan(i * size, size), out.subspan(i * size, size));
    }
  });
}

std::string augment_reference() {
  std::string text =
      "| step | A | default | probability | meaning |\n"
      "|---|---|---|---|---|\n";
  for (const AugmentRecord& record : kAugmentRecords)
    text += fmt::format(
        "| `{}` | {} | {} | {} | {} |\n", name(record.kind),
        has_amount(record)
            ? fmt::format("{}{} to {}", record.whole ? "integer " : "", record.low, record.high)
            : "",
        has_amount(record) ? fmt::format("{}", record.usual) : "", record.probability, record.help);
  text += "\n| preset | steps |\n|---|---|\n";
  for (const AugmentPreset& preset : kAugmentPresets)
    text += fmt::format("| `{}` | `{}` |\n", preset.name, preset.steps);
  return text;
}

}  // namespace limpid
