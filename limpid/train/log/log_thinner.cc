#include "limpid/train/log/log_thinner.h"

#include <algorithm>
#include <utility>

namespace limpid::train {
namespace {

std::int64_t best_of(const std::vector<EpochEvent>& epochs) {
  for (auto e = epochs.rbegin(); e != epochs.rend(); ++e)
    if (e->best) return e->epoch;
  return 0;
}

}  // namespace

bool LogThinner::Kind::grow(std::int64_t number) {
  bool grown = false;
  while (distance > 0 && number / distance > most) {
    distance *= 2;
    grown = true;
  }
  return grown;
}

LogThinner::LogThinner(const Distances& distances)
    : steps_{distances.step, distances.hashes == 0 ? kMostSteps
                                                   : std::clamp(kMostHashes / distances.hashes,
                                                                std::int64_t{1}, kMostSteps)},
      epochs_{1, kMostEpochs},
      probes_{distances.probe, kMostProbes},
      samples_{distances.sample, kMostSamples} {}

// The spacing of events of a kind follows from the steps (or epochs) at which they happen alone.
void LogThinner::follow(const Event& event) {
  if (const auto* step = std::get_if<StepEvent>(&event))
    grown_ = steps_.grow(step->step) || grown_;
  else if (const auto* epoch = std::get_if<EpochEvent>(&event))
    grown_ = epochs_.grow(epoch->epoch) || grown_;
  else if (const auto* probe = std::get_if<ProbeEvent>(&event))
    grown_ = probes_.grow(probe->step) || grown_;
  else if (const auto* sample = std::get_if<SampleEvent>(&event))
    grown_ = samples_.grow(sample->step) || grown_;
}

bool LogThinner::keeps(const Event& event, std::int64_t best_epoch) const {
  if (const auto* step = std::get_if<StepEvent>(&event))
    return step->step == 1 || steps_.admits(step->step);
  if (const auto* epoch = std::get_if<EpochEvent>(&event))
    return epochs_.admits(epoch->epoch) || epoch->epoch == best_epoch || epoch->epoch == final_;
  if (const auto* probe = std::get_if<ProbeEvent>(&event)) return probes_.admits(probe->step);
  if (const auto* sample = std::get_if<SampleEvent>(&event)) return samples_.admits(sample->step);
  return true;
}

std::vector<Event> LogThinner::admit(const Event& event) {
  follow(event);
  const auto* epoch = std::get_if<EpochEvent>(&event);
  if (!keeps(event, 0)) {
    if (epoch) last_ = *epoch;
    if (epoch && epoch->best) best_ = *epoch;
    return {};
  }
  std::vector<Event> taken;
  const bool ends = std::holds_alternative<EndEvent>(event);
  if (best_ && (ends || (epoch && !epoch->best))) taken.emplace_back(*best_);
  if (ends && last_ && !(best_ && best_->epoch == last_->epoch)) taken.emplace_back(*last_);
  if (epoch || ends) {
    best_.reset();
    last_.reset();
  }
  taken.push_back(event);
  return taken;
}

std::optional<EpochEvent> LogThinner::take_best() {
  if (!best_) return {};
  if (last_ && last_->epoch == best_->epoch) last_.reset();
  if (++taken_ > kMostEpochs) grown_ = true;
  return std::exchange(best_, std::nullopt);
}

std::optional<EpochEvent> LogThinner::take_last() {
  if (last_) final_ = last_->epoch;
  return std::exchange(last_, std::nullopt);
}

bool LogThinner::has_grown() { return std::exchange(grown_, false); }

void LogThinner::thin(RunLog& log) {
  const std::int64_t best = best_of(log.epochs);
  const auto each = [&](auto& events) {
    for (const auto& event : events) follow(event);
    std::erase_if(events, [&](const auto& event) { return !keeps(event, best); });
  };
  each(log.steps);
  each(log.epochs);
  each(log.probes);
  each(log.samples);
  grown_ = false;
  taken_ = 0;
}

std::string LogThinner::thin(std::string_view text, const std::string& source) {
  const RunLog log = parse_run_log(text, source);
  RunLog kept = log;
  thin(kept);
  const std::int64_t best = best_of(log.epochs);
  // The log of a run that ended has its last epoch, whatever the number.
  if (!last_ && !log.epochs.empty() && !keeps(log.epochs.back(), best)) last_ = log.epochs.back();
  return lines_where(text, source, [&](const Event& event) { return keeps(event, best); });
}

}  // namespace limpid::train
