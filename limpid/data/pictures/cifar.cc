#include "limpid/data/pictures/cifar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/system_error.h"
#include "limpid/core/utf8.h"
#include "limpid/data/batches.h"
#include "limpid/formats/file.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;

constexpr PictureShape kCifarPicture{.channels = 3, .height = 32, .width = 32};
constexpr std::uint64_t kMostCifarBytes = std::uint64_t{4} << 30;

// One of the two data sets: its files, and where a record has its label.
struct CifarFormat {
  std::vector<std::string> train;
  std::string test, names;
  std::int64_t classes = 0;
  std::size_t labels = 0;  // bytes before a record's pixels
  std::size_t label = 0;   // the one that counts

  std::size_t record() const { return labels + static_cast<std::size_t>(kCifarPicture.elements()); }
};

[[noreturn]] void refuse_cifar(const fs::path& file, std::string_view what) {
  throw Error(ErrorCode::kFormat, fmt::format("cifar {}: {}", in_quotes(file.string()), what));
}

bool is_file(const fs::path& file) {
  std::error_code ignored;  // a path that cannot be asked about is no file for us either
  return fs::is_regular_file(file, ignored);
}

CifarFormat format_of(const fs::path& folder, CifarLabels labels) {
  const bool coarse = labels == CifarLabels::kCoarse;
  if (is_file(folder / "train.bin"))
    return {.train = {"train.bin"},
            .test = "test.bin",
            .names = coarse ? "coarse_label_names.txt" : "fine_label_names.txt",
            .classes = coarse ? 20 : 100,
            .labels = 2,
            .label = coarse ? std::size_t{0} : std::size_t{1}};
  CifarFormat format{.train = {},
                     .test = "test_batch.bin",
                     .names = "batches.meta.txt",
                     .classes = 10,
                     .labels = 1};
  for (int number = 1; number <= 5; ++number) {
    const std::string name = fmt::format("data_batch_{}.bin", number);
    if (is_file(folder / name)) format.train.push_back(name);
  }
  if (format.train.empty())
    throw SystemError(ENOENT, fmt::format("cifar {}: no file data_batch_1.bin, nor train.bin",
                                          in_quotes(folder.string())));
  if (coarse)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("cifar {}: CIFAR-10 has no coarse labels", in_quotes(folder.string())));
  return format;
}

// The records of some files as one data set.
Dataset records_of(const fs::path& folder, const std::vector<std::string>& names,
                   const CifarFormat& format) {
  std::vector<Tensor> files;
  std::vector<std::int32_t> labels;
  std::vector<std::span<const std::uint8_t>> pixels;  // of each record
  for (const std::string& name : names) {
    const fs::path path = folder / name;
    const Tensor& file = files.emplace_back(read_or_map_file(path, kMostCifarBytes));
    const std::span<const std::uint8_t> bytes = file.values<std::uint8_t>();
    const std::size_t record = format.record();
    if (bytes.empty() || bytes.size() % record != 0)
      refuse_cifar(path,
                   fmt::format("expected records of {} bytes, got {} bytes", record, bytes.size()));
    for (std::size_t at = 0; at < bytes.size(); at += record) {
      const std::uint8_t label = bytes[at + format.label];
      if (label >= format.classes)
        refuse_cifar(path, fmt::format("record {} has label {}, expected 0 to {}", at / record,
                                       label, format.classes - 1));
      labels.push_back(label);
      pixels.push_back(bytes.subspan(at + format.labels, record - format.labels));
    }
  }
  std::array<float, 256> scaled{};
  for (std::size_t p = 0; p < scaled.size(); ++p) scaled[p] = static_cast<float>(p) / 255.0f;
  Dataset data;
  const auto rows = static_cast<std::int64_t>(labels.size());
  data.inputs =
      Tensor::deferred_rows({Dtype::kF32, Shape{rows, kCifarPicture.elements()}},
                            [files, pixels = std::move(pixels), scaled](
                                std::int64_t first, std::int64_t count, std::span<std::byte> out) {
                              auto* number = reinterpret_cast<float*>(out.data());
                              for (std::int64_t i = first; i < first + count; ++i)
                                for (const std::uint8_t p : pixels[static_cast<std::size_t>(i)])
                                  *number++ = scaled[p];
                            });
  data.targets = Tensor::from<std::int32_t>(Shape{rows}, labels);
  data.classes = format.classes;
  data.picture = kCifarPicture;
  return data;
}

// The lines of the file of names; empty if there is none.
std::vector<std::string> class_names_of(const fs::path& folder, const CifarFormat& format) {
  constexpr std::uint64_t kMostNames = 1 << 16;  // bytes
  const fs::path path = folder / format.names;
  if (!is_file(path)) return {};
  const Tensor file = read_file(path, kMostNames);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (!is_utf8(text)) refuse_cifar(path, "expected names in UTF-8");
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) names.emplace_back(line);
  }
  if (static_cast<std::int64_t>(names.size()) != format.classes)
    refuse_cifar(path, fmt::format("expected {} names, got {}", format.classes, names.size()));
  return names;
}

}  // namespace

Split load_cifar(const fs::path& folder, CifarLabels labels) {
  const DefaultFloatMode mode;
  const CifarFormat format = format_of(folder, labels);
  // One by one: if the last of a braced list throws, GCC 12 destroys the empty middle part twice.
  Split split;
  split.train = records_of(folder, format.train, format);
  split.test = records_of(folder, {format.test}, format);
  // A folder's path may end in a separator; then its last component is empty.
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  for (Dataset* part : {&split.train, &split.test}) {
    part->name = named.filename().string();
    part->class_names = class_names_of(folder, format);
  }
  split.validation = gather_rows(split.train, {});
  return split;
}

}  // namespace limpid
