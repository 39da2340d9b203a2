// Steps that run the bodies of ops which hold Functions. The plan has the body's steps once,
// whatever the number of times that they run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "limpid/compile/lowering.h"
#include "limpid/compile/nested.h"
#include "limpid/compile/worker.h"
#include "limpid/core/stop_check.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/control.h"
#include "limpid/transforms/scan.h"

namespace limpid::detail {
namespace {

std::string names_of(const std::vector<SlotId>& slots, const Root::Names& s) {
  std::vector<std::string> all;
  for (const SlotId slot : slots) all.push_back(s(slot));
  return fmt::format("{}", fmt::join(all, ", "));
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

// A Function whose inputs became constants where the surrounding plan has constants, and the
// numbers of the inputs that are left.
struct Bound {
  Function function;
  std::vector<std::size_t> inputs;
};

Bound bound(const Lowering& l, const Function& f, std::span<const ValueId> values,
            std::size_t first) {
  Params constants;
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Lowering::Known& known = l.known(l.resolve(values[i]));
    if (i >= first && known.how == Lowering::How::kConstant)
      constants.set(f.inputs()[i].name, known.constant.reshape(f.inputs()[i].type.shape));
    else
      inputs.push_back(i);
  }
  return {constants.size() > 0 ? bind(f, constants) : f, std::move(inputs)};
}

struct ScanStep final : PlansRoot {
  explicit ScanStep(NestedPlan plan) : body(std::move(plan)) {}

  NestedPlan body;
  std::vector<std::size_t> inputs;  // of the call, in the order of the body's
  std::size_t carries = 0, scanned = 0;
  std::int64_t length = 0;
  bool reverse = false;
  std::vector<SlotId> in, out;  // of the call; a constant has no slot
  std::vector<SlotId> packed;   // what all steps multiply by
  std::vector<std::size_t> carry_bytes;
  SlotId memory = -1;

  Slots slots() const override {
    std::vector<SlotId> written = out;
    written.push_back(memory);
    std::vector<SlotId> read = in;
    read.insert(read.end(), packed.begin(), packed.end());
    return {read, written};
  }
  std::vector<const NestedPlan*> nested() const override { return {&body}; }
  std::string text(const Names& s) const override {
    std::vector<SlotId> read = slots().read;
    std::erase_if(read, [](SlotId slot) { return slot < 0; });
    return fmt::format("{} = scan {} steps{} {}", names_of(out, s), length,
                       reverse ? " in reverse" : "", names_of(read, s)) +
           text_of("each", body);
  }
  // The carry is in the memory of its result: each step reads and writes it there.
  void run_plans(const Worker& worker, std::byte* scratch, ThreadPool* pool,
                 StopCheck* check) const override {
    for (std::size_t c = 0; c < carries; ++c)
      copy_bytes(worker.at<void>(out[c]), worker.at<const void>(in[c]), carry_bytes[c]);
    if (length == 0) return;
    NestedPlan::Ready ready(body, worker.at<std::byte>(memory), scratch, pool, check);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      ready.set_input(i, inputs[i] < carries ? worker.at<const void>(out[inputs[i]])
                                             : worker.at<const void>(in[inputs[i]]));
    for (std::size_t p = 0; p < packed.size(); ++p)
      ready.set_input(inputs.size() + p, worker.at<const void>(packed[p]));
    for (std::size_t o = 0; o < out.size(); ++o) ready.set_output(o, worker.at<void>(out[o]));
    for (std::int64_t step = 0; step < length; ++step) {
      const auto t = static_cast<std::size_t>(reverse ? length - 1 - step : step);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] >= carries && inputs[i] < carries + scanned)
          ready.set_input(i, worker.at<const std::byte>(in[inputs[i]]) +
                                 t * body.plan().inputs[i].type.bytes());
      for (std::size_t o = carries; o < out.size(); ++o)
        ready.set_output(o, worker.at<std::byte>(out[o]) + t * body.plan().outputs[o].bytes());
      ready.run();
      if (check && check->stopped()) return;
    }
  }
};

