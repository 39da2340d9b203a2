// Fusion: an element-wise program moves to the end of the step that makes its operands, or to the
// start of the only program that reads its results. Operations and their order do not change, so
// neither do the bits. A move has a price: the bytes that it keeps for longer than before, less
// those that it does not store or frees. Far away, only free moves are made.
#include <algorithm>

#include "limpid/compile/plan.h"
#include "limpid/core/stop_check.h"

namespace limpid::detail {
namespace {

using kernels::Element;

// Appends `tail` to `head`: what head stores and tail reads, element by element, goes through a
// register.
void append(Program& head, const Program& tail) {
  std::vector<std::int32_t> input_register;
  for (const LaneInput& input : tail.inputs) {
    const auto stored = std::find_if(head.outputs.begin(), head.outputs.end(),
                                     [&](const LaneOutput& o) { return o.slot == input.slot; });
    if (stored != head.outputs.end()) {
      input_register.push_back(stored->reg);
      continue;
    }
    auto at = std::find(head.inputs.begin(), head.inputs.end(), input);
    if (at == head.inputs.end()) at = head.inputs.insert(at, input);
    input_register.push_back(~static_cast<std::int32_t>(at - head.inputs.begin()));
  }
  const auto shift = static_cast<std::int32_t>(head.instructions.size());
  const auto moved = [&](std::int32_t r) {
    return r < 0 ? input_register[static_cast<std::size_t>(~r)] : r + shift;
  };
  for (Instruction i : tail.instructions) {
    for (std::int32_t o = 0; o < i.count; ++o)
      i.operands[static_cast<std::size_t>(o)] = moved(i.operands[static_cast<std::size_t>(o)]);
    head.instructions.push_back(i);
  }
  for (const LaneOutput& o : tail.outputs) head.outputs.push_back({moved(o.reg), o.slot});
}

// The most results that wait for a later instruction at once.
std::size_t most_live(const Program& program) {
  std::vector<std::size_t> reads(program.instructions.size(), 0);
  const auto for_each_operand = [](const Instruction& in, const auto& visit) {
    for (std::int32_t o = 0; o < in.count; ++o)
      if (const std::int32_t r = in.operands[static_cast<std::size_t>(o)]; r >= 0)
        visit(static_cast<std::size_t>(r));
  };
  for (const Instruction& in : program.instructions)
    for_each_operand(in, [&](std::size_t r) { ++reads[r]; });
  std::size_t live = 0, most = 0;
  for (std::size_t k = 0; k < program.instructions.size(); ++k) {
    const bool is_read = reads[k] > 0;
    for_each_operand(program.instructions[k], [&](std::size_t r) { live -= --reads[r] == 0; });
    if (is_read) most = std::max(most, ++live);
  }
  return most;
}

class Fusion {
 public:
  explicit Fusion(Plan& plan)
      : plan_(plan),
        made_by_(plan.slots.size(), -1),
        read_by_(plan.slots.size()),
        gone_(plan.steps.size(), false) {
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      for_each_slot(plan.steps[i], [&](SlotId s, bool writes) {
        const auto slot = static_cast<std::size_t>(s);
        if (writes)
          made_by_[slot] = static_cast<std::int32_t>(i);
        else
          read_by_[slot].push_back(i);
      });
  }

