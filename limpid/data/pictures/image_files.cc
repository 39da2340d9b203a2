// Folders and tables of picture files, as lists.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/system_error.h"
#include "limpid/core/utf8.h"
#include "limpid/data/arrays.h"
#include "limpid/data/pictures/detail/image_files.h"
#include "limpid/formats/detail/csv_records.h"
#include "limpid/formats/file.h"

namespace limpid::detail {
namespace {

namespace fs = std::filesystem;

template <class... Args>
[[noreturn]] void refuse_images(std::string_view where, fmt::format_string<Args...> text,
                                Args&&... args) {
  throw Error(ErrorCode::kFormat, fmt::format("images {}: {}", in_quotes(where),
                                              fmt::format(text, std::forward<Args>(args)...)));
}

void check_folder(const fs::path& folder, const std::error_code& error) {
  if (error)
    throw SystemError(error.value(),
                      fmt::format("images {}: {}", in_quotes(folder.string()), error.message()));
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_picture_name(const fs::path& path) {
  std::string ending = path.extension().string();
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::transform(ending.begin(), ending.end(), ending.begin(), lower);
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

// Sorted by bytes, or by value if all are numbers.
void sort_classes(std::vector<std::string>& classes) {
  const auto value_of = [](const std::string& text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [behind, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && behind == end ? std::optional(value) : std::nullopt;
  };
  const bool numbers = std::all_of(classes.begin(), classes.end(),
                                   [&](const auto& name) { return value_of(name).has_value(); });
  std::sort(classes.begin(), classes.end());
  if (numbers)
    std::stable_sort(classes.begin(), classes.end(),
                     [&](const auto& a, const auto& b) { return *value_of(a) < *value_of(b); });
}

void add_image(ImageFiles& found, ImageFile file) {
  if (found.files.size() == kMostImages)
    throw Error(ErrorCode::kUnsupported, fmt::format("images {}: expected at most {} pictures",
                                                     in_quotes(found.where), kMostImages));
  found.files.push_back(std::move(file));
}

void add_class(ImageFiles& found, std::string name) {
  if (!is_utf8(name))
    refuse_images(found.where, "expected classes in UTF-8, got {}", in_quotes(name));
  if (found.classes.size() == static_cast<std::size_t>(kMaxArrayClasses))
    throw Error(ErrorCode::kUnsupported, fmt::format("images {}: expected at most {} classes",
                                                     in_quotes(found.where), kMaxArrayClasses));
  found.classes.push_back(std::move(name));
}

// ---- folders

// The names in a folder that do not begin with a dot, sorted: folders, and other files.
struct Listing {
  std::vector<std::string> folders, files;
};

Listing list_folder(const fs::path& folder) {
  Listing listing;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (is_hidden(entry->path())) continue;
    std::error_code ignored;  // what cannot be asked about is no folder
    auto& names = entry->is_directory(ignored) ? listing.folders : listing.files;
    names.push_back(entry->path().filename().string());
  }
  check_folder(folder, error);
  std::sort(listing.folders.begin(), listing.folders.end());
  std::sort(listing.files.begin(), listing.files.end());
  return listing;
}

void add_other(ImageFiles& found, const std::string& name) {
  if (found.others++ == 0 || name < found.other) found.other = name;
}

// The pictures in and below a folder of a class.
void add_below(ImageFiles& found, const fs::path& root, const std::string& name,
               std::int32_t label) {
  const fs::path folder = root / name;
  const std::size_t before = found.files.size();
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const bool below = entry->is_directory(ignored);
    if (is_hidden(entry->path())) {
      if (below) entry.disable_recursion_pending();
      continue;
    }
    if (below || !entry->is_regular_file(ignored)) continue;
    std::string path = entry->path().lexically_relative(root).generic_string();
    if (is_picture_name(entry->path()))
      add_image(found, {entry->path(), std::move(path), label});
    else
      add_other(found, path);
  }
  check_folder(folder, error);
  if (found.files.size() == before)
    refuse_images(found.where, "no file of the class {} ends in .png, .jpg or .jpeg",
                  in_quotes(name));
}

ImageFiles folder_files(const fs::path& folder, Targets targets) {
  ImageFiles found{.where = folder.string()};
  Listing listing = list_folder(folder);
  const auto pictures = std::count_if(listing.files.begin(), listing.files.end(), is_picture_name);
  if (!listing.folders.empty()) {
    if (pictures > 0)
      refuse_images(
          found.where, "expected pictures in the folders of their classes, got {} beside",
          in_quotes(*std::find_if(listing.files.begin(), listing.files.end(), is_picture_name)));
    sort_classes(listing.folders);
    for (const std::string& name : listing.folders) {
      add_class(found, name);
      add_below(found, folder, name, static_cast<std::int32_t>(found.classes.size()) - 1);
    }
  } else if (targets == Targets::kRequired) {
    refuse_images(found.where, "expected a folder for each class, got none");
  }
  for (const std::string& name : listing.files)
    if (is_picture_name(name))
      add_image(found, {folder / name, name});
    else
      add_other(found, name);
  std::sort(found.files.begin(), found.files.end(),
            [](const ImageFile& a, const ImageFile& b) { return a.name < b.name; });
  return found;
}

// ---- tables

constexpr std::uint64_t kMostTableBytes = std::uint64_t{4} << 30;
constexpr std::size_t kMostFields = 1024;

ImageFiles table_files(const fs::path& table, Targets targets) {
  ImageFiles found{.where = table.string()};
  const Tensor bytes = read_or_map_file(table, kMostTableBytes);
  std::string_view text(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size());
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  const std::string_view header = text.substr(0, text.find('\n'));
  const auto has = [&](char c) { return header.find(c) != std::string_view::npos; };
  const Reporter report("images", found.where);
  CsvRecords records(text, has('\t') ? '\t' : has(';') ? ';' : ',', kMostFields, report);
  std::optional<std::size_t> file, label;
  std::size_t columns = 0;
  if (records.next()) {
    columns = records.fields().size();
    for (std::size_t i = 0; i < columns; ++i) {
      if (records.fields()[i] == "file") file = i;
      if (records.fields()[i] == "label") label = i;
    }
  }
  if (!file || (!label && targets == Targets::kRequired))
    report.broken("expected a header with the columns file and label");
  std::map<std::string, std::int32_t, std::less<>> labels;
  while (records.next()) {
    if (records.fields().size() != columns)
      report.broken("line {}: expected {} fields, got {}", records.line(), columns,
                    records.fields().size());
    const std::string_view name = records.fields()[*file];
    if (name.empty()) report.broken("line {}: no file", records.line());
    ImageFile image{table.parent_path() / fs::path(name), std::string(name)};
    if (label) {
      const std::string_view text_of_label = records.fields()[*label];
      if (text_of_label.empty() && targets == Targets::kRequired)
        report.broken("line {}: no label", records.line());
      auto place = labels.find(text_of_label);
      if (place == labels.end())
        place = labels.emplace(text_of_label, static_cast<std::int32_t>(labels.size())).first;
      image.label = place->second;
    }
    add_image(found, std::move(image));
  }
  // A label that is missing leaves no targets.
  if (!label || labels.contains("")) {
    for (ImageFile& image : found.files) image.label = -1;
    return found;
  }
  std::vector<std::string> names;
  for (const auto& [name, number] : labels) names.push_back(name);
  sort_classes(names);
  std::vector<std::int32_t> place(names.size());
  for (std::string& name : names) {
    place[static_cast<std::size_t>(labels.find(name)->second)] =
        static_cast<std::int32_t>(found.classes.size());
    add_class(found, std::move(name));
  }
  for (ImageFile& image : found.files) image.label = place[static_cast<std::size_t>(image.label)];
  return found;
}

}  // namespace

ImageSets find_image_files(const fs::path& source, const ImagesOptions& options) {
  ImageSets sets;
  std::error_code ignored;
  if (source.extension() == ".csv" && !fs::is_directory(source, ignored)) {
    sets.train = table_files(source, options.targets);
  } else if (fs::is_directory(source / "train", ignored)) {
    const bool has_test = fs::is_directory(source / "test", ignored);
    const bool has_validation = fs::is_directory(source / "val", ignored);
    if (has_test || has_validation)
      sets.test = folder_files(source / (has_test ? "test" : "val"), options.targets);
    if (options.classes && options.only_test && sets.test) return sets;
    sets.train = folder_files(source / "train", options.targets);
    if (has_test && has_validation) sets.validation = folder_files(source / "val", options.targets);
  } else {
    sets.train = folder_files(source, options.targets);
  }
  return sets;
}

}  // namespace limpid::detail
