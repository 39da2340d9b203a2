// The files of the page of `limpid view`, built from web/ and embedded in the tool; none if it was
// built without npm.
#pragma once

#include <span>
#include <string_view>

namespace limpid::tool {

struct PageFile {
  std::string_view path;   // "index.html", "assets/index-1a2b3c.js"
  std::string_view bytes;  // compressed by gzip
};
std::span<const PageFile> page_files();

}  // namespace limpid::tool
