// Params: tensors by name, in the order of insertion. The names are those of a PyTorch state_dict.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid {

// Throws kNotFound: `name` is not among those present. With a group, both are names below it.
[[noreturn]] void throw_missing(std::string_view name, const std::vector<std::string>& present,
                                std::string_view group = {});
// Throws kInvalidArgument: two groups of tensors must have the same names.
[[noreturn]] void throw_other_names(const std::vector<std::string>& names,
                                    const std::vector<std::string>& others);

// Whether `name` is `prefix`, or below it: "layers.2" and "layers.2.weight", but not "layers.20".
inline bool is_at_or_below(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && (name.size() == prefix.size() || name[prefix.size()] == '.');
}

// An ordered map from names to T.
template <class T>
class Named {
 public:
  using Entry = std::pair<std::string, T>;

  Named() = default;
  // The entries in this order. A repeated name keeps its first position and its last value.
  Named(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) set(e.first, e.second);
  }

  // Adds an entry at the end, or replaces the value of an existing entry in place.
  void set(std::string name, T value) {
    if (T* found = find(name)) {
      *found = std::move(value);
      return;
    }
    entries_.emplace_back(std::move(name), std::move(value));
    if (entries_.size() > kFew)
      for (std::size_t i = places_.size(); i < entries_.size(); ++i)
        places_.emplace(entries_[i].first, i);
  }
  // Adds every entry of `other` with "prefix." before its name ("" adds no dot).
  void merge(std::string_view prefix, const Named& other) {
    if (this == &other) return merge(prefix, Named(other));
    for (const Entry& e : other.entries_) set(join(prefix, e.first), e.second);
  }

  // nullptr if there is no such name.
  const T* find(std::string_view name) const {
    if (!places_.empty()) {
      const auto found = places_.find(name);
      return found == places_.end() ? nullptr : &entries_[found->second].second;
    }
    for (const Entry& e : entries_)
      if (e.first == name) return &e.second;
    return nullptr;
  }
  T* find(std::string_view name) { return const_cast<T*>(std::as_const(*this).find(name)); }
  // Throws kNotFound; the message lists the names that exist.
  const T& at(std::string_view name) const {
    if (const T* found = find(name)) return *found;
    throw_missing(name, names(), group_);
  }
  // The entries whose names begin with "prefix.", with this prefix removed. Errors of at() show the
  // whole names.
  Named within(std::string_view prefix) const {
    Named part;
    part.group_ = join(group_, prefix);
    for (const Entry& e : entries_)
      if (e.first.size() > prefix.size() && e.first.compare(0, prefix.size(), prefix) == 0 &&
          e.first[prefix.size()] == '.')
        part.set(e.first.substr(prefix.size() + 1), e.second);
    return part;
  }

  // The entries with these names, in the order of this group. A name also selects all names below
  // it: "layers.2" selects "layers.2.weight". Throws kNotFound for a name that selects nothing.
  Named only(const std::vector<std::string>& wanted) const {
    for (const std::string& name : wanted) {
      bool any = false;
      for (const Entry& e : entries_) any = any || is_at_or_below(e.first, name);
      if (!any) throw_missing(name, names());
    }
    Named part;
    for (const Entry& e : entries_)
      for (const std::string& name : wanted)
        if (is_at_or_below(e.first, name)) part.set(e.first, e.second);
    return part;
  }
  // A copy with the entries of `changes`: each replaces the entry with its name, or is added at the
  // end.
  Named with(const Named& changes) const {
    Named all = *this;
    all.merge("", changes);
    return all;
  }
  // Applies f to every value and keeps the names.
  template <class F>
  auto map(const F& f) const {
    Named<std::decay_t<decltype(f(std::declval<const T&>()))>> result;
    result.places_ = places_;
    result.group_ = group_;
    result.entries_.reserve(entries_.size());
    for (const Entry& e : entries_) result.entries_.emplace_back(e.first, f(e.second));
    return result;
  }

  // Names and values, in the order of the entries.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Entry& e : entries_) all.push_back(e.first);
    return all;
  }
  std::vector<T> values() const {
    std::vector<T> all;
    for (const Entry& e : entries_) all.push_back(e.second);
    return all;
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  // "prefix.name", or the name alone if the prefix is empty.
  static std::string join(std::string_view prefix, std::string_view name) {
    return prefix.empty() ? std::string(name) : std::string(prefix) + "." + std::string(name);
  }

 private:
  template <class>
  friend class Named;

  // Up to this many entries are searched linearly. Few networks have more; files may.
  static constexpr std::size_t kFew = 512;

  std::vector<Entry> entries_;
  // The index of each entry, if there are more than kFew.
  std::map<std::string, std::size_t, std::less<>> places_;
  // The prefix that within() removed.
  std::string group_;
};

// Throws kInvalidArgument unless both groups have the same names, in any order.
template <class T, class U>
void require_same_names(const Named<T>& a, const Named<U>& b) {
  bool same = a.size() == b.size();
  for (const auto& entry : a) same = same && b.find(entry.first);
  if (!same) throw_other_names(a.names(), b.names());
}

// Applies f to the values of each name in all groups, in the order of the first group. Throws
// kInvalidArgument unless all groups have the same names.
template <class F, class T, class... Others>
auto map(const F& f, const Named<T>& group, const Named<Others>&... others) {
  (require_same_names(group, others), ...);
  auto entry = group.begin();
  return group.map([&](const T& value) {
    [[maybe_unused]] const std::string& name = (entry++)->first;
    return f(value, others.at(name)...);
  });
}

// Tensors by name: the parameters of a model, its gradients, an optimiser's state.
using Params = Named<Tensor>;

// Stacks groups into one: each tensor gets a leading dimension for the group, [groups, ...]. The
// names are in the order of the first group. Throws kInvalidArgument if there is no group or the
// names differ, kShape if types differ.
Params stack(std::span<const Params> groups);

}  // namespace limpid
