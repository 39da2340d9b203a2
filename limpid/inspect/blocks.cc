// Finds repeated blocks of layers.
#include <algorithm>
#include <charconv>
#include <optional>

#include "limpid/inspect/detail/blocks.h"

namespace limpid::detail {
namespace {

// With fewer ops, the full list is as quick to read.
constexpr std::size_t kFewestOps = 6;

// "layers.3.mlp": the name before its first number, the number, and what follows.
struct Place {
  std::string_view stem, rest;
  std::int64_t number = 0;
};
std::optional<Place> place_of(std::string_view layer) {
  for (std::size_t dot = layer.find('.'); dot != std::string_view::npos;
       dot = layer.find('.', dot + 1)) {
    const std::string_view behind = layer.substr(dot + 1);
    const std::string_view part = behind.substr(0, behind.find('.'));
    Place place{layer.substr(0, dot), behind.substr(std::min(part.size() + 1, behind.size())), 0};
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), place.number);
    if (error == std::errc() && end == part.data() + part.size()) return place;
  }
  return {};
}

// The rows from `first` on that belong to one block.
std::size_t size_of_block(std::span<const SummaryRow> rows, std::size_t first) {
  const auto block = place_of(rows[first].layer);
  if (!block) return 0;
  std::size_t size = 0;
  while (first + size < rows.size()) {
    const auto place = place_of(rows[first + size].layer);
    if (!place || place->stem != block->stem || place->number != block->number) break;
    ++size;
  }
  return size;
}

bool alike(const SummaryRow& a, const SummaryRow& b) {
  return place_of(a.layer)->rest == place_of(b.layer)->rest && a.op == b.op &&
         a.output == b.output && a.parameters == b.parameters && a.multiply_adds == b.multiply_adds;
}

}  // namespace

std::vector<RepeatedBlock> repeated_blocks(std::span<const SummaryRow> rows) {
  std::vector<RepeatedBlock> all;
  for (std::size_t i = 0; i < rows.size();) {
    const std::size_t size = size_of_block(rows, i);
    if (size < kFewestOps) {
      i += std::max<std::size_t>(size, 1);
      continue;
    }
    const Place place = *place_of(rows[i].layer);
    RepeatedBlock block{i, size, 1, std::string(place.stem), place.number};
    const auto repeats_at = [&](std::size_t next) {
      if (next >= rows.size() || size_of_block(rows, next) != size) return false;
      const Place there = *place_of(rows[next].layer);
      if (there.stem != place.stem ||
          there.number != place.number + static_cast<std::int64_t>(block.times))
        return false;
      for (std::size_t r = 0; r < size; ++r)
        if (!alike(rows[i + r], rows[next + r])) return false;
      return true;
    };
    while (repeats_at(i + size * block.times)) ++block.times;
    i += size * block.times;
    if (block.times > 1) all.push_back(std::move(block));
  }
  return all;
}

std::string name_in_block(const SummaryRow& row) { return std::string(place_of(row.layer)->rest); }

}  // namespace limpid::detail