constexpr const Op* kScan[] = {&op::scan};

SlotId memory_slot(Lowering& l, std::size_t bytes) {
  return l.add_slot({Dtype::kU8, {static_cast<std::int64_t>(bytes)}}, Place::kWorkspace, 0);
}

// Appends the step, whose results have the slots `out`.
template <class R>
void add_plans_step(Lowering& l, const Node& node, R root, double nanoseconds) {
  const std::vector<SlotId> out = root.out;
  l.add_step(std::move(root), nanoseconds);
  for (std::size_t o = 0; o < out.size(); ++o)
    l.set_memory(node.first_output + static_cast<ValueId>(o), out[o], l.last_step());
}

void lower_scan(Lowering& l, const Node& node, const Call& call) {
  const Function& body = call.attributes.get<Nested>("body").function();
  const auto carries = static_cast<std::size_t>(call.attributes.integer("carries"));
  const auto scanned = static_cast<std::size_t>(call.attributes.integer("scanned"));
  const Bound step = bound(l, body, node.inputs, carries + scanned);
  std::vector<CompileOptions::Donation> donations;
  for (std::size_t c = 0; c < carries; ++c) donations.push_back({c, c});
  ScanStep root(NestedPlan(step.function, l.isa(), donations, carries + scanned));
  root.inputs = step.inputs;
  root.carries = carries;
  root.scanned = scanned;
  root.length = call.attributes.integer("length");
  root.reverse = call.attributes.get<bool>("reverse");
  root.in.assign(node.inputs.size(), -1);
  for (const std::size_t i : step.inputs) root.in[i] = l.memory(node.inputs[i]);
  for (const Plan::PackedInput& p : root.body.plan().packed_inputs)
    root.packed.push_back(l.packed_operand(node.inputs[step.inputs[p.input]], p.layout));
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    root.out.push_back(l.new_slot(node.first_output + static_cast<ValueId>(o)));
    if (o < carries) root.carry_bytes.push_back(call.outputs[o].bytes());
  }
  root.memory = memory_slot(l, root.body.memory_bytes());
  const double nanoseconds = static_cast<double>(root.length) * nanoseconds_of(root.body.plan());
  add_plans_step(l, node, std::move(root), nanoseconds);
}

struct CondStep final : PlansRoot {
  CondStep(NestedPlan if_true, NestedPlan if_false)
      : yes(std::move(if_true)), no(std::move(if_false)) {}

  NestedPlan yes, no;
  SlotId predicate = -1;
  std::vector<SlotId> in, out;
  SlotId memory = -1;

  Slots slots() const override {
    std::vector<SlotId> read = in, written = out;
    read.push_back(predicate);
    written.push_back(memory);
    return {read, written};
  }
  std::vector<const NestedPlan*> nested() const override { return {&yes, &no}; }
  std::string text(const Names& s) const override {
    return fmt::format("{} = cond {} {}", names_of(out, s), s(predicate), names_of(in, s)) +
           text_of("yes", yes) + text_of("no", no);
  }
  void run_plans(const Worker& worker, std::byte* scratch, ThreadPool* pool,
                 StopCheck* check) const override {
    const NestedPlan& chosen = *worker.at<const bool>(predicate) ? yes : no;
    NestedPlan::Ready ready(chosen, worker.at<std::byte>(memory), scratch, pool, check);
    for (std::size_t i = 0; i < in.size(); ++i) ready.set_input(i, worker.at<const void>(in[i]));
    for (std::size_t o = 0; o < out.size(); ++o) ready.set_output(o, worker.at<void>(out[o]));
    ready.run();
  }
};

constexpr const Op* kCond[] = {&op::cond};

void lower_cond(Lowering& l, const Node& node, const Call& call) {
  CondStep root(NestedPlan(call.attributes.get<Nested>("yes").function(), l.isa()),
                NestedPlan(call.attributes.get<Nested>("no").function(), l.isa()));
  root.predicate = l.memory(node.inputs[0]);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) root.in.push_back(l.memory(node.inputs[i]));
  for (std::size_t o = 0; o < call.outputs.size(); ++o)
    root.out.push_back(l.new_slot(node.first_output + static_cast<ValueId>(o)));
  root.memory = memory_slot(l, std::max(root.yes.memory_bytes(), root.no.memory_bytes()));
  const double nanoseconds =
      std::max(nanoseconds_of(root.yes.plan()), nanoseconds_of(root.no.plan()));
  add_plans_step(l, node, std::move(root), nanoseconds);
}

