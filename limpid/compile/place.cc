// Memory placement for a plan: slots in the workspace, a program's registers in scratch buffers.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "limpid/compile/pages.h"
#include "limpid/compile/plan.h"
#include "limpid/core/error.h"

namespace limpid::detail {
namespace {

// A free list: allocates and frees ranges, and merges adjacent free ones.
class Arena {
 public:
  std::size_t take(std::size_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    if (best == free_.end()) {
      constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 4;
      if (bytes > kMost - end_)
        throw Error(
            ErrorCode::kUnsupported,
            fmt::format("compile: the values of the function take more than {} bytes", kMost));
      const std::size_t offset = end_;
      end_ += bytes;
      return offset;
    }
    const std::size_t offset = best->first;
    const std::size_t rest = best->second - bytes;
    free_.erase(best);
    if (rest > 0) free_.emplace(offset + bytes, rest);
    return offset;
  }

  void give_back(std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return;
    auto it = free_.emplace(offset, bytes).first;
    if (const auto next = std::next(it); next != free_.end() && offset + bytes == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin())
      if (const auto before = std::prev(it); before->first + before->second == it->first) {
        before->second += it->second;
        free_.erase(it);
      }
  }

  std::size_t end() const { return end_; }

 private:
  std::map<std::size_t, std::size_t> free_;  // offset to size
  std::size_t end_ = 0;
};

// Of a register of a program: a chunk, or all of its elements in whole vectors.
std::size_t buffer_units(std::size_t elements) {
  return (std::min(elements, kChunk) * 4 + kBufferUnit - 1) / kBufferUnit;
}

bool is_four_bytes(Dtype dtype) { return dtype == Dtype::kF32 || dtype == Dtype::kI32; }

// The live range of each slot: from its first to its last use.
class Lives {
 public:
  explicit Lives(std::size_t slots) : first_(slots, kNever), last_(slots, 0) {}

  void use(std::size_t slot, std::size_t time) {
    first_[slot] = std::min(first_[slot], time);
    last_[slot] = time;
  }
  bool any(std::size_t slot) const { return first_[slot] != kNever; }
  std::size_t first(std::size_t slot) const { return first_[slot]; }
  std::size_t last(std::size_t slot) const { return last_[slot]; }

