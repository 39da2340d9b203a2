// PlanStore: the plans of one piece of code, by rows, types or lengths.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <list>
#include <utility>

namespace limpid {

// The rows of the plan that runs `count` of at most `most` rows: powers of two, so that there are
// few plans and less than half of the rows of one are idle.
inline std::size_t plan_rows(std::size_t count, std::size_t most) {
  return std::min(std::bit_ceil(count), most);
}
// All of them, from the smallest.
template <class Visit>
void for_each_plan_rows(std::size_t most, const Visit& visit) {
  for (std::size_t rows = 1; rows < most; rows = plan_rows(rows + 1, most)) visit(rows);
  visit(most);
}

// Keeps the plans used last. To find one takes no lock and allocates nothing: where several threads
// come here, their lock is the owner's.
template <class Key, class Plan>
class PlanStore {
 public:
  // The limit is for code that every call gives another shape.
  explicit PlanStore(std::size_t most = 64) : most_(most) {}

  // The plan whose key, made from a `wanted`, equals this one; else that of make(). It stays where
  // it is until `most` others were used after it.
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

  // Keys and plans, the last one used first.
  auto begin() const { return plans_.begin(); }
  auto end() const { return plans_.end(); }

 private:
  std::size_t most_;
  std::list<std::pair<Key, Plan>> plans_;
};

}  // namespace limpid
