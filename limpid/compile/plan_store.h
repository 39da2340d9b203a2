// PlanStore: the plans of one piece of code by key (batch size, types or length).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <list>
#include <utility>

namespace limpid {

// The batch size of the plan for `count` of at most `most` rows: a power of two or `most`, so that
// there are few plans and less than half of the rows are padding.
inline std::size_t plan_rows(std::size_t count, std::size_t most) {
  return std::min(std::bit_ceil(count), most);
}
// Visits all of these batch sizes, from the smallest.
template <class Visit>
void for_each_plan_rows(std::size_t most, const Visit& visit) {
  for (std::size_t rows = 1; rows < most; rows = plan_rows(rows + 1, most)) visit(rows);
  visit(most);
}

// Keeps the most recently used plans. Finding one takes no lock and allocates nothing. Not
// thread-safe: the owner locks if several threads use it.
template <class Key, class Plan>
class PlanStore {
 public:
  // `most` limits the memory for code that is called with ever new shapes.
  explicit PlanStore(std::size_t most = 64) : most_(most) {}

  // The plan whose key equals `wanted`; else a new one from make(). The reference is valid until
  // `most` other plans were used.
  template <class Wanted, class Make>
  Plan& get(const Wanted& wanted, const Make& make) {
    const auto found = std::find_if(plans_.begin(), plans_.end(),
                                    [&](const auto& plan) { return plan.first == wanted; });
    if (found == plans_.end()) {
      plans_.emplace_front(wanted, make());
      if (plans_.size() > most_) plans_.pop_back();
    } else {
      plans_.splice(plans_.begin(), plans_, found);
    }
    return plans_.front().second;
  }

  // Keys and plans, the most recently used first.
  auto begin() const { return plans_.begin(); }
  auto end() const { return plans_.end(); }

 private:
  std::size_t most_;
  std::list<std::pair<Key, Plan>> plans_;
};

}  // namespace limpid
