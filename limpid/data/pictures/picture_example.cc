#include "limpid/data/pictures/picture_example.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/file.h"

namespace limpid {

std::optional<PictureShape> picture_shape_of(const Model& model) {
  const std::optional<DataConfig> config = data_config_of(model);
  if (!config || !config->picture || !can_fit(*config->picture)) return {};
  const Type& input = data_input(model).type;
  if (input.dtype != Dtype::kF32 || input.shape.elements() != config->picture->elements())
    return {};
  return config->picture;
}

Dataset load_picture(const std::filesystem::path& file, const Model& model) {
  const std::optional<PictureShape> shape = picture_shape_of(model);
  if (!shape)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("picture {}: the model was not trained on pictures that files can be "
                            "brought to: its data needs 1 or 3 channels and a known white",
                            in_quotes(file.string())));
  Dataset data;
  static_cast<DataConfig&>(data) = *data_config_of(model);
  data.classes = static_cast<std::int64_t>(data.class_names.size());
  data.name = file.filename().string();
  data.picture = shape;
  data.inputs = Tensor::generate<float>(Shape{1, shape->elements()}, [&](std::span<float> numbers) {
    read_picture(read_file(file, kMaxPictureBytes).bytes(), file.string(), *shape, numbers);
  });
  data.targets = Tensor::zeros({Dtype::kF32, Shape{1, 0}});
  return data;
}

}  // namespace limpid
