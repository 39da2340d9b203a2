#include "limpid/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/system_error.h"
#include "limpid/data/batches.h"
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

// As gather_rows of batches.h. Of a large source nothing is copied: rows are read from it.
Tensor select_rows(const Tensor& source, std::span<const std::int32_t> rows) {
  constexpr std::size_t kCopied = std::size_t{16} << 20;  // bytes
  const std::int64_t all = source.shape()[0];
  const auto exists = [all](std::int32_t row) { return row >= 0 && row < all; };
  if (source.type().bytes() <= kCopied || !std::all_of(rows.begin(), rows.end(), exists))
    return gather_rows(source, rows);
  const std::size_t one = source.type().bytes() / static_cast<std::size_t>(all);
  return Tensor::deferred_rows(
      {source.dtype(), source.shape().replace(0, static_cast<std::int64_t>(rows.size()))},
      [=, order = std::vector(rows.begin(), rows.end())](std::int64_t first, std::int64_t count,
                                                         std::span<std::byte> out) {
        for (std::int64_t i = 0; i < count; ++i)
          source.read_rows(order[static_cast<std::size_t>(first + i)], 1,
                           out.subspan(static_cast<std::size_t>(i) * one, one));
      });
}

// ---- windows

void check_rows(const Dataset& data, std::int64_t first, std::int64_t count) {
  if (first < 0 || count < 0 || first > data.size() - count)
    throw Error(ErrorCode::kShape, fmt::format("{}: examples {} to {} of {}", data.name, first,
                                               first + count - 1, data.size()));
}

// [count, ...] of i32 [...], write(i, row) filling one after the other.
template <class Write>
Tensor array_of(const Type& one, std::int64_t count, const Write& write) {
  return Tensor::generate<std::int32_t>(
      one.shape.insert(0, count), [&](std::span<std::int32_t> out) {
        const auto stride = static_cast<std::size_t>(one.shape.elements());
        for (std::int64_t i = 0; i < count; ++i)
          write(i, out.subspan(static_cast<std::size_t>(i) * stride, stride));
      });
}

}  // namespace

std::int64_t Dataset::outputs() const { return has_classes() ? classes : targets.shape().back(); }

Type Dataset::input_type() const {
  return windows ? Type{Dtype::kI32, {windows->context}}
                 : Type{inputs.dtype(), inputs.shape().erase(0)};
}

Type Dataset::target_type() const {
  return windows ? Type{Dtype::kI32, windows->target_shape()}
                 : Type{targets.dtype(), targets.shape().erase(0)};
}

bool Dataset::fits(const Type& example) const {
  const Type given = input_type();
  if (given == example) return true;
  if (given.dtype != example.dtype) return false;
  if (picture && example.shape == Shape{picture->channels, picture->height, picture->width})
    return true;
  const std::optional<SequenceShape> steps = as_sequence();
  return steps && example.shape == Shape{steps->steps, steps->features};
}

std::optional<SequenceShape> Dataset::as_sequence() const {
  if (sequence) return sequence;
  if (picture && picture->channels == 1) return SequenceShape{picture->height, picture->width};
  return {};
}

Tensor Dataset::inputs_of(std::int64_t first, std::int64_t count) const {
  if (!windows) return inputs.rows(first, count);
  check_rows(*this, first, count);
  return array_of(input_type(), count,
                  [&](std::int64_t i, auto out) { windows->write_inputs(first + i, 0, out); });
}

Tensor Dataset::targets_of(std::int64_t first, std::int64_t count) const {
  if (!windows) return targets.rows(first, count);
  check_rows(*this, first, count);
  return array_of(target_type(), count,
                  [&](std::int64_t i, auto out) { windows->write_targets(first + i, 0, out); });
}

Dataset Dataset::rows(std::int64_t first, std::int64_t count) const {
  Dataset part = *this;
  if (windows) {
    check_rows(*this, first, count);
    part.windows = windows->rows(first, count);
    return part;
  }
  part.inputs = inputs.rows(first, count);
  part.targets = targets.rows(first, count);
  if (rows_of_table) {
    const auto from = rows_of_table->of_example.begin() + first;
    part.rows_of_table->of_example.assign(from, from + count);
  }
  return part;
}

std::int64_t Dataset::counted(std::int64_t row) const {
  return windows ? windows->counted(row) : target_type().shape.elements();
}

Dataset gather_rows(const Dataset& data, std::span<const std::int32_t> rows) {
  if (data.windows)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("gather_rows: expected arrays, got the text {}", data.name));
  Dataset part = data;
  part.inputs = select_rows(data.inputs, rows);
  part.targets = select_rows(data.targets, rows);
  if (data.rows_of_table) {
    auto& of_example = part.rows_of_table->of_example;
    of_example.clear();
    for (const std::int32_t row : rows)
      of_example.push_back(data.rows_of_table->of_example[static_cast<std::size_t>(row)]);
  }
  return part;
}

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
