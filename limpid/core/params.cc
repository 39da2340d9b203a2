#include "limpid/core/params.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "limpid/core/error.h"

namespace limpid {

void throw_missing(std::string_view name, const std::vector<std::string>& present,
                   std::string_view group) {
  constexpr std::size_t kShown = 12;
  const auto whole = [&](std::string_view part) { return Params::join(group, part); };
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(present.size(), kShown); ++i)
    shown.push_back(whole(present[i]));
  if (present.size() > kShown) shown.emplace_back("...");
  throw Error(ErrorCode::kNotFound,
              fmt::format("no entry '{}'; {}there are: {}", whole(name),
                          group.empty() ? "" : fmt::format("below '{}' ", group),
                          present.empty() ? "none" : fmt::format("{}", fmt::join(shown, ", "))));
}

void throw_other_names(const std::vector<std::string>& names,
                       const std::vector<std::string>& others) {
  const auto first_without = [](const auto& from, const auto& in) {
    const auto found = std::find_if(from.begin(), from.end(), [&](const std::string& name) {
      return std::find(in.begin(), in.end(), name) == in.end();
    });
    return found == from.end() ? std::string() : *found;
  };
  const std::string missing = first_without(names, others);
  throw Error(
      ErrorCode::kInvalidArgument,
      missing.empty()
          ? fmt::format("groups: expected the same names in both, got '{}' in the second only",
                        first_without(others, names))
          : fmt::format("groups: expected the same names in both, got '{}' in the first only",
                        missing));
}

Params stack(std::span<const Params> groups) {
  if (groups.empty())
    throw Error(ErrorCode::kInvalidArgument, "stack: expected at least one group, got none");
  for (const Params& group : groups) require_same_names(groups.front(), group);
  const auto count = static_cast<std::int64_t>(groups.size());
  Params all;
  for (const auto& [name, first] : groups.front()) {
    const Type type{first.dtype(), first.shape().insert(0, count)};
    const auto write = [&, &key = name, &one = first](std::span<std::byte> out) {
      auto* to = out.data();
      for (const Params& group : groups) {
        const Tensor& part = group.at(key);
        if (!(part.type() == one.type()))
          throw Error(ErrorCode::kShape,
                      fmt::format("stack: '{}' is {} in one group and {} in another", key,
                                  to_string(one.type()), to_string(part.type())));
        to = std::copy(part.bytes().begin(), part.bytes().end(), to);
      }
    };
    all.set(name, Tensor::generate_bytes(type, write));
  }
  return all;
}

}  // namespace limpid
