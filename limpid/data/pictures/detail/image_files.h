// Lists the picture files of a data set, and their classes. Included only by sources.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "limpid/data/pictures/images.h"

namespace limpid::detail {

struct ImageFile {
  std::filesystem::path path;
  std::string name;         // the path from the folder or table, for people
  std::int32_t label = -1;  // index in ImageFiles::classes; -1: none
};

// The files of a set, in its order.
struct ImageFiles {
  std::string where;  // the folder or table, for messages
  std::vector<ImageFile> files = {};
  std::vector<std::string> classes = {};  // sorted; empty if the files have no labels
  std::int64_t others = 0;                // files that are no pictures by their names
  std::string other = {};                 // the first of them
};

struct ImageSets {
  ImageFiles train = {};
  std::optional<ImageFiles> validation = {};
  std::optional<ImageFiles> test = {};
};

// The files that load_images describes. Throws as it does.
ImageSets find_image_files(const std::filesystem::path& source, const ImagesOptions& options);

}  // namespace limpid::detail
