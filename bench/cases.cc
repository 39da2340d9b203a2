#include "bench/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/task.h"

namespace bench {
namespace {

using Kind = Case::Kind;

constexpr int kCheckedSteps = 3;
// Only the first rows of an answer are compared if comparing all would take long.
constexpr int kCheckedRows = 2;

void add_forward_passes(std::vector<Case>& cases, int threads) {
  for (const int batch : {1, 8, 32, 256, 4096})
    cases.push_back({Kind::kForward, kDigits, batch, threads, "Forward pass of 784-256-128-10",
                     fmt::format("batch {}", batch), false, threads == 1 || batch <= 256});
  if (threads == 1)
    for (const char* net : {"tanh:3-4-2", "relu:64-64-64-1"})
      cases.push_back({Kind::kForward, net, 1, threads, "Small networks, one example", net});
  for (const int rows : {1, 16, 128})
    cases.push_back({Kind::kForward, "gelu:4096-16384-4096", rows, threads, "Feed-forward blocks",
                     fmt::format("4096-16384-4096 GELU, {} rows", rows), true, false});
  for (const int rows : {1, 32, 256})
    cases.push_back({Kind::kGated, "1024-2736", rows, threads, "Feed-forward blocks",
                     fmt::format("1024-2736-1024 SwiGLU, {} rows", rows), false,
                     threads == 1 ? rows < 256 : rows == 1});
}

// f32 first in each batch: the narrower dtypes are compared with it.
void add_narrow(std::vector<Case>& cases, int threads) {
  for (const int batch : {1, 32})
    for (const char* dtype : {"f32", "bf16", "i8"})
      cases.push_back({Kind::kNarrow, dtype, batch, threads,
                       "Forward pass of 784-256-128-10 with narrow weights",
                       fmt::format("{}, batch {}", dtype, batch), false, batch == 1});
}

void add_products(std::vector<Case>& cases) {
  struct Product {
    int m, k, n;
    bool quick;
  };
  for (const auto& [m, k, n, quick] :
       {Product{64, 64, 64, true}, Product{256, 256, 256, true}, Product{1024, 1024, 1024, true},
        Product{2048, 2048, 2048, false}, Product{8, 1024, 1024, true},
        Product{32, 4096, 4096, false}, Product{1, 1024, 1024, true}, Product{1, 4096, 4096, true}})
    cases.push_back({Kind::kForward, fmt::format("none:{}-{}", k, n), m, 1,
                     "Products with weights, plus bias", fmt::format("{} x {} x {}", m, k, n),
                     std::max(m, 1) * 1.0 * k * n > 2e9 || k >= 4096, quick});
}

void add_training(std::vector<Case>& cases, int threads) {
  for (const char* optimizer : {"sgd", "adamw"})
    for (const int batch : {32, 128, 512})
      cases.push_back({Kind::kTraining, optimizer, batch, threads,
                       "Training step of 784-256-128-10",
                       fmt::format("{}, batch {}", optimizer, batch), batch == 512, batch == 128});
}

void add_functions(std::vector<Case>& cases) {
  for (const int size : {256, 4096})
    for (const char* function : {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "softmax",
                                 "layer_norm", "rms_norm"})
      cases.push_back({Kind::kFunction, function, size, 1,
                       fmt::format("Functions of {0} x {0}", size), function, size == 4096,
                       size == 256});
}

// The forward pass, the gradients of the weights, and those of the activations (not of the images).
// A step of the optimiser reads and writes each parameter and its state.
Work work_of_training(const Case& c) {
  const std::vector<int> sizes = sizes_of_network(kDigits);
  Work work;
  double parameters = 0;
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    const double weights = 1.0 * sizes[l] * sizes[l + 1];
    work.flops += 2.0 * c.batch * weights * (l == 0 ? 2 : 3);
    parameters += weights + sizes[l + 1];
  }
  work.copied = parameters * sizeof(float) * 2 * (c.what == "sgd" ? 2 : 3);
  work.read = 1.0 * c.batch * sizes[0] * sizeof(float);
  return work;
}

}  // namespace

std::string Case::name() const { return fmt::format("{} {} b{} t{}", table, what, batch, threads); }

std::string Case::prepare() const {
  switch (kind) {
    case Kind::kForward:
      return fmt::format("forward {} {} {}", what, batch, threads);
    case Kind::kNarrow:
      return what == "f32" ? fmt::format("forward {} {} {}", kDigits, batch, threads)
                           : fmt::format("narrow {} {} {} {}", kDigits, what, batch, threads);
    case Kind::kGated:
      return fmt::format("gated {} {} {}", what, batch, threads);
    case Kind::kTraining:
      return fmt::format("train {} {} {} {}", what, batch, threads, kCheckedSteps);
    case Kind::kFunction:
      break;
  }
  return fmt::format("function {0} {1} {1} {2}", what, batch, threads);
}

