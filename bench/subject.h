// The interface between the comparison and a library. One source file per library implements
// make_subject(). Each is linked with subject_main.cc into its own program, since the libraries'
// threads and BLAS libraries disturb each other in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bench {

// A multilayer perceptron with an activation between the layers and none after the last.
struct Network {
  std::string activation;  // "relu", "tanh" or "gelu" (the exact one)
  std::vector<int> sizes;
  std::vector<std::vector<float>> weights;  // [layer]: (out, in), row-major
  std::vector<std::vector<float>> biases;   // [layer]: (out)
};

// A gated feed-forward block without biases: down (silu(gate x) * (up x)).
struct Gated {
  int width, hidden;
  std::vector<float> gate, up;  // (hidden, width), row-major
  std::vector<float> down;      // (width, hidden), row-major
};

// A call that runs in another process, and so measures its own time. Takes milliseconds, returns
// the answer to "time" of subject_main.cc.
using TimesItself = std::function<std::string(double)>;

// A forward pass that is ready to run.
struct Forward {
  std::function<void()> run;
  // The logits (or results) of the last run, (batch, out), row-major.
  std::function<const float*()> logits;
  TimesItself time = {};  // empty: `run` is timed
};

// A function of each element or each row of a matrix: "relu", "gelu", "gelu_tanh", "silu",
// "sigmoid", "tanh", "softmax", "layer_norm", "rms_norm"; the norms without parameters, eps 1e-5.
struct FunctionTask {
  std::string name;
  int rows, columns;
  std::span<const float> x;
};

// Training that is ready to run.
struct Training {
  // One step on the next batch; the first batch follows the last.
  std::function<void()> step;
  // The current parameters.
  std::function<Network()> network;
  TimesItself time = {};  // empty: `step` is timed
};

struct TrainingTask {
  int batch;
  std::span<const float> images;         // rows of whole batches
  std::span<const std::int32_t> labels;  // one per row
  // Minimises the mean softmax cross-entropy, by "sgd": v = momentum v + g, p -= rate v; or by
  // "adamw": betas 0.9 and 0.999, eps 1e-8, weight decay 0.01.
  std::string optimizer;
  float rate;
  float momentum;
};

// Everything that can be done ahead (packing, planning, allocation) belongs into forward() and
// training(), which are not timed. `threads` includes the calling thread. Every thread has a CPU:
// the calling thread has the first that the process may use, the others have the next. Spans stay
// valid as long as the results live.
class Subject {
 public:
  virtual ~Subject() = default;
  // Versions and settings, one line.
  virtual std::string describe() = 0;
  // Empty functions if the library lacks the activation.
  virtual Forward forward(const Network& network, int batch, int threads,
                          std::span<const float> x) = 0;
  // The network with weights of "bf16" or "i8". Empty functions if the library lacks them.
  virtual Forward narrow(const Network&, const std::string& /*dtype*/, int /*batch*/,
                         int /*threads*/, std::span<const float> /*x*/) {
    return {};
  }
  // Empty functions if the library lacks it.
  virtual Forward gated(const Gated&, int /*rows*/, int /*threads*/, std::span<const float> /*x*/) {
    return {};
  }
  // Empty functions if the library lacks it.
  virtual Forward function(const FunctionTask&, int /*threads*/) { return {}; }
  // Empty functions if the library cannot train.
  virtual Training training(const Network&, int /*threads*/, const TrainingTask&) { return {}; }
};

// `variant` is the program's argument, or "".
std::unique_ptr<Subject> make_subject(const std::string& variant);

}  // namespace bench
