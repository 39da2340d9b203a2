#include "limpid/data/pictures/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/arrays.h"
#include "limpid/data/batches.h"
#include "limpid/data/pictures/detail/image_files.h"
#include "limpid/data/pictures/fit_picture.h"
#include "limpid/formats/file.h"
#include "limpid/formats/picture_file.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;
using detail::ImageFile;
using detail::ImageFiles;
using detail::ImageSets;

void read_image(const fs::path& path, const PictureShape& shape, std::span<float> out) {
  read_picture(read_file(path, kMaxPictureBytes).bytes(), path.string(), shape, out);
}

// The decoded pictures of a set.
class ImageRows {
 public:
  ImageRows(std::vector<fs::path> files, const PictureShape& shape, bool keep)
      : files_(std::move(files)), shape_(shape) {
    if (keep) ready_ = std::make_unique<std::atomic<bool>[]>(files_.size());
  }

  // Rows [first, first + count) as f32.
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    const auto row = static_cast<std::size_t>(shape_.elements()) * sizeof(float);
    for (std::int64_t i = 0; i < count; ++i)
      read_row(static_cast<std::size_t>(first + i),
               out.subspan(static_cast<std::size_t>(i) * row, row));
  }

 private:
  void read_row(std::size_t i, std::span<std::byte> out) {
    if (ready_ && ready_[i].load(std::memory_order_acquire)) {
      std::memcpy(out.data(), kept_.get() + i * out.size(), out.size());
      return;
    }
    read_image(files_[i], shape_,
               {reinterpret_cast<float*>(out.data()), out.size() / sizeof(float)});
    if (!ready_) return;
    const std::lock_guard lock(mutex_);
    if (!kept_) kept_ = allocate_aligned(files_.size() * out.size(), false);
    if (ready_[i].load(std::memory_order_relaxed)) return;  // another thread was faster
    std::memcpy(kept_.get() + i * out.size(), out.data(), out.size());
    ready_[i].store(true, std::memory_order_release);
  }

  std::vector<fs::path> files_;
  PictureShape shape_;
  std::unique_ptr<std::atomic<bool>[]> ready_;  // of each row; nullptr: nothing is kept
  std::mutex mutex_;
  std::shared_ptr<std::byte> kept_;  // allocated at the first read
};

// ---- what is read when the set is made

// A set of files while it is loaded.
struct LoadedSet {
  explicit LoadedSet(ImageFiles list) : found(std::move(list)), why(found.files.size()) {}

  ImageFiles found;
  std::vector<std::string> why;  // of each file: why it cannot be read; empty if it can be

  std::int64_t readable() const { return std::count(why.begin(), why.end(), ""); }
};

// Calls read(file) for each file that could be read up to now. An error leaves the file out, if
// those are to be left out.
template <class Read>
void for_readable(LoadedSet& set, const ImagesOptions& options, const Read& read) {
  for (std::size_t i = 0; i < set.why.size(); ++i) {
    if (!set.why[i].empty()) continue;
    if (options.between) options.between();
    try {
      read(set.found.files[i]);
    } catch (const Error& error) {
      if (options.broken == BrokenPictures::kError || error.code() == ErrorCode::kNoMemory) throw;
      set.why[i] = error.what();
    }
  }
  // One that is left out says why all of them are.
  if (set.readable() == 0)
    throw Error(ErrorCode::kFormat,
                fmt::format("images {}: {}", in_quotes(set.found.where),
                            set.why.empty() ? "no pictures" : "none can be read; " + set.why[0]));
}

// The common shape, from the headers of all sets.
class CommonShape {
 public:
  explicit CommonShape(const ImagesOptions& options) : options_(options) {}

  void add(const ImageFile& file) {
    const Tensor bytes = map_file(file.path, kMaxPictureBytes);
    const PictureHeader header = read_picture_header(bytes.bytes(), file.path.string());
    colour_ = colour_ || header.colour;
    const Sized one{file.path, header.height, header.width};
    if (!first_) first_ = one;
    if (!other_ && (one.height != first_->height || one.width != first_->width)) other_ = one;
  }

  // Throws kFormat if there is none.
  PictureShape shape() const {
    if (other_ && !options_.size)
      throw Error(
          ErrorCode::kFormat,
          fmt::format("picture {} has {} x {} pixels, {} has {} x {}: expected one size, or the "
                      "option size=HEIGHTxWIDTH",
                      in_quotes(other_->path.string()), other_->height, other_->width,
                      in_quotes(first_->path.string()), first_->height, first_->width));
    const PictureColour colour =
        options_.colour.value_or(colour_ ? PictureColour::kRgb : PictureColour::kGrey);
    const PictureSize size = options_.size.value_or(PictureSize{first_->height, first_->width});
    return {.channels = colour == PictureColour::kRgb ? 3 : 1,
            .height = size.height,
            .width = size.width,
            .white = options_.white};
  }

 private:
  struct Sized {
    fs::path path;
    std::int64_t height, width;
  };

  const ImagesOptions& options_;
  bool colour_ = false;
  std::optional<Sized> first_, other_;  // the first picture, and the first of another size
};

// ---- classes

// A class that is named by its number.
std::int32_t number_of_class(const std::string& name, std::string_view where) {
  std::int32_t number = -1;
  const char* const end = name.data() + name.size();
  const auto [behind, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc{} || behind != end || number < 0 || number >= kMaxArrayClasses)
    throw Error(ErrorCode::kFormat,
                fmt::format("images {}: the model has no names of classes: expected their numbers "
                            "as names, got {}",
                            in_quotes(where), in_quotes(name)));
  return number;
}

