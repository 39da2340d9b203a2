// Bands: consecutive steps in which row r of a result depends only on row r of the operands. A few
// rows at a time go through all steps of a band while they are in the cache, and intermediate
// results need memory for those few rows only.
#include <algorithm>

#include "limpid/compile/plan.h"

namespace limpid::detail {
namespace {

// Rows that go through a band together: enough to make reading the weights again cheap, few enough
// for the second-level cache.
constexpr std::size_t kMostRows = 96;
// The bytes that the widest operand has in the rows that go together, with and without weights:
// rows may be pictures.
constexpr std::size_t kBytesWithWeights = std::size_t{2} << 20,
                      kBytesOfRows = std::size_t{64} << 10;

std::size_t rows_of(const Step& step) { return step.root ? step.root->row_count() : 0; }
// Whether the step can be split into `rows` parts. A part may be several of its own rows.
bool takes_rows(const Step& step, std::size_t rows) {
  if (rows == 0) return false;
  if (!step.root) return step.program.elements % rows == 0;
  if (step.root->joins_rows()) return rows_of(step) > 0 && rows_of(step) % rows == 0;
  return rows_of(step) == rows;
}

class Banding {
 public:
  explicit Banding(Plan& plan) : plan_(plan), made_in_(plan.slots.size(), 0) {}

  void run() {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (!joins(i)) begin(i);
      Band& band = plan_.bands.back();
      ++band.count;
      band.nanoseconds += plan_.steps[i].nanoseconds;
      for_each_slot(plan_.steps[i], [&](SlotId s, bool writes) {
        if (writes) made_in_[static_cast<std::size_t>(s)] = plan_.bands.size();
      });
    }
    for (Band& band : plan_.bands) choose_block(band);
  }

 private:
  void begin(std::size_t i) {
    Band band{.first = i};
    band.rows = rows_of(plan_.steps[i]);
    // A program before a step by rows begins that step's band.
    if (band.rows == 0 && i + 1 < plan_.steps.size())
      if (const std::size_t next = rows_of(plan_.steps[i + 1]); takes_rows(plan_.steps[i], next))
        band.rows = next;
    plan_.bands.push_back(band);
  }

  bool made_here(SlotId slot) const {
    return made_in_[static_cast<std::size_t>(slot)] == plan_.bands.size();
  }

  // Rows of a band before a batch of products, when several of them belong to each product.
  std::size_t rows_with(const Band& band, const Step& step) const {
    if (!step.root || !step.root->is_batch() || band.rows % rows_of(step) != 0) return band.rows;
    if (band.rows == rows_of(step)) return band.rows;  // not to look through a long band once more
    const auto first = plan_.steps.begin() + static_cast<std::ptrdiff_t>(band.first);
    const bool all = std::all_of(first, first + static_cast<std::ptrdiff_t>(band.count),
                                 [&](const Step& s) { return takes_rows(s, rows_of(step)); });
    return all ? rows_of(step) : band.rows;
  }

  bool joins(std::size_t i) {
    if (plan_.bands.empty()) return false;
    const Step& step = plan_.steps[i];
    const std::size_t rows = rows_with(plan_.bands.back(), step);
    if (!fits(step, rows)) return false;
    plan_.bands.back().rows = rows;
    return true;
  }

  bool fits(const Step& step, std::size_t rows) const {
    if (!takes_rows(step, rows)) return false;
    if (step.root)
      for (const SlotId s : step.root->whole_slots())
        if (s >= 0 && made_here(s)) return false;
    for (const Instruction& in : step.program.instructions)
      if (!in.function && made_here(in.key)) return false;
    return std::all_of(
        step.program.inputs.begin(), step.program.inputs.end(), [&](const LaneInput& input) {
          return !made_here(input.slot) || input.is_by_rows(step.program.elements, rows);
        });
  }

  void choose_block(Band& band) {
    if (band.rows == 0) return;
    // A band of one step has no intermediate results; and a kernel that is given all rows knows how
    // much it writes.
    const Step& first = plan_.steps[band.first];
    if (band.count == 1 && first.root && first.root->joins_rows() && first.program.empty()) {
      band.block = band.rows;
      return;
    }
    std::size_t widest = 1;
    for (std::size_t i = band.first; i < band.first + band.count; ++i) {
      const Step& step = plan_.steps[i];
      if (step.root) band.weight_bytes += step.root->weight_bytes();
      for_each_slot(step, [&](SlotId s, bool) {
        if (made_in_[static_cast<std::size_t>(s)] == 0) return;
        widest =
            std::max(widest, plan_.slots[static_cast<std::size_t>(s)].type.bytes() / band.rows);
      });
    }
    const std::size_t most = band.weight_bytes > 0 ? std::min(kMostRows, kBytesWithWeights / widest)
                                                   : kBytesOfRows / widest;
    band.block = std::min(band.rows, std::max<std::size_t>(1, most));
  }

  Plan& plan_;
  // The number of the band that writes a slot, from 1; 0 if none does.
  std::vector<std::size_t> made_in_;
};

}  // namespace

void find_bands(Plan& plan) { Banding(plan).run(); }

}  // namespace limpid::detail
