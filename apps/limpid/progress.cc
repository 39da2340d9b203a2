#include "apps/limpid/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/limpid/output.h"
#include "apps/limpid/scores.h"

namespace limpid::tool {
namespace {

constexpr std::int64_t kLines = 50;

// "0:07", "12:34", "3:00:05".
std::string clock(std::chrono::duration<double> time) {
  const auto seconds = static_cast<std::int64_t>(time.count() + 0.5);
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

// Numbers right-aligned under their titles.
std::string cell(const std::string& text, const std::string& title) {
  return fmt::format("   {:>{}}", text, std::max<std::size_t>(title.size(), 8));
}

}  // namespace

std::vector<std::string> shown_metrics(Task task) {
  switch (task) {
    case Task::kClassification:
      return {"accuracy"};
    case Task::kMultiLabel:
      return {"accuracy", "macro_f1"};
    case Task::kRegression:
      return {"rmse", "r2"};
    case Task::kNextToken:
      return {"perplexity", "bits_per_token"};
  }
  return {};
}

Progress::Progress(Task task, std::string watched, std::int64_t steps, std::int64_t steps_an_epoch)
    : metrics_(shown_metrics(task)),
      watched_(std::move(watched)),
      steps_(steps),
      steps_an_epoch_(steps_an_epoch),
      epochs_((steps + steps_an_epoch - 1) / steps_an_epoch),
      terminal_(is_terminal()) {}

void Progress::begin() {
  std::string line = "    epoch" + cell("train loss", "train loss");
  if (!watched_.empty()) {
    line += cell(watched_ + " loss", watched_ + " loss");
    for (const std::string& m : metrics_) line += cell(watched_ + " " + m, watched_ + " " + m);
  }
  print(line + cell("|grad|", "") + cell("samples/s", "samples/s") + "\n");
  flush();
}

void Progress::step(const train::StepEvent& e) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (first_step_ < 0) {
    first_step_ = e.step;
    start_ = now;
  }
  if (now - last_ < std::chrono::milliseconds(50)) return;
  last_ = now;
  constexpr std::int64_t kWidth = 30;
  const std::int64_t before = (e.epoch - 1) * steps_an_epoch_;
  const std::int64_t step = e.step - before;
  const std::int64_t length = std::min(steps_an_epoch_, steps_ - before);
  std::string bar;
  for (std::int64_t i = 0; i < kWidth; ++i) bar += i < kWidth * step / length ? "━" : "╌";
  std::string left;
  if (e.step > first_step_)
    left =
        fmt::format("   {} left", clock((now - start_) / static_cast<double>(e.step - first_step_) *
                                        static_cast<double>(steps_ - e.step)));
  print(fmt::format("\r\x1b[K{:>9}   {} {:>4}/{}   loss {:.4f}{}",
                    fmt::format("{}/{}", e.epoch, epochs_), bar, step, length, e.loss, left));
  flush();
  drawn_ = true;
}

void Progress::epoch(const train::EpochEvent& e, bool last) {
  if (e.epoch % ((epochs_ + kLines - 1) / kLines) != 0 && !last) return;
  clear();
  std::string line = fmt::format("{:>9}", fmt::format("{}/{}", e.epoch, epochs_)) +
                     cell(fmt::format("{:.4f}", e.train.at("loss")), "train loss");
  if (!watched_.empty()) {
    line += cell(fmt::format("{:.4f}", e.validation.at("loss")), watched_ + " loss");
    for (const std::string& m : metrics_)
      line += cell(score_text(m, e.validation.at(m)), watched_ + " " + m);
  }
  line += cell(fmt::format("{:.3f}", e.gradient_norm), "") +
          cell(fmt::format("{:.0f}", e.samples_per_second), "samples/s");
  print(line + (e.best ? "  *\n" : "\n"));
  flush();
}

void Progress::say(const std::string& text) {
  clear();
  print(text);
  flush();
}

void Progress::clear() {
  if (drawn_) print("\r\x1b[K");
  drawn_ = false;
}

}  // namespace limpid::tool