Work Case::work() const {
  if (kind == Kind::kTraining) return work_of_training(*this);
  Work work;
  if (kind == Kind::kFunction) {
    work.copied = 2.0 * batch * batch * sizeof(float);
    return work;
  }
  const bool narrow = kind == Kind::kNarrow;
  std::vector<int> sizes = sizes_of_network(narrow ? kDigits : what);
  double weights = 0, bytes = sizeof(float);
  if (narrow && what == "bf16") bytes = 2;
  if (narrow && what == "i8") bytes = 1;
  if (kind == Kind::kGated) {
    weights = 3.0 * sizes[0] * sizes[1];
    sizes = {sizes[0], sizes[0]};
  } else {
    for (std::size_t l = 0; l + 1 < sizes.size(); ++l) weights += 1.0 * sizes[l] * sizes[l + 1];
  }
  // One instruction multiplies four i8 in place of one f32; bf16 is widened to f32.
  work.flops = 2 * weights * batch / (bytes == 1 ? 4 : 1);
  work.read = weights * bytes + 1.0 * batch * (sizes.front() + sizes.back()) * sizeof(float);
  return work;
}

std::vector<long double> Case::right_answer() const {
  const auto wide = [](const std::vector<double>& v) {
    return std::vector<long double>(v.begin(), v.end());
  };
  const int rows = std::min(batch, kCheckedRows);
  if (kind == Kind::kFunction) {
    // The whole small matrix is compared: its largest error is in the tables.
    const int checked = batch <= 256 ? batch : rows;
    const std::vector<float> x = function_input(checked, batch);
    return reference_function({what, checked, batch, x});
  }
  if (kind == Kind::kTraining) {
    const std::vector<float> x = rows_of_input(batch * kTrainingBatches, 784);
    const std::vector<std::int32_t> labels = digits_labels(batch * kTrainingBatches);
    return wide(reference_training(network_of(kDigits), {batch, x, labels, what, kRate, kMomentum},
                                   kCheckedSteps));
  }
  if (kind == Kind::kGated) {
    const Gated gated = gated_of(what);
    return wide(reference_gated(gated, rows, rows_of_input(rows, gated.width)));
  }
  const Network network = network_of(kind == Kind::kNarrow ? kDigits : what);
  return wide(reference_logits(network, rows, rows_of_input(rows, network.sizes.front())));
}

// All answers are about 1. They are sums of up to 16,384 products, rounded to 24 bits, so the error
// grows with the square root of their number; a bug causes an error of a thousandth or more. Narrow
// weights are compared with the answer of f32: a library may round weights and inputs to 8 bits, or
// to 127 steps, in each of three layers. The first steps of AdamW have the size of the learning
// rate for any gradient. If the gradient is near zero, rounding decides their direction. So a
// single parameter may differ by the largest possible step in both directions, but the mean
// difference may be at most a ten-thousandth of the mean change: a missing weight decay alone
// causes five times as much.
double Case::error(const std::vector<float>& answer, const std::vector<long double>& right) const {
  if (answer.size() < right.size()) return INFINITY;
  const bool adamw = kind == Kind::kTraining && what == "adamw";
  double allowed = 1e-4;
  if (kind == Kind::kNarrow && what != "f32") allowed = what == "bf16" ? 0.02 : 0.1;
  if (adamw) allowed = 2 * kCheckedSteps * kRate;
  const std::vector<float> before = adamw ? flat(network_of(kDigits)) : std::vector<float>();
  double largest = 0, sum = 0, way = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double e = std::abs(static_cast<double>(answer[i] - right[i]));
    if (std::isnan(e)) return INFINITY;
    largest = std::max(largest, e);
    sum += e;
    if (adamw) way += std::abs(static_cast<double>(before[i] - right[i]));
  }
  return adamw ? std::max(largest / allowed, sum / (1e-4 * way)) : largest / allowed;
}

std::vector<Case> all_cases(const std::vector<int>& numbers_of_threads) {
  std::vector<Case> cases;
  for (const int threads : numbers_of_threads) {
    add_forward_passes(cases, threads);
    add_narrow(cases, threads);
    if (threads == 1) add_products(cases);
    add_training(cases, threads);
    if (threads == 1) add_functions(cases);
  }
  return cases;
}

}  // namespace bench
