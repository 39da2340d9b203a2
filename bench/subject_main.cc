// The program around one library. It obeys lines on the standard input, until its end:
//   describe                 answers one line
//   forward NETWORK BATCH THREADS
//                            prepares and runs once; answers "floats N" and the logits
//   gated SIZES ROWS THREADS the same for a gated block
//   function NAME ROWS COLUMNS THREADS
//                            prepares and runs once; answers "floats N" and the results
//   train OPTIMIZER BATCH THREADS N
//                            prepares and makes N steps; answers "floats N" and the parameters
//   time MILLISECONDS        repeats what was prepared; answers "time NANOSECONDS CALLS SWITCHES":
//                            the median call, and how often the system took the CPU away
// "none" answers what the library does not do, "error ..." what failed.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/subject.h"
#include "bench/task.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds(Clock::duration d) {
  return std::chrono::duration<double, std::nano>(d).count();
}

long involuntary_switches() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

void answer(std::span<const float> values) {
  std::printf("floats %zu\n", values.size());
  std::fwrite(values.data(), sizeof(float), values.size(), stdout);
}

// The median of samples, each the mean of as many calls as take 100 microseconds.
void time_calls(const std::function<void()>& call, double milliseconds) {
  const double budget = milliseconds * 1e6;
  const long switches = involuntary_switches();
  const auto start = Clock::now();
  int warm = 0;
  do {
    call();
    ++warm;
  } while (nanoseconds(Clock::now() - start) < 0.15 * budget || warm < 2);
  const double one = nanoseconds(Clock::now() - start) / warm;
  const int inner = std::max(1, static_cast<int>(1e5 / one));
  std::vector<double> samples;
  while (samples.size() < 5 || nanoseconds(Clock::now() - start) < budget) {
    const auto begin = Clock::now();
    for (int i = 0; i < inner; ++i) call();
    samples.push_back(nanoseconds(Clock::now() - begin) / inner);
  }
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  std::printf("time %.3f %zu %ld\n", *middle, samples.size() * static_cast<std::size_t>(inner),
              involuntary_switches() - switches);
}

class Session {
 public:
  explicit Session(const std::string& variant) : subject_(make_subject(variant)) {}

  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "describe") {
      std::printf("%s\n", subject_->describe().c_str());
    } else if (verb == "forward") {
      std::string network;
      int batch = 0, threads = 0;
      words >> network >> batch >> threads;
      network_ = network_of(network);
      x_ = rows_of_input(batch, network_.sizes.front());
      prepared(subject_->forward(network_, batch, threads, x_), batch * network_.sizes.back());
    } else if (verb == "gated") {
      std::string sizes;
      int rows = 0, threads = 0;
      words >> sizes >> rows >> threads;
      const Gated gated = gated_of(sizes);
      x_ = rows_of_input(rows, gated.width);
      prepared(subject_->gated(gated, rows, threads, x_), rows * gated.width);
    } else if (verb == "function") {
      FunctionTask task{"", 0, 0, {}};
      int threads = 0;
      words >> task.name >> task.rows >> task.columns >> threads;
      x_ = function_input(task.rows, task.columns);
      task.x = x_;
      prepared(subject_->function(task, threads), task.rows * task.columns);
    } else if (verb == "train") {
      TrainingTask task{0, {}, {}, "", kRate, kMomentum};
      int threads = 0, steps = 0;
      words >> task.optimizer >> task.batch >> threads >> steps;
      network_ = network_of(kDigits);
      x_ = rows_of_input(task.batch * kTrainingBatches, network_.sizes.front());
      labels_ = digits_labels(task.batch * kTrainingBatches);
      task.images = x_;
      task.labels = labels_;
      const Training training = subject_->training(network_, threads, task);
      if (!training.step) {
        std::printf("none\n");
        return;
      }
      for (int i = 0; i < steps; ++i) training.step();
      answer(flat(training.network()));
      call_ = training.step;
    } else if (verb == "time") {
      double milliseconds = 0;
      words >> milliseconds;
      time_calls(call_, milliseconds);
    } else {
      std::printf("error unknown command: %s\n", line.c_str());
    }
  }

 private:
  // Runs once and answers with the results.
  void prepared(const Forward& forward, int results) {
    if (!forward.run) {
      std::printf("none\n");
      return;
    }
    forward.run();
    answer({forward.logits(), static_cast<std::size_t>(results)});
    call_ = forward.run;
  }

  Network network_;
  std::vector<float> x_;
  std::vector<std::int32_t> labels_;
  std::unique_ptr<Subject> subject_;
  std::function<void()> call_;
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  try {
    bench::Session session(argc > 1 ? argv[1] : "");
    for (std::string line; std::getline(std::cin, line);) {
      session.obey(line);
      std::fflush(stdout);
    }
  } catch (const std::exception& e) {
    std::printf("error %s\n", e.what());
    return 1;
  }
}
