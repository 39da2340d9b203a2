#include "limpid/function/attributes.h"

#include <algorithm>
#include <bit>

#include "limpid/core/error.h"

namespace limpid {
namespace {

bool same(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* t = std::get_if<Tensor>(&a)) return t->same_bits(std::get<Tensor>(b));
  if (const auto* d = std::get_if<double>(&a))
    return std::bit_cast<std::uint64_t>(*d) == std::bit_cast<std::uint64_t>(std::get<double>(b));
  if (const auto* i = std::get_if<std::int64_t>(&a)) return *i == std::get<std::int64_t>(b);
  if (const auto* f = std::get_if<bool>(&a)) return *f == std::get<bool>(b);
  if (const auto* t = std::get_if<Dtype>(&a)) return *t == std::get<Dtype>(b);
  if (const auto* f = std::get_if<Nested>(&a)) return *f == std::get<Nested>(b);
  return std::get<std::vector<std::int64_t>>(a) == std::get<std::vector<std::int64_t>>(b);
}

}  // namespace

std::string_view name(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kBool:
      return "true or false";
    case AttributeKind::kInteger:
      return "an integer";
    case AttributeKind::kReal:
      return "a real number";
    case AttributeKind::kIntegers:
      return "a list of integers";
    case AttributeKind::kDtype:
      return "a dtype";
    case AttributeKind::kTensor:
      return "a tensor";
    case AttributeKind::kFunction:
      return "a function";
  }
  return "unknown";
}

void Attributes::set(std::string name, Attribute value) {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const Entry& e, const std::string& n) { return e.first < n; });
  if (at != entries_.end() && at->first == name)
    at->second = std::move(value);
  else
    entries_.emplace(at, std::move(name), std::move(value));
}

const Attribute* Attributes::find(std::string_view name) const {
  for (const Entry& e : entries_)
    if (e.first == name) return &e.second;
  return nullptr;
}

bool Attributes::operator==(const Attributes& other) const {
  return std::equal(begin(), end(), other.begin(), other.end(), [](const Entry& a, const Entry& b) {
    return a.first == b.first && same(a.second, b.second);
  });
}

void Attributes::throw_missing(std::string_view name) {
  throw Error(ErrorCode::kInvalidArgument,
              "attribute '" + std::string(name) + "' is missing or of another kind");
}

}  // namespace limpid
