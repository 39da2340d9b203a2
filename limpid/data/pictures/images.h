// Data sets of picture files: a folder for each class, or a table of files and labels. Depends on
// dataset.h and formats/picture_file.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/data/dataset.h"
#include "limpid/data/table/table.h"

namespace limpid {

// The channels of pictures.
enum class PictureColour : std::uint8_t { kGrey, kRgb };
constexpr EnumNames<2> enum_names(PictureColour) { return {"colour", {"grey", "rgb"}}; }

// What to do with a picture that cannot be read.
enum class BrokenPictures : std::uint8_t { kError, kSkip };
constexpr EnumNames<2> enum_names(BrokenPictures) { return {"broken", {"error", "skip"}}; }

// Height and width in pixels.
struct PictureSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// Options of load_images().
struct ImagesOptions {
  std::optional<PictureSize> size = {};      // nullopt: all pictures must have one size
  std::optional<PictureColour> colour = {};  // nullopt: kRgb if any picture has colours
  std::int64_t white = 1;                    // the number of a white pixel
  BrokenPictures broken = BrokenPictures::kError;
  Targets targets = Targets::kRequired;
  // The classes of a model's training data; empty if it has no names: then the name of a class is
  // its number. nullopt: the classes are those of the training files.
  std::optional<std::vector<std::string>> classes = {};
  bool only_test = false;              // with classes: reads no other set if there is a test set
  bool name_files = false;             // whether rows_of_table has the names of the files
  std::function<void()> between = {};  // called between files; may throw to end loading
};

// The number of bytes of decoded pictures that a data set keeps, and the maximum number of files.
inline constexpr std::size_t kMostKeptPictures = std::size_t{1} << 30;
inline constexpr std::size_t kMostImages = 10'000'000;

// Loads pictures as a classification. Inputs are f32 [N, channels * height * width], each picture
// as fit_picture writes it. A row is decoded when it is read; if all pictures take
// at most kMostKeptPictures bytes, it is kept then, else it is decoded at every read.
//
// A folder: each folder inside of it is a class, and all files in that and below whose names end in
// .png, .jpg or .jpeg are its pictures, in the order of their paths' bytes. Names that begin with a
// dot are ignored; a note counts other files. If the folder has a folder `train`, the classes are
// in `train`, and in `test` and `val`: test and validation set; if there is no `test`, `val` is the
// test set. A class of these must occur in training. With Targets::kIfPresent pictures may be in
// the folder itself; they have no targets.
// A file that ends in .csv: a header that names the columns `file` and `label`, in any order among
// others, then a picture a line, with its path from the folder of the table. Its separator is a
// tab, a semicolon or a comma: the first of these that is in the header. With Targets::kIfPresent
// `label` may be missing.
// Classes are in the order of bytes, or of numbers if all are numbers. There are at least two.
//
// The headers of all files are read. With BrokenPictures::kSkip each picture is decoded once, and a
// note counts those that could not be read. Otherwise a picture that is broken after its header is
// refused when its row is read.
//
// Throws kIo if a file or folder cannot be read; kFormat if there are no pictures or classes, for a
// class that does not occur in training, a broken picture, or pictures of different sizes without
// options.size, naming the file; and what decode_picture throws.
Split load_images(const std::filesystem::path& source, const ImagesOptions& options);

}  // namespace limpid
