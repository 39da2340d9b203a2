// The doctor's rules on attention and on the residual stream.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/train/diagnostics/detail/rules.h"

namespace limpid::train::detail {
namespace {

// The size of the residual stream after a layer's last sum; nothing if the layer has none.
std::optional<double> stream_behind(const LayerStatistics& layer) {
  const auto& all = layer.activations;
  const auto last = std::find_if(all.rbegin(), all.rend(),
                                 [](const ActivationStatistics& a) { return a.op == "residual"; });
  return last == all.rend() ? std::nullopt : std::optional(std::hypot(last->mean, last->std));
}

std::optional<Finding> attention_collapse(const RunLog& log, const Thresholds& t) {
  if (log.probes.empty()) return {};
  const ProbeEvent& last = log.probes.back();
  const LayerStatistics* worst = nullptr;
  for (const LayerStatistics& layer : last.layers)
    for (const AttentionStatistics& a : layer.attention)
      if (a.entropy < t["attention_entropy"] &&
          (!worst || a.entropy < worst->attention.front().entropy))
        worst = &layer;
  if (!worst) return {};
  return finding(Severity::kWarning, worst->name,
                 fmt::format("at step {} its attention entropy is {:.2g} of the maximum: nearly "
                             "every query attends to a single key",
                             last.step, worst->attention.front().entropy),
                 "queries and keys have grown until the softmax is saturated, and hardly any "
                 "gradient passes through it",
                 {rate_times(log, 0.3), words("a longer --warmup"), words("more --weight-decay")});
}

std::optional<Finding> residual_growth(const RunLog& log, const Thresholds& t) {
  if (log.probes.empty()) return {};
  const ProbeEvent& last = log.probes.back();
  const LayerStatistics* worst = nullptr;
  double largest = t["residual_growth"], before = 0;
  // The first block follows an embedding, which may be small.
  for (const LayerStatistics& layer : last.layers) {
    const std::optional<double> behind = stream_behind(layer);
    if (!behind) continue;
    if (before > 0 && *behind / before > largest) {
      largest = *behind / before;
      worst = &layer;
    }
    before = *behind;
  }
  if (!worst) return {};
  return finding(Severity::kWarning, worst->name,
                 fmt::format("at step {} the residual stream is {:.3g} times as large after it as "
                             "before it",
                             last.step, largest),
                 "the output of this layer hides those of the layers before it",
                 {rate_times(log, 0.3), words("more --weight-decay"), words("fewer --layers")});
}

constexpr Threshold kCollapse[] = {
    {"attention_entropy", 0.02, "attention entropy of a layer, as a share of the maximum"}};
constexpr Threshold kGrowth[] = {
    {"residual_growth", 10, "root mean square after a block divided by that before it"}};

constexpr Rule kTransformersRules[] = {
    {"attention_collapse", Cause::kRate, "an attention layer whose queries attend to a single key",
     "--warmup, a smaller --lr, more --weight-decay", kCollapse, attention_collapse},
    {"residual_growth", Cause::kArchitecture,
     "a block that adds far more to the residual stream than it held",
     "a smaller --lr, more --weight-decay, fewer --layers", kGrowth, residual_growth},
};

}  // namespace

constexpr std::span<const Rule> rules_of_transformers = kTransformersRules;

}  // namespace limpid::train::detail
