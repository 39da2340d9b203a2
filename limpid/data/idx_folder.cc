// Folders of IDX files, the format of MNIST, as data sets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/system_error.h"
#include "limpid/data/dataset.h"
#include "limpid/formats/idx.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;

// The file of one part: part "train" or "t10k", what "images-idx3" or "labels-idx1".
fs::path find_file(const fs::path& folder, std::string_view part, std::string_view what) {
  const std::string usual = fmt::format("{}-{}-ubyte", part, what);
  std::string dotted = usual;
  dotted[dotted.find("-idx")] = '.';
  for (const std::string& name : {usual, usual + ".gz", dotted, dotted + ".gz"}) {
    std::error_code ignored;  // a path that cannot be asked about is no file for us either
    if (fs::is_regular_file(folder / name, ignored)) return folder / name;
  }
  throw SystemError(ENOENT, fmt::format("data folder {}: no file {}, nor {}, nor either with .gz",
                                        in_quotes(folder.string()), usual, dotted));
}

[[noreturn]] void fail(const fs::path& file, std::string_view what) {
  throw Error(ErrorCode::kFormat, fmt::format("data {}: {}", in_quotes(file.string()), what));
}

Tensor load_checked(const fs::path& file, std::size_t rank, std::string_view axes) {
  Tensor array = map_idx(file);
  if (array.dtype() != Dtype::kU8 || array.shape().rank() != rank)
    fail(file, fmt::format("expected u8[{}], got {}", axes, to_string(array.type())));
  if (array.elements() == 0) fail(file, fmt::format("no elements in {}", to_string(array.type())));
  return array;
}

// u8 [N, height, width] to f32 [N, height * width] in [0, 1], when rows are read: the file's bytes
// are a quarter of that.
Tensor scale_pixels(const Tensor& images) {
  std::array<float, 256> scaled{};
  for (std::size_t p = 0; p < scaled.size(); ++p) scaled[p] = static_cast<float>(p) / 255.0f;
  const std::int64_t rows = images.shape()[0];
  const std::int64_t width = images.elements() / rows;
  return Tensor::deferred_rows(
      {Dtype::kF32, Shape{rows, width}},
      [=](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
        const auto pixels = images.values<std::uint8_t>().subspan(
            static_cast<std::size_t>(first * width), static_cast<std::size_t>(count * width));
        std::transform(pixels.begin(), pixels.end(), reinterpret_cast<float*>(out.data()),
                       [&](std::uint8_t p) { return scaled[p]; });
      });
}

// u8 [N] to i32 [N].
Tensor widen_labels(const Tensor& labels) {
  const std::span<const std::uint8_t> values = labels.values<std::uint8_t>();
  return Tensor::generate<std::int32_t>(labels.shape(), [&](std::span<std::int32_t> out) {
    std::copy(values.begin(), values.end(), out.begin());
  });
}

// One part, its classes not yet known.
Dataset load_part(const fs::path& folder, std::string_view part) {
  const fs::path image_file = find_file(folder, part, "images-idx3");
  const fs::path label_file = find_file(folder, part, "labels-idx1");
  const Tensor images = load_checked(image_file, 3, "N, height, width");
  const Tensor labels = load_checked(label_file, 1, "N");
  if (images.shape()[0] != labels.shape()[0])
    fail(label_file, fmt::format("got {} labels for the {} images of {}", labels.shape()[0],
                                 images.shape()[0], image_file.filename().string()));
  // A folder's path may end in a separator; then its last component is empty.
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  Dataset data;
  data.inputs = scale_pixels(images);
  data.targets = widen_labels(labels);
  data.name = named.filename().string();
  data.picture = PictureShape{1, images.shape()[1], images.shape()[2]};
  return data;
}

void check_labels(const Dataset& test, std::int64_t classes, const fs::path& file) {
  const std::span<const std::int32_t> labels = test.targets.values<std::int32_t>();
  const auto bad = std::find_if(labels.begin(), labels.end(),
                                [&](std::int32_t label) { return label >= classes; });
  if (bad != labels.end())
    fail(file, fmt::format("row {} has label {}, the training set has labels 0 to {}",
                           bad - labels.begin(), *bad, classes - 1));
}

}  // namespace

Split load_idx_folder(const fs::path& folder) {
  const DefaultFloatMode mode;
  // One by one: if the last of a braced list throws, GCC 12 destroys the empty middle part twice.
  Split split;
  split.train = load_part(folder, "train");
  split.test = load_part(folder, "t10k");
  const auto size_of = [](const Dataset& part) {
    return fmt::format("{} x {}", part.picture->height, part.picture->width);
  };
  if (split.test.picture != split.train.picture)
    fail(find_file(folder, "t10k", "images-idx3"),
         fmt::format("the images have {} pixels, those of the training set {}", size_of(split.test),
                     size_of(split.train)));
  const std::span<const std::int32_t> labels = split.train.targets.values<std::int32_t>();
  const std::int64_t classes =
      std::max<std::int64_t>(2, *std::max_element(labels.begin(), labels.end()) + 1);
  check_labels(split.test, classes, find_file(folder, "t10k", "labels-idx1"));
  split.train.classes = classes;
  split.test.classes = classes;
  split.validation = gather_rows(split.train, {});
  return split;
}

}  // namespace limpid