  void run() {
    // Twice: after others have joined a program, it may depend on a later step than before.
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t i = 0; i < plan_.steps.size(); ++i)
        if (throw_if_stopped(); is_lanes(i)) hoist(i);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i)
      if (throw_if_stopped(); is_lanes(i)) sink(i);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i)
      if (throw_if_stopped(); !gone_[i]) finish(plan_.steps[i], i);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i)
      if (!gone_[i]) std::swap(plan_.steps[kept++], plan_.steps[i]);
    plan_.steps.resize(kept);
  }

 private:
  bool is_lanes(std::size_t i) const { return !gone_[i] && !plan_.steps[i].root; }
  bool is_inside(SlotId slot) const {
    return plan_.slots[static_cast<std::size_t>(slot)].place == Place::kWorkspace;
  }

  // Moves the program of step i to step `to` and removes step i.
  void move_work(std::size_t i, std::size_t to) {
    plan_.steps[to].nanoseconds += plan_.steps[i].nanoseconds;
    plan_.steps[to].not_before = std::max(plan_.steps[to].not_before, plan_.steps[i].not_before);
    for_each_slot(plan_.steps[i], [&](SlotId s, bool writes) {
      const auto slot = static_cast<std::size_t>(s);
      if (writes)
        made_by_[slot] = static_cast<std::int32_t>(to);
      else
        std::replace(read_by_[slot].begin(), read_by_[slot].end(), i, to);
    });
    plan_.steps[i].program = Program{};
    gone_[i] = true;
  }

  // Moves it to the step that makes the last of its operands.
  void hoist(std::size_t i) {
    const Program& program = plan_.steps[i].program;
    std::int32_t last = plan_.steps[i].not_before;
    for_each_slot(plan_.steps[i], [&](SlotId s, bool writes) {
      if (!writes) last = std::max(last, made_by_[static_cast<std::size_t>(s)]);
    });
    if (last < 0 || last == static_cast<std::int32_t>(i)) return;
    const auto to = static_cast<std::size_t>(last);
    if (plan_.steps[to].program.elements != program.elements) return;
    for (const LaneInput& input : program.inputs)
      if (made_by_[static_cast<std::size_t>(input.slot)] == last &&
          !input.is_full(program.elements))
        return;
    if (!is_near(to, i) && stored(program, i) > freed(program, to, i)) return;
    if (!fits(plan_.steps[to].program, program)) return;
    append(plan_.steps[to].program, program);
    move_work(i, to);
  }

  // ---- prices

  static bool is_near(std::size_t from, std::size_t to) {
    return to - from <= static_cast<std::size_t>(kNear);
  }
  std::size_t bytes(SlotId slot) const {
    return plan_.slots[static_cast<std::size_t>(slot)].type.bytes();
  }
  // Whether both together need no more registers than there may be.
  static bool fits(const Program& head, const Program& tail) {
    // Few need not be counted; and many are not, as each joins one after the other.
    constexpr std::size_t kFew = 12, kMany = 256;
    const std::size_t both = head.instructions.size() + tail.instructions.size();
    return both <= kFew || (both <= kMany && most_live(head) + most_live(tail) <= kMostLive);
  }
  // Bytes that a program stores for other steps.
  std::size_t stored(const Program& program, std::size_t i) const {
    std::size_t all = 0;
    for (const LaneOutput& o : program.outputs)
      if (is_inside(o.slot) && read_elsewhere(o.slot, i)) all += bytes(o.slot);
    return all;
  }
  // Bytes of the operands of program i that no other step reads after `since`.
  std::size_t freed(const Program& program, std::size_t since, std::size_t i) const {
    std::size_t all = 0;
    for (const LaneInput& input : program.inputs) {
      const auto& readers = read_by_[static_cast<std::size_t>(input.slot)];
      if (is_inside(input.slot) && std::none_of(readers.begin(), readers.end(), [&](std::size_t r) {
            return r > since && reads_elsewhere(r, i);
          }))
        all += bytes(input.slot);
    }
    return all;
  }

  // Moves it to the step whose program reads its results, if there is exactly one.
  void sink(std::size_t i) {
    Program& program = plan_.steps[i].program;
    std::size_t to = i;
    for (const LaneOutput& output : program.outputs) {
      if (!is_inside(output.slot)) return;
      for (std::size_t reader : read_by_[static_cast<std::size_t>(output.slot)]) {
        if (!reads_elsewhere(reader, i)) continue;
        if (to != i && reader != to) return;
        to = reader;
      }
    }
    if (to == i || plan_.steps[to].program.elements != program.elements) return;
    if (!reads_in_program_only(plan_.steps[to], program)) return;
    // What it reads last is kept until then, instead of what it stores.
    const bool is_next = std::all_of(gone_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                     gone_.begin() + static_cast<std::ptrdiff_t>(to),
                                     [](bool gone) { return gone; });
    if (!is_next && freed(program, i, i) > (is_near(i, to) ? 2 : 1) * stored(program, i)) return;
    if (!fits(program, plan_.steps[to].program)) return;
    Program joined = program;
    append(joined, plan_.steps[to].program);
    plan_.steps[to].program = std::move(joined);
    move_work(i, to);
  }

  // Whether `step` reads the results of `source` only in its program, lane by lane.
  static bool reads_in_program_only(const Step& step, const Program& source) {
    std::size_t reads = 0;
    std::size_t lane_reads = 0;
    for (const LaneOutput& output : source.outputs) {
      for_each_slot(step, [&](SlotId s, bool writes) { reads += s == output.slot && !writes; });
      for (const LaneInput& input : step.program.inputs)
        lane_reads += input.slot == output.slot && input.is_full(source.elements);
    }
    return reads == lane_reads;
  }

  void finish(Step& step, std::size_t i) {
    drop_unread_outputs(step.program, i);
    if (SlotId* const result = step.root ? step.root->result() : nullptr) {
      fold_relu(*step.root, step.program, i);
      *result = place_root(*result, step.program, i);
    }
    if (step.program.empty()) step.program.inputs.clear();
    number_registers(step.program);
  }

  bool read_elsewhere(SlotId slot, std::size_t i) const {
    const auto& readers = read_by_[static_cast<std::size_t>(slot)];
    return std::any_of(readers.begin(), readers.end(),
                       [&](std::size_t r) { return reads_elsewhere(r, i); });
  }
  // A step that is gone was joined with the program, and has its result in a register.
  bool reads_elsewhere(std::size_t reader, std::size_t i) const {
    return reader != i && !gone_[reader];
  }

  void drop_unread_outputs(Program& program, std::size_t i) {
    std::erase_if(program.outputs, [&](const LaneOutput& o) {
      return is_inside(o.slot) && !read_elsewhere(o.slot, i);
    });
  }

  // The input register that reads a root's result, if only this program reads it; else 0 (inputs
  // are negative here).
  std::int32_t private_root_register(SlotId result, const Program& program, std::size_t i) const {
    if (!is_inside(result) || read_elsewhere(result, i)) return 0;
    for (std::size_t k = 0; k < program.inputs.size(); ++k)
      if (program.inputs[k].slot == result && program.inputs[k].is_full(program.elements))
        return ~static_cast<std::int32_t>(k);
    return 0;
  }

  // A product applies a ReLU that comes first itself, while its result is in registers.
  void fold_relu(Root& step, Program& program, std::size_t i) {
    const std::int32_t root = private_root_register(*step.result(), program, i);
    if (root == 0 || program.instructions.empty()) return;
    const Instruction& first = program.instructions.front();
    const auto relu = plan_.kernels->element[static_cast<std::size_t>(Element::kRelu)];
    if (first.function != relu || first.operands[0] != root || uses(program, root) != 1 ||
        !step.take_relu())
      return;
    program.instructions.erase(program.instructions.begin());
    const auto moved = [&](std::int32_t r) { return r < 0 ? r : r == 0 ? root : r - 1; };
    for (Instruction& in : program.instructions)
      for (std::int32_t o = 0; o < in.count; ++o)
        in.operands[static_cast<std::size_t>(o)] = moved(in.operands[static_cast<std::size_t>(o)]);
    for (LaneOutput& o : program.outputs) o.reg = moved(o.reg);
  }

  static std::size_t uses(const Program& program, std::int32_t reg) {
    std::size_t count = 0;
    for (const Instruction& in : program.instructions)
      count += static_cast<std::size_t>(
          std::count(in.operands.begin(), in.operands.begin() + in.count, reg));
    for (const LaneOutput& o : program.outputs) count += o.reg == reg;
    return count;
  }

  // The root's result is stored where a result of its program goes, if the program writes that
  // after its last read of the root's result.
  SlotId place_root(SlotId result, Program& program, std::size_t i) {
    const std::int32_t root = private_root_register(result, program, i);
    if (root == 0) return result;
    std::int32_t last_read = -1;
    for (std::size_t k = 0; k < program.instructions.size(); ++k)
      for (std::int32_t o = 0; o < program.instructions[k].count; ++o)
        if (program.instructions[k].operands[static_cast<std::size_t>(o)] == root)
          last_read = static_cast<std::int32_t>(k);
    for (std::size_t k = 0; k < program.outputs.size(); ++k) {
      const LaneOutput output = program.outputs[k];
      if (plan_.slots[static_cast<std::size_t>(output.slot)].type.dtype != Dtype::kF32) continue;
      const bool is_root = output.reg == root;
      if (!is_root && (output.reg < last_read || output.reg < 0 || stored_too(program, root)))
        continue;
      program.inputs[static_cast<std::size_t>(~root)].slot = output.slot;
      if (is_root) program.outputs.erase(program.outputs.begin() + static_cast<std::ptrdiff_t>(k));
      return output.slot;
    }
    return result;
  }

  static bool stored_too(const Program& program, std::int32_t reg) {
    return std::any_of(program.outputs.begin(), program.outputs.end(),
                       [&](const LaneOutput& o) { return o.reg == reg; });
  }

  static void number_registers(Program& program) {
    const auto inputs = static_cast<std::int32_t>(program.inputs.size());
    const auto number = [&](std::int32_t r) { return r < 0 ? ~r : inputs + r; };
    for (Instruction& i : program.instructions)
      for (std::int32_t o = 0; o < i.count; ++o)
        i.operands[static_cast<std::size_t>(o)] = number(i.operands[static_cast<std::size_t>(o)]);
    for (LaneOutput& o : program.outputs) o.reg = number(o.reg);
  }

  Plan& plan_;
  std::vector<std::int32_t> made_by_;
  std::vector<std::vector<std::size_t>> read_by_;
  std::vector<bool> gone_;
};

}  // namespace

void for_each_slot(const Step& step, const std::function<void(SlotId, bool writes)>& visit) {
  const Root::Slots slots = step.root ? step.root->slots() : Root::Slots{};
  for (const SlotId s : slots.read)
    if (s >= 0) visit(s, false);
  for (const SlotId s : slots.written)
    if (s >= 0) visit(s, true);
  for (const LaneInput& i : step.program.inputs) visit(i.slot, false);
  for (const Instruction& i : step.program.instructions)
    if (!i.function) visit(i.key, false);
  for (const LaneOutput& o : step.program.outputs) visit(o.slot, true);
}

void fuse(Plan& plan) { Fusion(plan).run(); }

}  // namespace limpid::detail
