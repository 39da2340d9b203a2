// A picture as an example for a model. Depends on fit_picture.h and formats/model.h.
#pragma once

#include <filesystem>
#include <optional>

#include "limpid/data/dataset.h"
#include "limpid/data/pictures/fit_picture.h"
#include "limpid/formats/model.h"

namespace limpid {

// The shape to which pictures are brought for a model: that of its training data. nullopt if the
// model was trained on no pictures, or on arrays that no file can be brought to.
std::optional<PictureShape> picture_shape_of(const Model& model);

// A picture from a file as the only example of a data set without targets, with the classes of the
// model. Throws kUnsupported if picture_shape_of(model) is nullopt, and what read_picture throws.
Dataset load_picture(const std::filesystem::path& file, const Model& model);

}  // namespace limpid
