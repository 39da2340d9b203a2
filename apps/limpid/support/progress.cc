#include "apps/limpid/support/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/limpid/support/output.h"
#include "apps/limpid/support/scores.h"
#include "apps/limpid/support/terminal.h"
#include "limpid/core/number_text.h"

namespace limpid::tool {
namespace {

constexpr std::int64_t kLines = 50;

// "0:07", "12:34", "3:00:05".
std::string clock(std::chrono::duration<double> time) {
  const std::int64_t seconds = std::chrono::round<std::chrono::seconds>(time).count();
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

// Right-aligns a text under its title.
std::string cell(const std::string& text, const std::string& title) {
  return fmt::format("   {:>{}}", text, std::max<std::size_t>(title.size(), 8));
}

// A bar of `width` characters, filled to step / length.
std::string bar(std::int64_t step, std::int64_t length, std::size_t width) {
  const auto full = width * static_cast<std::size_t>(step) / static_cast<std::size_t>(length);
  std::string text;
  for (std::size_t i = 0; i < width; ++i) text += i < full ? "━" : "╌";
  return text;
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

Progress::Progress(Task task, std::string watched, std::int64_t steps, std::int64_t steps_an_epoch,
                   bool bar)
    : metrics_(shown_metrics(task)),
      watched_(std::move(watched)),
      steps_(steps),
      steps_an_epoch_(steps_an_epoch),
      epochs_((steps + steps_an_epoch - 1) / steps_an_epoch),
      redraws_(bar && can_redraw()) {}

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
  if (!redraws_) return;
  const auto now = std::chrono::steady_clock::now();
  if (first_step_ < 0) {
    first_step_ = e.step;
    start_ = now;
  }
  if (now - last_ < std::chrono::milliseconds(50)) return;
  last_ = now;
  const std::int64_t before = (e.epoch - 1) * steps_an_epoch_;
  const std::int64_t step = e.step - before;
  const std::int64_t length = std::min(steps_an_epoch_, steps_ - before);
  std::string left;
  if (e.step > first_step_)
    left =
        fmt::format("   {} left", clock((now - start_) / static_cast<double>(e.step - first_step_) *
                                        static_cast<double>(steps_ - e.step)));
  // A wrapped line cannot be redrawn: first the bar becomes shorter, then the remaining time is
  // left out, then the end.
  const std::size_t columns = terminal_columns() - 1;
  std::string line = fmt::format("{:>9}   ", fmt::format("{}/{}", e.epoch, epochs_));
  std::string numbers = fmt::format("{:>4}/{}   loss {:.4f}", step, length, unsigned_nan(e.loss));
  if (line.size() + numbers.size() + left.size() <= columns) numbers += left;
  constexpr std::size_t kShortest = 5, kLongest = 30;
  const std::size_t taken = line.size() + 1 + numbers.size();
  if (columns >= taken + kShortest)
    line += bar(step, length, std::min(kLongest, columns - taken)) + " " + numbers;
  else
    line = (line + numbers).substr(0, columns);
  print_control("\r\x1b[K");
  print(line);
  flush();
  drawn_ = true;
}

void Progress::epoch(const train::EpochEvent& e, bool last) {
  if (e.epoch % ((epochs_ + kLines - 1) / kLines) != 0 && !last) {
    if (e.best) best_ = e;
    return;
  }
  clear();
  if (best_ && !e.best) row(*best_);
  best_.reset();
  row(e);
  flush();
}

void Progress::row(const train::EpochEvent& e) const {
  std::string line = fmt::format("{:>9}", fmt::format("{}/{}", e.epoch, epochs_)) +
                     cell(fmt::format("{:.4f}", unsigned_nan(e.train.at("loss"))), "train loss");
  if (!watched_.empty()) {
    line += cell(fmt::format("{:.4f}", unsigned_nan(e.validation.at("loss"))), watched_ + " loss");
    for (const std::string& m : metrics_)
      line += cell(score_text(m, e.validation.at(m)), watched_ + " " + m);
  }
  line += cell(fmt::format("{:.3f}", unsigned_nan(e.gradient_norm)), "") +
          cell(fmt::format("{:.0f}", e.samples_per_second), "samples/s");
  print(line + (e.best ? "  *\n" : "\n"));
}

void Progress::say(const std::string& text) {
  clear();
  print(text);
  flush();
}

void Progress::clear() {
  if (drawn_) print_control("\r\x1b[K");
  drawn_ = false;
}

}  // namespace limpid::tool