// The class of each of the files' classes.
std::vector<std::int32_t> classes_of_files(const ImageFiles& found,
                                           const std::vector<std::string>& classes) {
  std::vector<std::int32_t> places;
  for (const std::string& name : found.classes) {
    const auto place = std::find(classes.begin(), classes.end(), name);
    if (classes.empty())
      places.push_back(number_of_class(name, found.where));
    else if (place == classes.end())
      throw Error(ErrorCode::kFormat,
                  fmt::format("images {}: the class {} is none of the {} classes of training",
                              in_quotes(found.where), in_quotes(name), classes.size()));
    else
      places.push_back(static_cast<std::int32_t>(place - classes.begin()));
  }
  return places;
}

// ---- the sets

std::string note_of(const LoadedSet& set) {
  const auto left_out = static_cast<std::int64_t>(set.why.size()) - set.readable();
  const auto first =
      std::find_if(set.why.begin(), set.why.end(), [](const auto& why) { return !why.empty(); });
  return fmt::format("{} of {} pictures of {} were left out, as one cannot be read: {}", left_out,
                     set.why.size(), in_quotes(set.found.where), *first);
}

std::string note_of_others(const ImageFiles& found) {
  return fmt::format("{} {} of {} {} no pictures by their names, as {}", found.others,
                     found.others == 1 ? "file" : "files", in_quotes(found.where),
                     found.others == 1 ? "is" : "are", in_quotes(found.other));
}

Dataset dataset_of(const LoadedSet& set, const PictureShape& shape, bool keep,
                   const std::vector<std::string>& classes, const ImagesOptions& options) {
  Dataset data;
  data.picture = shape;
  data.class_names = classes;
  data.classes = static_cast<std::int64_t>(classes.size());
  const std::int64_t rows = set.readable();
  std::vector<fs::path> paths;
  std::vector<std::int32_t> labels;
  TableRows table;
  table.id_column = "file";
  const std::vector<std::int32_t> places = classes_of_files(set.found, classes);
  for (std::size_t i = 0; i < set.why.size(); ++i) {
    const ImageFile& file = set.found.files[i];
    if (options.name_files) table.ids.push_back(file.name);
    if (!set.why[i].empty()) {
      if (options.name_files) table.left_out.push_back({static_cast<std::int64_t>(i), set.why[i]});
      continue;
    }
    paths.push_back(file.path);
    if (file.label >= 0) labels.push_back(places[static_cast<std::size_t>(file.label)]);
    if (options.name_files) table.of_example.push_back(static_cast<std::int64_t>(i));
  }
  const auto reader = std::make_shared<ImageRows>(std::move(paths), shape, keep);
  data.inputs = Tensor::deferred_rows(
      {Dtype::kF32, Shape{rows, shape.elements()}},
      [reader](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
        reader->read(first, count, out);
      });
  if (labels.empty()) {
    data.targets = Tensor::zeros({Dtype::kF32, Shape{rows, 0}});
  } else {
    data.targets = Tensor::from<std::int32_t>(Shape{rows}, labels);
    const auto largest = *std::max_element(labels.begin(), labels.end());
    data.classes = std::max<std::int64_t>({2, data.classes, largest + 1});
  }
  if (options.name_files) data.rows_of_table = std::move(table);
  if (set.found.others > 0) data.notes.push_back(note_of_others(set.found));
  if (rows < static_cast<std::int64_t>(set.why.size())) data.notes.push_back(note_of(set));
  return data;
}

}  // namespace

Split load_images(const fs::path& source, const ImagesOptions& options) {
  ImageSets found = detail::find_image_files(source, options);
  std::vector<LoadedSet> sets;  // training, validation, test; those that there are
  const bool has_train = !found.train.files.empty() || !found.test;
  const bool has_validation = found.validation.has_value();
  if (has_train) sets.emplace_back(std::move(found.train));
  if (has_validation) sets.emplace_back(std::move(*found.validation));
  if (found.test) sets.emplace_back(std::move(*found.test));

  const std::vector<std::string> classes = options.classes.value_or(sets.front().found.classes);
  if (!options.classes && options.targets == Targets::kRequired && classes.size() < 2)
    throw Error(ErrorCode::kFormat,
                fmt::format("images {}: expected at least two classes, got {}",
                            in_quotes(sets.front().found.where), classes.size()));
  CommonShape common(options);
  for (LoadedSet& set : sets)
    for_readable(set, options, [&](const ImageFile& file) { common.add(file); });
  const PictureShape shape = common.shape();
  if (options.broken == BrokenPictures::kSkip) {
    std::vector<float> numbers(static_cast<std::size_t>(shape.elements()));
    for (LoadedSet& set : sets)
      for_readable(set, options,
                   [&](const ImageFile& file) { read_image(file.path, shape, numbers); });
  }

  std::int64_t rows = 0;
  for (const LoadedSet& set : sets) rows += set.readable();
  const auto row = static_cast<std::uint64_t>(shape.elements()) * sizeof(float);
  const bool keep = static_cast<std::uint64_t>(rows) <= kMostKeptPictures / row;

  // A folder's path may end in a separator; then its last component is empty.
  const fs::path named = source.has_filename() ? source : source.parent_path();
  std::vector<Dataset> loaded;
  for (const LoadedSet& set : sets) {
    loaded.push_back(dataset_of(set, shape, keep, classes, options));
    loaded.back().name = named.filename().string();
  }
  Split split;
  const Dataset none = gather_rows(loaded.front(), {});
  split.train = has_train ? std::move(loaded.front()) : none;
  split.validation = has_validation ? std::move(loaded[1]) : none;
  split.test = found.test ? std::move(loaded.back()) : none;
  return split;
}

}  // namespace limpid