struct WhileStep final : PlansRoot {
  WhileStep(NestedPlan test, NestedPlan step) : condition(std::move(test)), body(std::move(step)) {}

  NestedPlan condition, body;
  std::int64_t limit = 0;
  std::vector<SlotId> in, out;
  std::vector<std::size_t> carry_bytes;
  SlotId truth = -1, condition_memory = -1, body_memory = -1;

  Slots slots() const override {
    std::vector<SlotId> written = out;
    written.insert(written.end(), {truth, condition_memory, body_memory});
    return {in, written};
  }
  std::vector<const NestedPlan*> nested() const override { return {&condition, &body}; }
  std::string text(const Names& s) const override {
    return fmt::format("{} = while {}", names_of(out, s), names_of(in, s)) +
           text_of("condition", condition) + text_of("each", body);
  }
  // The carry is in the memory of its result: each step reads and writes it there.
  void run_plans(const Worker& worker, std::byte* scratch, ThreadPool* pool,
                 StopCheck* check) const override {
    NestedPlan::Ready test(condition, worker.at<std::byte>(condition_memory), scratch, pool, check);
    NestedPlan::Ready step(body, worker.at<std::byte>(body_memory), scratch, pool, check);
    for (std::size_t c = 0; c < out.size(); ++c)
      copy_bytes(worker.at<void>(out[c]), worker.at<const void>(in[c]), carry_bytes[c]);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const void* const address = worker.at<const void>(i < out.size() ? out[i] : in[i]);
      test.set_input(i, address);
      step.set_input(i, address);
    }
    test.set_output(0, worker.at<void>(truth));
    for (std::size_t o = 0; o < out.size(); ++o) step.set_output(o, worker.at<void>(out[o]));
    for (std::int64_t steps = 0; steps < limit; ++steps) {
      test.run();
      if ((check && check->stopped()) || !*worker.at<const bool>(truth)) return;
      step.run();
    }
  }
};

constexpr const Op* kWhile[] = {&op::while_loop};

void lower_while(Lowering& l, const Node& node, const Call& call) {
  const std::size_t carries = call.outputs.size();
  std::vector<CompileOptions::Donation> donations;
  for (std::size_t c = 0; c < carries; ++c) donations.push_back({c, c});
  WhileStep root(NestedPlan(call.attributes.get<Nested>("condition").function(), l.isa()),
                 NestedPlan(call.attributes.get<Nested>("body").function(), l.isa(), donations));
  root.limit = call.attributes.integer("limit");
  for (const ValueId id : node.inputs) root.in.push_back(l.memory(id));
  for (std::size_t c = 0; c < carries; ++c) {
    root.out.push_back(l.new_slot(node.first_output + static_cast<ValueId>(c)));
    root.carry_bytes.push_back(call.outputs[c].bytes());
  }
  root.truth = l.add_slot({Dtype::kBool, {}}, Place::kWorkspace, 0);
  root.condition_memory = memory_slot(l, root.condition.memory_bytes());
  root.body_memory = memory_slot(l, root.body.memory_bytes());
  // The number of steps is not known: as if there were some.
  constexpr double kSteps = 16;
  const double nanoseconds =
      kSteps * (nanoseconds_of(root.condition.plan()) + nanoseconds_of(root.body.plan()));
  add_plans_step(l, node, std::move(root), nanoseconds);
}

constexpr StepKind kLoopKinds[] = {{kScan, serves_all, lower_scan},
                                   {kCond, serves_all, lower_cond},
                                   {kWhile, serves_all, lower_while}};

}  // namespace

constexpr StepKinds loop_steps = kLoopKinds;

}  // namespace limpid::detail
