// The doctor's rules on underfitting and overfitting.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/train/diagnostics/detail/rules.h"

namespace limpid::train::detail {
namespace {

// Early stopping keeps the weights from before the rise.
bool stops_early(const RunLog& log) { return number_at(log, "early_stopping.patience", 0) > 0; }

std::optional<Finding> overfitting(const RunLog& log, const Thresholds& t) {
  if (log.epochs.empty() || stops_early(log)) return {};
  std::size_t best = 0;
  for (std::size_t e = 0; e < log.epochs.size(); ++e)
    if (loss_of(log.epochs[e].validation) < loss_of(log.epochs[best].validation)) best = e;
  const EpochEvent& at_best = log.epochs[best];
  const EpochEvent& last = log.epochs.back();
  const double low = loss_of(at_best.validation);
  const double initial = initial_loss(log);
  if (log.epochs.size() - 1 - best < 2) return {};
  // A single epoch may be chance.
  const double lately =
      std::fmin(loss_of(last.validation), loss_of(log.epochs[log.epochs.size() - 2].validation));
  const double rise = lately - low;
  if (!(rise > t["overfit_rise"] * low) || !(rise > t["overfit_of_start"] * initial) ||
      !(loss_of(last.train) < (1 - t["overfit_rise"]) * loss_of(at_best.train)))
    return {};
  std::vector<Remedy> remedies;
  // Early stopping needs a validation set.
  if (log.run.data.validation > 0) remedies = {set("early_stopping.patience", 3)};
  if (number_at(log, "epochs", 0) > 0) remedies.push_back(set("epochs", at_best.epoch));
  for (const Remedy& remedy :
       {set("model.dropout", 0.5), set("optimizer.weight_decay", 0.001), words("more data")})
    remedies.push_back(remedy);
  return finding(Severity::kWarning, "",
                 fmt::format("since epoch {} the {} loss rose from {:.4g} to {:.4g} while the "
                             "training loss fell from {:.4g} to {:.4g}",
                             at_best.epoch, log.watched_part(), low, loss_of(last.validation),
                             loss_of(at_best.train), loss_of(last.train)),
                 fmt::format("the network memorises its {} examples", log.run.data.train),
                 std::move(remedies));
}

// Whether the training loss is still above a fraction of its first value, or of the loss of a
// constant prediction.
bool learnt_little(const RunLog& log) {
  constexpr std::size_t kFewestEpochs = 3;
  constexpr double kLittle = 0.5;
  if (!ended(log) && whole_epochs(log) < kFewestEpochs) return false;
  return last_training_loss(log) > kLittle * std::fmin(initial_loss(log), loss_of_constant(log));
}

std::optional<Finding> too_much_dropout(const RunLog& log, const Thresholds& t) {
  const double dropout = number_at(log, "model.dropout", 0);
  if (dropout < t["dropout_high"] || !learnt_little(log)) return {};
  return finding(
      Severity::kError, "",
      fmt::format("dropout sets {:.3g} of the activations to 0, and the training loss "
                  "is {:.4g}",
                  dropout, last_training_loss(log)),
      fmt::format(
          "too little passes through a layer to learn from; the rest is multiplied by {:.3g}",
          1 / (1 - dropout)),
      {set("model.dropout", 0.2), set("model.dropout", 0.0)});
}

std::optional<Finding> too_much_decay(const RunLog& log, const Thresholds& t) {
  const double decay = number_at(log, "optimizer.weight_decay", 0);
  if (!(decay > 0) || log.probes.size() < 2 || !learnt_little(log)) return {};
  const auto norm = [](const ProbeEvent& probe) {
    double squares = 0;
    for (const LayerStatistics& layer : probe.layers)
      squares += weight_norm(layer) * weight_norm(layer);
    return std::sqrt(squares);
  };
  const double shrunk = norm(log.probes.back()) / norm(log.probes.front());
  if (!(shrunk < t["decay_shrunk"])) return {};
  const double usual = text_at(log, "optimizer.name") == "adamw" ? 0.01 : 0.0001;
  return finding(
      Severity::kError, "",
      fmt::format("the weights shrank to {:.2g} of their size, and the training loss is "
                  "{:.4g}",
                  shrunk, last_training_loss(log)),
      fmt::format("a weight decay of {:.3g} takes away more than the gradient adds", decay),
      {set("optimizer.weight_decay", std::min(usual, decay / 100)),
       set("optimizer.weight_decay", 0.0)});
}

constexpr Threshold kOverfitting[] = {
    {"overfit_rise", 0.1,
     "rise of the validation loss above its lowest, and fall of the training loss, as shares"},
    {"overfit_of_start", 0.05,
     "rise of the validation loss above its lowest, as a share of the initial loss"}};
constexpr Threshold kDropout[] = {
    {"dropout_high", 0.7, "dropout rate above which it may be too high"}};
constexpr Threshold kDecay[] = {
    {"decay_shrunk", 0.1, "norm of all parameters in the last probe divided by that in the first"}};

constexpr Rule kRegularisationRules[] = {
    {"too_much_dropout", Cause::kRegularisation,
     "a high dropout rate, and a training loss that stays high", "--dropout 0.2", kDropout,
     too_much_dropout, Cause::kInitialisation},
    {"too_much_decay", Cause::kRegularisation,
     "weights that decay to a fraction of their size, and a training loss that stays high",
     "a usual --weight-decay", kDecay, too_much_decay, Cause::kRate},
    {"overfitting", Cause::kRegularisation,
     "the training loss falls while the validation loss rises",
     "--patience, fewer --epochs, --dropout, --weight-decay, more data", kOverfitting, overfitting},
};

}  // namespace

constexpr std::span<const Rule> rules_of_regularisation = kRegularisationRules;

}  // namespace limpid::train::detail
