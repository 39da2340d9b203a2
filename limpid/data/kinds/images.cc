// Data of the kind "images": PNG and JPEG files.
#include "limpid/data/pictures/images.h"

#include <fmt/format.h>

#include "limpid/core/in_quotes.h"
#include "limpid/data/kinds/detail/data_kind.h"
#include "limpid/data/pictures/fit_picture.h"

namespace limpid::detail {
namespace {

struct ImagesSettings : CommonSettings {
  ImagesOptions options = {};
};

// "HEIGHTxWIDTH", or one number for both.
PictureSize size_from_text(std::string_view text) {
  const std::string expected = fmt::format("HEIGHTxWIDTH, each 1 to {}", kMaxFittedSide);
  const std::size_t x = std::min(text.find('x'), text.size());
  const auto side = [&](std::string_view part) {
    const auto number = number_from_text<std::int32_t>(part, expected);
    if (number < 1 || number > kMaxFittedSide)
      throw Error(ErrorCode::kParse, fmt::format("expected {}, got {}", expected, in_quotes(text)));
    return std::int64_t{number};
  };
  const std::int64_t height = side(text.substr(0, x));
  return {height, x == text.size() ? height : side(text.substr(x + 1))};
}

ImagesSettings images_settings(const DataSpec& spec) {
  using S = ImagesSettings;
  using Text = std::string_view;
  return settings_of<S>(
      spec, {split_option<S>(),
             seed_option<S>(),
             standardize_option<S>(),
             {"size", [](S& s, Text value) { s.options.size = size_from_text(value); }},
             {"colour",
              [](S& s, Text value) {
                s.options.colour = named(value, {PictureColour::kGrey, PictureColour::kRgb});
              }},
             {"broken", [](S& s, Text value) {
                s.options.broken = named(value, {BrokenPictures::kError, BrokenPictures::kSkip});
              }}});
}

Split load_images_split(const DataSpec& spec, const LoadOptions& options) {
  ImagesSettings s = images_settings(spec);
  s.options.between = options.between;
  Split images = load_images(spec.value, s.options);
  if (images.test.size() == 0)
    return split_rows(images.train, s.split.value_or(kOneTable), split_key(s.seed));
  return with_validation(std::move(images), s);
}

// Takes size and colour from the model's pictures. The spec may repeat them.
void use_pictures_of(const DataConfig& config, ImagesOptions& options, const DataSpec& spec) {
  const PictureShape& shape = *config.picture;
  if (!can_fit(shape))
    throw Error(ErrorCode::kUnsupported,
                fmt::format("data {}: the model takes pictures of {} channels with {} as white; "
                            "expected 1 or 3, and a known white",
                            in_quotes(to_text(spec)), shape.channels, shape.white));
  const PictureColour colour = shape.channels == 3 ? PictureColour::kRgb : PictureColour::kGrey;
  const PictureSize size = options.size.value_or(PictureSize{shape.height, shape.width});
  if (options.colour.value_or(colour) != colour || size.height != shape.height ||
      size.width != shape.width)
    throw Error(ErrorCode::kShape,
                fmt::format("data {}: the model takes colour={} and size={}x{}",
                            in_quotes(to_text(spec)), name(colour), shape.height, shape.width));
  options.colour = colour;
  options.size = size;
  options.white = shape.white;
}

// Of a model of another task the classes of files say nothing.
void take_task_of(const DataConfig& config, Dataset& data, Targets targets, const DataSpec& spec) {
  if (config.task == Task::kClassification) return;
  if (targets == Targets::kRequired)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("data {}: pictures have classes, the task of the model is {}",
                            in_quotes(to_text(spec)), name(config.task)));
  data.task = config.task;
  data.class_names = config.class_names;
  data.target_names = config.target_names;
  data.classes = 0;
  data.targets = Tensor::zeros({Dtype::kF32, Shape{data.size(), 0}});
}

// The test set, or that of the spec's split; otherwise all rows.
Dataset load_images_rows(const DataSpec& spec, const Model& model, Targets targets, std::int64_t) {
  ImagesSettings s = images_settings(spec);
  s.options.targets = targets;
  s.options.only_test = true;
  s.options.name_files = true;
  const std::optional<DataConfig> config = data_config_of(model);
  if (config && config->task == Task::kClassification) s.options.classes = config->class_names;
  if (config && config->picture) use_pictures_of(*config, s.options, spec);
  Split images = load_images(spec.value, s.options);
  if (config)
    for (Dataset* part : {&images.train, &images.test}) take_task_of(*config, *part, targets, spec);
  if (images.test.size() > 0) return std::move(images.test);
  if (!s.split) return std::move(images.train);
  Dataset test = split_rows(images.train, *s.split, split_key(s.seed)).test;
  test.rows_of_table->left_out.clear();  // they are of no part
  return test;
}

}  // namespace

DataKind images_kind() {
  return {.name = "images",
          .value = DataKind::Value::kFolder,
          .help = "images:DIR (a folder of pictures for each class)",
          .one_table = true,
          .check = [](const DataSpec& spec) { images_settings(spec); },
          .load = load_images_split,
          .load_examples = load_images_rows};
}

}  // namespace limpid::detail
