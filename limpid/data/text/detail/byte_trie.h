// ByteTrie: finds the texts of a set that a text begins with. Included only by sources.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace limpid::detail {

class ByteTrie {
 public:
  static constexpr std::int32_t kNone = -1;

  ByteTrie() : ByteTrie(std::vector<std::pair<std::string, std::int32_t>>()) {}
  // Texts, none of them empty, and their values, not negative. Of equal texts the last one counts.
  explicit ByteTrie(std::vector<std::pair<std::string, std::int32_t>> entries) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    struct Range {
      std::size_t begin, end, depth;
    };
    std::vector<Range> ranges = {{0, entries.size(), 0}};  // of each node
    nodes_.push_back({});
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      auto [begin, end, depth] = ranges[at];
      for (; begin < end && entries[begin].first.size() == depth; ++begin)
        nodes_[at].value = entries[begin].second;
      nodes_[at].children = static_cast<std::uint32_t>(nodes_.size());
      while (begin < end) {
        const char label = entries[begin].first[depth];
        std::size_t next = begin;
        while (next < end && entries[next].first[depth] == label) ++next;
        labels_.push_back(static_cast<unsigned char>(label));
        nodes_.push_back({});
        ranges.push_back({begin, next, depth + 1});
        ++nodes_[at].count;
        begin = next;
      }
    }
    for (std::uint32_t i = 0; i < nodes_[0].count; ++i)
      firsts_[labels_[i]] = nodes_[0].children + i;
  }

  // Calls f(bytes, value) for every text of the set that `text` begins with, the shortest first.
  template <class F>
  void for_each_prefix(std::string_view text, const F& f) const {
    if (text.empty()) return;
    std::size_t node = firsts_[static_cast<unsigned char>(text[0])];
    for (std::size_t i = 1; node != 0; ++i) {
      if (nodes_[node].value != kNone) f(i, nodes_[node].value);
      if (i == text.size()) return;
      node = child(nodes_[node], static_cast<unsigned char>(text[i]));
    }
  }

 private:
  struct Node {
    std::int32_t value = kNone;
    std::uint32_t children = 0;  // the first of them
    std::uint32_t count = 0;
  };

  // 0: there is none.
  std::size_t child(const Node& node, unsigned char label) const {
    const auto begin = labels_.begin() + static_cast<std::ptrdiff_t>(node.children) - 1;
    const auto end = begin + static_cast<std::ptrdiff_t>(node.count);
    const auto found = std::lower_bound(begin, end, label);
    return found != end && *found == label ? node.children + static_cast<std::size_t>(found - begin)
                                           : 0;
  }

  std::vector<Node> nodes_;
  std::vector<unsigned char> labels_;  // of node i at i - 1
  std::size_t firsts_[256] = {};
};

}  // namespace limpid::detail
