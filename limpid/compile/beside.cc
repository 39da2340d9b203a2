// Finds independent products, which threads compute without a barrier in between. Examples: the
// projections to queries, keys and values; a gate and the values that it scales.
#include <algorithm>

#include "limpid/compile/plan.h"

namespace limpid::detail {
namespace {

class Beside {
 public:
  explicit Beside(Plan& plan) : plan_(plan) {}

  void run() {
    for (const Band& band : plan_.bands) {
      std::size_t first = band.first;  // of the steps that run at the same time
      for (std::size_t i = band.first + 1; i < band.first + band.count; ++i) {
        plan_.steps[i].beside = i - first < kMost && stands_beside(first, i);
        if (!plan_.steps[i].beside) first = i;
      }
    }
  }

 private:
  // Of the steps that run at the same time: each is compared with all others.
  static constexpr std::size_t kMost = 16;

  std::optional<Root::Columns> cut_by_columns(std::size_t i) const {
    const auto& root = plan_.steps[i].root;
    return root ? root->cut_by_columns(*plan_.kernels) : std::nullopt;
  }

  bool stands_beside(std::size_t first, std::size_t i) const {
    const auto cut = cut_by_columns(i);
    for (std::size_t other = first; other < i; ++other) {
      const auto before = cut_by_columns(other);
      if (!cut || !before || cut->rows != before->rows) return false;
      const bool same_columns = cut->columns == before->columns && cut->unit == before->unit;
      if (waits_for(i, other, same_columns)) return false;
    }
    return true;
  }

  // Whether a piece of step i may read or overwrite memory that another piece of the step before
  // writes, or the reverse. With the same columns, piece p of each has the same ones.
  bool waits_for(std::size_t i, std::size_t before, bool same_columns) const {
    const Step& step = plan_.steps[i];
    bool waits = false;
    for_each_slot(plan_.steps[before], [&](SlotId a, bool a_writes) {
      for_each_slot(step, [&](SlotId b, bool b_writes) {
        if ((!a_writes && !b_writes) || !share_memory(a, b)) return;
        waits = waits || a != b || b_writes || !same_columns || !reads_by_lanes_only(step, b);
      });
    });
    return waits;
  }

  static bool reads_by_lanes_only(const Step& step, SlotId slot) {
    std::size_t reads = 0, lanes = 0;
    for_each_slot(step, [&](SlotId s, bool writes) { reads += s == slot && !writes; });
    for (const LaneInput& input : step.program.inputs)
      lanes += input.slot == slot && input.is_full(step.program.elements);
    return reads == lanes;
  }

  bool share_memory(SlotId a, SlotId b) const {
    const Slot& x = plan_.slots[static_cast<std::size_t>(a)];
    const Slot& y = plan_.slots[static_cast<std::size_t>(b)];
    if (a == b) return true;
    // An input's memory may be donated to an output.
    if (x.place != y.place) return is_outside(x) && is_outside(y);
    if (is_outside(x) || x.place == Place::kConstant) return false;
    return x.offset < y.offset + y.type.bytes() && y.offset < x.offset + x.type.bytes();
  }
  static bool is_outside(const Slot& slot) {
    return slot.place == Place::kInput || slot.place == Place::kOutput;
  }

  Plan& plan_;
};

}  // namespace

void find_beside(Plan& plan) { Beside(plan).run(); }

}  // namespace limpid::detail
