// The program around one library. It executes commands, one per line, from standard input:
//   describe                 answers with one line
//   forward NETWORK BATCH THREADS
//                            prepares and runs once; answers "floats N" and the first logits
//   narrow NETWORK DTYPE BATCH THREADS
//                            the same, with weights of this dtype
//   gated SIZES ROWS THREADS the same for a gated block
//   function NAME ROWS COLUMNS THREADS
//                            prepares and runs once; answers "floats N" and the first results
//   train OPTIMIZER BATCH THREADS N
//                            prepares and makes N steps; answers "floats N" and the parameters
//   forget                   frees what was prepared; answers "forgotten"
//   time MILLISECONDS        repeats what was prepared; answers "time NANOSECONDS CALLS SWITCHES":
//                            the median call (0: too short to measure), and how often the system
//                            took the CPU away
// The answer is "none" if the library cannot do it, "error ..." if it failed.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/subject.h"
#include "bench/task.h"
#include "bench/timing.h"

namespace bench {
namespace {

long involuntary_switches() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// At most this many numbers of an answer are compared.
constexpr std::size_t kMostAnswered = 1 << 18;

void answer(std::span<const float> values) {
  values = values.first(std::min(values.size(), kMostAnswered));
  std::printf("floats %zu\n", values.size());
  std::fwrite(values.data(), sizeof(float), values.size(), stdout);
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
      forget();
      const Network made = network_of(network);
      x_ = rows_of_input(batch, made.sizes.front());
      prepared(subject_->forward(made, batch, threads, x_), batch, made.sizes.back());
    } else if (verb == "narrow") {
      std::string network, dtype;
      int batch = 0, threads = 0;
      words >> network >> dtype >> batch >> threads;
      forget();
      const Network made = network_of(network);
      x_ = rows_of_input(batch, made.sizes.front());
      prepared(subject_->narrow(made, dtype, batch, threads, x_), batch, made.sizes.back());
    } else if (verb == "gated") {
      std::string sizes;
      int rows = 0, threads = 0;
      words >> sizes >> rows >> threads;
      forget();
      const Gated gated = gated_of(sizes);
      x_ = rows_of_input(rows, gated.width);
      prepared(subject_->gated(gated, rows, threads, x_), rows, gated.width);
    } else if (verb == "function") {
      FunctionTask task{"", 0, 0, {}};
      int threads = 0;
      words >> task.name >> task.rows >> task.columns >> threads;
      forget();
      x_ = function_input(task.rows, task.columns);
      task.x = x_;
      prepared(subject_->function(task, threads), task.rows, task.columns);
    } else if (verb == "train") {
      TrainingTask task{0, {}, {}, "", kRate, kMomentum};
      int threads = 0, steps = 0;
      words >> task.optimizer >> task.batch >> threads >> steps;
      forget();
      const Network network = network_of(kDigits);
      x_ = rows_of_input(task.batch * kTrainingBatches, network.sizes.front());
      labels_ = digits_labels(task.batch * kTrainingBatches);
      task.images = x_;
      task.labels = labels_;
      const Training training = subject_->training(network, threads, task);
      if (!training.step) {
        std::printf("none\n");
        return;
      }
      for (int i = 0; i < steps; ++i) training.step();
      answer(flat(training.network()));
      call_ = training.step;
      time_ = training.time;
    } else if (verb == "time") {
      double milliseconds = 0;
      words >> milliseconds;
      if (time_)
        std::printf("%s\n", time_(milliseconds).c_str());
      else
        answer_time(milliseconds);
    } else if (verb == "forget") {
      forget();
      std::printf("forgotten\n");
    } else {
      std::printf("error unknown command: %s\n", line.c_str());
    }
  }

 private:
  // Memory may have room for only one prepared task.
  void forget() {
    call_ = nullptr;
    time_ = nullptr;
  }

  void answer_time(double milliseconds) {
    const long switches = involuntary_switches();
    const Timing timing = time_calls(call_, milliseconds);
    std::printf("time %.3f %zu %ld\n", timing.nanoseconds, timing.calls,
                involuntary_switches() - switches);
  }

  // Runs once and prints the results.
  void prepared(const Forward& forward, int rows, int columns) {
    if (!forward.run) {
      std::printf("none\n");
      return;
    }
    forward.run();
    answer({forward.logits(), static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)});
    call_ = forward.run;
    time_ = forward.time;
  }

  std::vector<float> x_;
  std::vector<std::int32_t> labels_;
  std::unique_ptr<Subject> subject_;
  std::function<void()> call_;
  TimesItself time_;
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