 private:
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> first_, last_;
};

// Assigns offsets to `slots` whose live ranges are within [begin, end). Returns the bytes needed.
template <class Bytes>
std::size_t place(Plan& plan, const std::vector<std::size_t>& slots, const Lives& lives,
                  std::size_t begin, std::size_t end, const Bytes& bytes) {
  std::vector<std::vector<std::size_t>> begins(end - begin), ends(end - begin);
  for (std::size_t s : slots) {
    begins[lives.first(s) - begin].push_back(s);
    ends[lives.last(s) - begin].push_back(s);
  }
  Arena arena;
  for (std::size_t t = 0; t < end - begin; ++t) {
    for (std::size_t s : begins[t])
      plan.slots[s].offset = arena.take(round_up(bytes(plan.slots[s])));
    for (std::size_t s : ends[t])
      arena.give_back(plan.slots[s].offset, round_up(bytes(plan.slots[s])));
  }
  return arena.end();
}

}  // namespace

void place_slots(Plan& plan) {
  Lives in_steps(plan.slots.size()), in_bands(plan.slots.size());
  for (std::size_t b = 0; b < plan.bands.size(); ++b)
    for (std::size_t i = plan.bands[b].first; i < plan.bands[b].first + plan.bands[b].count; ++i)
      for_each_slot(plan.steps[i], [&](SlotId id, bool) {
        in_steps.use(static_cast<std::size_t>(id), i);
        in_bands.use(static_cast<std::size_t>(id), b);
      });
  std::vector<std::size_t> shared;
  std::vector<std::vector<std::size_t>> of_band(plan.bands.size());
  for (std::size_t s = 0; s < plan.slots.size(); ++s) {
    Slot& slot = plan.slots[s];
    if (slot.place != Place::kWorkspace || !in_bands.any(s)) continue;
    const std::size_t b = in_bands.first(s);
    if (in_bands.last(s) != b || plan.bands[b].rows == 0) {
      shared.push_back(s);
      continue;
    }
    slot.place = Place::kBand;
    slot.row_bytes = slot.type.bytes() / plan.bands[b].rows;
    of_band[b].push_back(s);
  }
  plan.workspace_bytes = place(plan, shared, in_bands, 0, plan.bands.size(),
                               [](const Slot& slot) { return slot.type.bytes(); });
  plan.band_bytes = 0;
  for (std::size_t b = 0; b < plan.bands.size(); ++b) {
    const Band& band = plan.bands[b];
    const std::size_t bytes = place(plan, of_band[b], in_steps, band.first, band.first + band.count,
                                    [&](const Slot& slot) { return slot.row_bytes * band.block; });
    plan.band_bytes = std::max(plan.band_bytes, bytes);
  }
}

void place_registers(Program& program, const Plan& plan) {
  const std::vector<Slot>& slots = plan.slots;
  const std::size_t inputs = program.inputs.size();
  const std::size_t registers = inputs + program.instructions.size();
  constexpr std::size_t kForever = std::numeric_limits<std::size_t>::max();
  // The instruction that reads a register last.
  std::vector<std::size_t> last_read(registers, 0);
  for (std::size_t i = 0; i < program.instructions.size(); ++i)
    for (std::int32_t o = 0; o < program.instructions[i].count; ++o)
      last_read[static_cast<std::size_t>(
          program.instructions[i].operands[static_cast<std::size_t>(o)])] = i;
  std::vector<SlotId> direct(registers, -1);  // the slot that is the register
  for (std::size_t r = 0; r < inputs; ++r) {
    const LaneInput& input = program.inputs[r];
    const Dtype dtype = slots[static_cast<std::size_t>(input.slot)].type.dtype;
    if (input.is_full(program.elements) && is_four_bytes(dtype)) {
      direct[r] = input.slot;
    } else if (input.period == 1) {
      last_read[r] = kForever;  // for a whole range
      program.filled_once.push_back(static_cast<std::int32_t>(r));
    } else {
      program.filled.push_back(static_cast<std::int32_t>(r));
    }
  }
  // Whether an input's memory, in which it is stored, is read by a later instruction.
  const auto too_early = [&](const LaneOutput& o) {
    const auto made = static_cast<std::size_t>(o.reg) - inputs;
    return std::any_of(plan.donated.begin(), plan.donated.end(), [&](const auto& donation) {
      if (donation.second != o.slot) return false;
      for (std::size_t r = 0; r < inputs; ++r)
        if (program.inputs[r].slot == donation.first && direct[r] >= 0 && last_read[r] > made)
          return true;
      return false;
    });
  };
  for (const LaneOutput& o : program.outputs) {
    const auto r = static_cast<std::size_t>(o.reg);
    const bool four = is_four_bytes(slots[static_cast<std::size_t>(o.slot)].type.dtype);
    if (four && r >= inputs && direct[r] < 0 && !too_early(o)) {
      direct[r] = o.slot;
    } else if (direct[r] != o.slot) {
      last_read[r] = kForever;  // until the chunk is done
      program.stored.push_back(o);
    }
  }
  std::vector<std::int32_t> free;  // buffers, by where they begin
  const std::size_t units = buffer_units(program.elements);
  program.places = direct;
  const auto take = [&](std::size_t r) {
    if (direct[r] >= 0) return;
    if (free.empty()) {
      free.push_back(static_cast<std::int32_t>(program.scratch_units));
      program.scratch_units += units;
    }
    program.places[r] = ~free.back();
    free.pop_back();
  };
  for (std::size_t r = 0; r < inputs; ++r) take(r);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    // An element kernel may write over an operand, so the operands' buffers are freed first.
    const Instruction& instruction = program.instructions[i];
    for (std::int32_t o = 0; o < instruction.count; ++o) {
      const auto r = static_cast<std::size_t>(instruction.operands[static_cast<std::size_t>(o)]);
      if (direct[r] >= 0 || last_read[r] != i) continue;
      free.push_back(~program.places[r]);
      last_read[r] = kForever;  // once, though it may be both operands
    }
    take(inputs + i);
  }
}

void place_scratch(Plan& plan) {
  std::size_t most = 0;
  for (const Step& step : plan.steps) {
    most = std::max(most, step.program.scratch_units * kBufferUnit);
    if (step.root) most = std::max(most, step.root->scratch_bytes(*plan.kernels));
  }
  plan.scratch_bytes = plan.band_bytes + round_up(most);
}

}  // namespace limpid::detail
