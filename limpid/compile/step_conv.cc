// Convolutions as steps: conv and conv_transpose as passes of one kernel, and the gradient of a
// weight.
#include "limpid/ops/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "limpid/compile/lowering.h"
#include "limpid/compile/worker.h"
#include "limpid/core/counts.h"
#include "limpid/core/error.h"

namespace limpid::detail {
namespace {

using Sizes = arithmetic::ConvolutionSizes;
constexpr std::size_t kBlock = arithmetic::kBlock;

// ---- passes

// A convolution with some of the taps of a kernel, at some positions of the result: all of a conv;
// or, of a conv_transpose, the positions with one remainder by the stride in each dimension. There,
// the other taps would multiply the zeros between the elements of the input.
struct Pass {
  kernels::Patches patches{};  // without pointer
  std::size_t channels = 0;    // of each group of the input
  std::size_t k = 0;
  std::vector<std::size_t> block_ends;           // empty: kernels::Conv needs none
  std::array<std::vector<std::size_t>, 3> taps;  // of the kernel, in the order of the terms
  std::size_t weights = 0;                       // the offset of its part of a group's weights
  std::size_t c_offset = 0;
  std::array<std::size_t, 3> c_step{};

  std::size_t positions() const { return patches.out[0] * patches.out[1] * patches.out[2]; }
};

// Dimensions that positions walk through without a gap are one: the kernel then copies long runs.
void merge_dimensions(kernels::Patches& p) {
  const auto is_plain = [&](std::size_t d) {
    return p.taps[d] == 1 && p.step[d] == 1 && p.first[d] == 0 && p.in[d] == p.out[d];
  };
  for (std::size_t d = 2; d > 0 && is_plain(d); --d) {
    if (!is_plain(d - 1)) return;
    p.in[2] *= p.in[d - 1];
    p.out[2] *= p.out[d - 1];
    p.in[d - 1] = p.out[d - 1] = 1;
  }
}

// A step between elements, with the number of positions that it leads to. A position in a kernel's
// input is a sum of three such products, which a machine of 32 bits may be unable to count. A step
// that is never taken may be as long as it likes.
std::ptrdiff_t addressable_step(std::int64_t step, std::size_t positions) {
  constexpr std::int64_t kMost = std::numeric_limits<std::ptrdiff_t>::max() / 4;
  if (positions > 1 &&
      product_or_most(step < 0 ? -step : step, static_cast<std::int64_t>(positions)) > kMost)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("convolution: {} positions at steps of {} elements are more than this "
                            "machine can address",
                            positions, step));
  return static_cast<std::ptrdiff_t>(step);
}

Pass conv_pass(const Sizes& s) {
  Pass pass;
  kernels::Patches& p = pass.patches;
  for (std::size_t d = 0; d < 3; ++d) {
    p.in[d] = s.in[d];
    p.out[d] = s.out[d];
    p.taps[d] = s.taps[d];
    p.first[d] = addressable_step(-s.low[d], 2);
    p.step[d] = s.out[d] > 1 ? addressable_step(s.stride[d], s.out[d]) : 1;
    p.tap_step[d] = addressable_step(s.dilation[d], s.taps[d]);
  }
  p.channel_step = s.in_elements();
  p.image_step = s.groups * s.channels * p.channel_step;
  pass.channels = s.channels;
  pass.k = s.channels * s.tap_count();
  merge_dimensions(p);
  pass.c_step = {p.out[1] * p.out[2], p.out[2], 1};
  return pass;
}

// One dimension of a pass of conv_transpose: positions first, first + stride, ... of the result.
struct Phase {
  std::size_t count;              // of positions
  std::vector<std::size_t> taps;  // from the last to the first
  std::ptrdiff_t first, tap_step;
};
Phase phase_of(const Sizes& s, std::size_t d, std::int64_t remainder) {
  const std::int64_t stride = s.stride[d];
  Phase phase{static_cast<std::size_t>(
                  (static_cast<std::int64_t>(s.in[d]) - remainder + stride - 1) / stride),
              {},
              0,
              addressable_step(s.dilation[d] / std::gcd(s.dilation[d], stride), s.taps[d])};
  for (std::size_t tap = s.taps[d]; tap-- > 0;) {
    const std::int64_t reach =
        remainder + s.low[d] - static_cast<std::int64_t>(tap) * s.dilation[d];
    if (reach % stride != 0) continue;
    if (phase.taps.empty()) phase.first = addressable_step(reach / stride, 2);
    phase.taps.push_back(tap);
  }
  return phase;
}

std::vector<Pass> transpose_passes(const Sizes& s) {
  std::vector<Pass> passes;
  const std::size_t taps = s.tap_count();
  std::size_t weights = 0;
  std::array<std::int64_t, 3> remainder{};
  const auto phases_in = [&](std::size_t d) {
    return std::min(s.stride[d], static_cast<std::int64_t>(s.in[d]));
  };
  for (remainder[0] = 0; remainder[0] < phases_in(0); ++remainder[0])
    for (remainder[1] = 0; remainder[1] < phases_in(1); ++remainder[1])
      for (remainder[2] = 0; remainder[2] < phases_in(2); ++remainder[2]) {
        Pass pass;
        kernels::Patches& p = pass.patches;
        std::size_t step = 1;
        for (std::size_t d = 3; d-- > 0; step *= s.in[d]) {
          Phase phase = phase_of(s, d, remainder[d]);
          p.in[d] = s.out[d];
          p.out[d] = phase.count;
          p.taps[d] = phase.taps.size();
          p.first[d] = phase.first;
          p.step[d] = 1;
          p.tap_step[d] = phase.tap_step;
          pass.taps[d] = std::move(phase.taps);
          pass.c_offset += static_cast<std::size_t>(remainder[d]) * step;
          pass.c_step[d] = phase.count > 1 ? static_cast<std::size_t>(s.stride[d]) * step : step;
        }
        p.channel_step = s.out_elements();
        p.image_step = s.groups * s.outputs * p.channel_step;
        pass.channels = s.outputs;
        pass.k = s.outputs * p.taps[0] * p.taps[1] * p.taps[2];
        // Blocks are counted with the taps of the other passes.
        std::size_t block = 0, terms = 0;
        for (std::size_t c = 0; c < pass.channels; ++c)
          for (const std::size_t z : pass.taps[0])
            for (const std::size_t y : pass.taps[1])
              for (const std::size_t x : pass.taps[2]) {
                const std::size_t tap = (z * s.taps[1] + y) * s.taps[2] + x;
                const std::size_t of_term = (c * taps + taps - 1 - tap) / kBlock;
                if (of_term != block && terms > 0) pass.block_ends.push_back(terms);
                block = of_term;
                ++terms;
              }
        pass.block_ends.push_back(terms);
        // Without taps, zeros are multiplied by a weight that is 0, or NaN as below.
        if (terms == 0) {
          p.in = {0, 0, 0};
          p.taps = {1, 1, 1};
          pass.k = 1;
          pass.block_ends = {1};
        }
        pass.weights = weights;
        weights += s.channels * pass.k;
        passes.push_back(std::move(pass));
      }
  return passes;
}
// More are not worth a kernel call each.
constexpr std::int64_t kMostPasses = 64;

std::size_t floats_of_group(const std::vector<Pass>& passes, std::size_t rows) {
  return passes.back().weights + rows * passes.back().k;
}

// The weights of the passes of a conv_transpose, for `rows`, channels of all groups of the result.
// A weight that would multiply a zero between elements of the input and is not finite makes a sum
// NaN: NaN takes the place of the row's first weight.
void arrange_weights(const Sizes& s, const std::vector<Pass>& passes, const float* w, Range rows,
                     float* out) {
  const std::size_t taps = s.tap_count(), of_output = s.channels * taps;
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    const std::size_t group = row / s.channels, c = row % s.channels;
    const float* const weights = w + group * s.outputs * of_output + c * taps;
    std::size_t not_finite = 0;
    for (std::size_t o = 0; o < s.outputs; ++o)
      not_finite += static_cast<std::size_t>(
          std::count_if(weights + o * of_output, weights + o * of_output + taps,
                        [](float v) { return !std::isfinite(v); }));
    for (const Pass& pass : passes) {
      float* const to =
          out + group * floats_of_group(passes, s.channels) + pass.weights + c * pass.k;
      float* next = to;
      std::size_t used = 0;
      for (std::size_t o = 0; o < s.outputs; ++o)
        for (const std::size_t z : pass.taps[0])
          for (const std::size_t y : pass.taps[1])
            for (const std::size_t x : pass.taps[2]) {
              *next = weights[o * of_output + (z * s.taps[1] + y) * s.taps[2] + x];
              used += !std::isfinite(*next);
              ++next;
            }
      if (next == to) *to = 0;
      if (used < not_finite) *to = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

// ---- steps

struct ArrangeStep final : UnaryRoot {
  Sizes sizes{};
  std::vector<Pass> passes;

  std::string text(const Names& s) const override {
    return fmt::format("{} = arrange {}x{}x{}x{} {}", s(out), sizes.groups, sizes.outputs,
                       sizes.channels, sizes.tap_count(), s(in));
  }
  void run(const Step&, const Worker& worker, Piece piece) const override {
    arrange_weights(sizes, passes, worker.at<const float>(in),
                    part(sizes.groups * sizes.channels, 1, piece.index, piece.count),
                    worker.at<float>(out));
  }
};

std::string spatial_text(const std::size_t (&size)[3]) {
  return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

struct ConvStep final : Root {
  std::string_view name;
  Sizes sizes{};
  std::vector<Pass> passes;
  std::size_t rows = 0, positions = 0;  // of each group, and of each image of the result
  SlotId x = -1, w = -1, bias = -1, out = -1;
  bool relu = false;

  Slots slots() const override { return {{x, w, bias}, {out}}; }
  std::string text(const Names& s) const override {
    return fmt::format("{} = {} {}x{}x{}x{} {} by {} at {} {} {}{}{}", s(out), name, sizes.images,
                       sizes.groups, sizes.channels, sizes.outputs, spatial_text(sizes.in),
                       spatial_text(sizes.taps), spatial_text(sizes.out), s(x), s(w),
                       bias >= 0 ? " + " + s(bias) : "", relu ? " relu" : "");
  }
  std::size_t scratch_bytes(const kernels::Kernels& kernels) const override {
    return sizeof(float) * kernels.conv_scratch_floats;
  }
  // Only one pass leaves contiguous positions behind.
  SlotId* result() override { return passes.size() == 1 ? &out : nullptr; }
  bool take_relu() override { return relu = true; }

  // Threads take positions; if there are few, groups or rows.
  void run(const Step& step, const Worker& worker, Piece piece) const override {
    constexpr std::size_t kRowUnit = 24;  // whole register tiles on every instruction set
    const std::size_t unit = worker.plan.kernels->panel_width;
    for (const Pass& pass : passes) {
      const std::size_t columns = sizes.images * pass.positions();
      Range groups{0, sizes.groups}, some_rows{0, rows}, some_columns{0, columns};
      if (columns >= 4 * unit * piece.count)
        some_columns = part(columns, unit, piece.index, piece.count);
      else if (sizes.groups >= piece.count)
        groups = part(sizes.groups, 1, piece.index, piece.count);
      else
        some_rows = part(rows, kRowUnit, piece.index, piece.count);
      for (std::size_t g = groups.begin; g < groups.end; ++g)
        run_pass(step, worker, pass, g, some_rows, some_columns);
    }
  }

 private:
  void run_pass(const Step& step, const Worker& worker, const Pass& pass, std::size_t group,
                Range some_rows, Range columns) const {
    const kernels::Kernels& kernels = *worker.plan.kernels;
    const kernels::Conv arguments = arguments_of(worker, pass, group);
    const std::size_t of_image = pass.positions();
    // Parts of one image, unless it is small.
    const bool by_image = of_image >= 2 * kernels.conv_columns;
    for (std::size_t c = columns.begin; c < columns.end;) {
      std::size_t end = std::min(c + kernels.conv_columns, columns.end);
      if (by_image) end = std::min(end, (c / of_image + 1) * of_image);
      for (std::size_t r = some_rows.begin; r < some_rows.end; r += kernels.conv_rows) {
        const Range these{r, std::min(r + kernels.conv_rows, some_rows.end)};
        kernels.conv(arguments, these, {c, end}, worker.floats());
        run_program(step, worker, {group * rows + these.begin, group * rows + these.end}, {c, end});
      }
      c = end;
    }
  }
  void run_program(const Step& step, const Worker& worker, Range channels, Range columns) const {
    if (step.program.empty()) return;
    for (std::size_t c = columns.begin; c < columns.end;) {
      const std::size_t image = c / positions;
      const std::size_t end = std::min(columns.end, (image + 1) * positions);
      run_behind(step, worker, {image, channels, {c - image * positions, end - image * positions}},
                 sizes.groups * rows, positions);
      c = end;
    }
  }
  kernels::Conv arguments_of(const Worker& worker, const Pass& pass, std::size_t group) const {
    kernels::Conv conv{};
    conv.b = pass.patches;
    conv.b.x = worker.at<const float>(x) + group * pass.channels * pass.patches.channel_step;
    conv.k = pass.k;
    conv.a = worker.at<const float>(w) + group * floats_of_group(passes, rows) + pass.weights;
    conv.block_ends = pass.block_ends.empty() ? nullptr : pass.block_ends.data();
    conv.c = worker.at<float>(out) + group * rows * positions + pass.c_offset;
    conv.c_row_stride = positions;
    conv.c_image_step = sizes.groups * rows * positions;
    conv.c_step = pass.c_step;
    conv.bias = bias >= 0 ? worker.at<const float>(bias) + group * rows : nullptr;
    conv.relu = relu;
    return conv;
  }
};

struct ConvWeightGradientStep final : Root {
  Sizes sizes{};
  kernels::Patches patches{};
  SlotId x = -1, g = -1, out = -1;

  Slots slots() const override { return {{x, g}, {out}}; }
  std::string text(const Names& s) const override {
    return fmt::format("{} = conv_weight_gradient {}x{}x{}x{} {} by {} at {} {} {}", s(out),
                       sizes.images, sizes.groups, sizes.channels, sizes.outputs,
                       spatial_text(sizes.in), spatial_text(sizes.taps), spatial_text(sizes.out),
                       s(x), s(g));
  }
  std::size_t scratch_bytes(const kernels::Kernels& kernels) const override {
    return sizeof(float) * kernels.conv_weight_gradient_scratch_floats;
  }

  // Threads take groups, or columns; if there are few of both, rows.
  void run(const Step&, const Worker& worker, Piece piece) const override {
    const kernels::Kernels& kernels = *worker.plan.kernels;
    const std::size_t taps = sizes.channels * sizes.tap_count();
    const std::size_t positions = sizes.out_elements();
    Range groups{0, sizes.groups}, rows{0, sizes.outputs}, columns{0, taps};
    if (sizes.groups >= 4 * piece.count)
      groups = part(sizes.groups, 1, piece.index, piece.count);
    else if (taps >= 4 * kernels.panel_width * piece.count)
      columns = part(taps, kernels.panel_width, piece.index, piece.count);
    else
      rows = part(sizes.outputs, 1, piece.index, piece.count);
    for (std::size_t group = groups.begin; group < groups.end; ++group) {
      kernels::ConvWeightGradient gradient{};
      gradient.b = patches;
      gradient.b.x = worker.at<const float>(x) + group * sizes.channels * patches.channel_step;
      gradient.images = sizes.images;
      gradient.a = worker.at<const float>(g) + group * sizes.outputs * positions;
      gradient.a_row_stride = positions;
      gradient.a_image_step = sizes.groups * sizes.outputs * positions;
      gradient.c = worker.at<float>(out) + group * sizes.outputs * taps;
      gradient.c_row_stride = taps;
      kernels.conv_weight_gradient(gradient, rows, columns, worker.floats());
    }
  }
};

// ---- lowering

double nanoseconds_of(const Call& call) {
  return kNanosecondsPerFlop * static_cast<double>(call.op.flops(call));
}

void add_conv(Lowering& l, const Node& node, const Call& call) {
  ConvStep root;
  root.name = call.op.name;
  root.sizes = convolution_sizes(call);
  const Sizes& s = root.sizes;
  const bool transposed = node.op == &op::conv_transpose;
  if (transposed)
    root.passes = transpose_passes(s);
  else
    root.passes.push_back(conv_pass(s));
  root.rows = transposed ? s.channels : s.outputs;
  root.positions = transposed ? s.in_elements() : s.out_elements();
  root.x = l.memory(node.inputs[0]);
  const Lowering::Known& weight = l.known(l.resolve(node.inputs[1]));
  if (!transposed) {
    root.w = l.memory(node.inputs[1]);
  } else {
    const auto floats =
        static_cast<std::int64_t>(s.groups * floats_of_group(root.passes, root.rows));
    if (weight.how == Lowering::How::kConstant) {
      const Tensor given = weight.constant;
      root.w = l.constant_slot(Tensor::generate<float>({floats}, [&](std::span<float> out) {
        arrange_weights(s, root.passes, given.values<float>().data(), {0, s.groups * root.rows},
                        out.data());
      }));
    } else {
      ArrangeStep arrange;
      arrange.sizes = s;
      arrange.passes = root.passes;
      arrange.in = l.memory(node.inputs[1]);
      arrange.out = l.add_slot({Dtype::kF32, {floats}}, Place::kWorkspace, 0);
      root.w = arrange.out;
      l.add_step(std::move(arrange), kNanosecondsPerPackedElement * static_cast<double>(floats));
    }
  }
  if (node.inputs.size() == 3) root.bias = l.memory(node.inputs[2]);
  const std::size_t program = root.passes.size() == 1 ? l.elements(node.first_output) : 0;
  l.add_step_of(node, std::move(root), nanoseconds_of(call), program);
}

bool serves_transpose(const Call& call) {
  if (!serves_f32(call)) return false;
  const Sizes s = convolution_sizes(call);
  std::int64_t passes = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    passes *= std::min(s.stride[d], static_cast<std::int64_t>(s.in[d]));
    if (passes > kMostPasses) return false;
  }
  return true;
}

void add_weight_gradient(Lowering& l, const Node& node, const Call& call) {
  ConvWeightGradientStep root;
  root.sizes = convolution_sizes(call);
  root.patches = conv_pass(root.sizes).patches;
  root.x = l.memory(node.inputs[0]);
  root.g = l.memory(node.inputs[1]);
  l.add_step_of(node, root, nanoseconds_of(call));
}

constexpr const Op* kConv[] = {&op::conv};
constexpr const Op* kConvTranspose[] = {&op::conv_transpose};
constexpr const Op* kConvWeightGradient[] = {&op::conv_weight_gradient};

constexpr StepKind kConvKinds[] = {{kConv, serves_f32, add_conv},
                                   {kConvTranspose, serves_transpose, add_conv},
                                   {kConvWeightGradient, serves_f32, add_weight_gradient}};

}  // namespace

constexpr StepKinds conv_steps = kConvKinds;

}  // namespace limpid::detail
