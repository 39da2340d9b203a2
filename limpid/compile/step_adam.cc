// adam_update as a step.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "limpid/compile/lowering.h"
#include "limpid/compile/worker.h"
#include "limpid/ops/update.h"

namespace limpid::detail {
namespace {

// All slots but the scalars have `elements`.
struct AdamStep final : Root {
  std::size_t elements = 0;
  std::array<SlotId, 8> in{};   // parameter, gradient, mean, square; four scalars
  std::array<SlotId, 3> out{};  // parameter, mean, square
  double beta1 = 0, beta2 = 0, eps = 0;

  Slots slots() const override { return {{in.begin(), in.end()}, {out.begin(), out.end()}}; }
  std::string text(const Names& s) const override {
    return fmt::format("{}, {}, {} = adam_update {} {}, {}, {}, {}", s(out[0]), s(out[1]),
                       s(out[2]), elements, s(in[0]), s(in[1]), s(in[2]), s(in[3]));
  }
  bool writes_in_place(SlotId from, SlotId) const override {
    return std::find(in.begin(), in.begin() + 4, from) != in.begin() + 4;
  }
  void run(const Step&, const Worker& worker, Piece piece) const override {
    const auto read = [&](std::size_t i) { return worker.at<const float>(in[i]); };
    const auto write = [&](std::size_t i) { return worker.at<float>(out[i]); };
    // The scalars: gradient_scale, decay, step_size, root.
    const kernels::AdamUpdate update{read(0),
                                     read(1),
                                     read(2),
                                     read(3),
                                     write(0),
                                     write(1),
                                     write(2),
                                     *read(4),
                                     *read(5),
                                     *read(6),
                                     *read(7),
                                     static_cast<float>(eps),
                                     static_cast<float>(beta1),
                                     static_cast<float>(1 - beta1),
                                     static_cast<float>(beta2),
                                     static_cast<float>(1 - beta2)};
    worker.plan.kernels->adam_update(update, part(elements, 64, piece.index, piece.count));
  }
};

void add_adam(Lowering& l, const Node& node, const Call& call) {
  const auto number = [&](const char* name) { return call.attributes.get<double>(name); };
  AdamStep root;
  root.elements = l.elements(node.first_output);
  root.beta1 = number("beta1");
  root.beta2 = number("beta2");
  root.eps = number("eps");
  for (std::size_t i = 0; i < root.in.size(); ++i) root.in[i] = l.memory(node.inputs[i]);
  for (std::size_t i = 0; i < root.out.size(); ++i)
    root.out[i] = l.new_slot(node.first_output + static_cast<ValueId>(i));
  l.add_step(root, kNanosecondsPerUpdatedElement * static_cast<double>(root.elements));
  for (std::size_t i = 0; i < root.out.size(); ++i)
    l.set_memory(node.first_output + static_cast<ValueId>(i), root.out[i], l.last_step());
}

constexpr const Op* kAdam[] = {&op::adam_update};

constexpr StepKind kAdamKinds[] = {{kAdam, serves_f32, add_adam}};

}  // namespace

constexpr StepKinds adam_steps = kAdamKinds;

}  // namespace limpid::detail
