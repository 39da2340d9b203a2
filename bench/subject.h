// What the comparison asks of a library. One source a library implements make_subject(); each is
// linked with subject_main.cc to a program of its own, since their threads and BLAS libraries do
// not share a process well.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bench {

// A multi-layer perceptron with an activation between its layers and none after the last.
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

// A call that times itself, since it is made by another process than this: given milliseconds, the
// answer to "time" of subject_main.cc.
using TimesItself = std::function<std::string(double)>;

// A forward pass that is ready to run.
struct Forward {
  std::function<void()> run;
  // The logits (or results) of the last run, (batch, out), row-major.
  std::function<const float*()> logits;
  TimesItself time = {};  // none where `run` is to be timed
};

// A function of each element or each row of a matrix: "relu", "gelu", "gelu_tanh", "silu",
// "sigmoid", "tanh", "softmax", "layer_norm", "rms_norm"; the norms without parameters, eps 1e-5.
struct FunctionTask {
  std::string name;
  int rows, columns;
  std::span<const float> x;
};

// A training that is ready to run.
struct Training {
  // One step on the next batch; after the last batch comes the first.
  std::function<void()> step;
  // The parameters as they are.
  std::function<Network()> network;
  TimesItself time = {};  // none where `step` is to be timed
};

struct TrainingTask {
  int batch;
  std::span<const float> images;         // whole batches of rows
  std::span<const std::int32_t> labels;  // one a row
  // On the mean softmax cross-entropy: "sgd", v = momentum v + g, p -= rate v; or "adamw" with
  // betas of 0.9 and 0.999, eps 1e-8 and weight decay 0.01.
  std::string optimizer;
  float rate;
  float momentum;
};

// Everything that can be done ahead (packing, planning, allocation) belongs into forward() and
// training(), which are not timed. `threads` is 1 or 2, the calling thread among them; it runs on
// the first CPU that the process may use, the other thread on the second. Spans live as long as
// what is made of them.
class Subject {
 public:
  virtual ~Subject() = default;
  // Versions and settings, one line.
  virtual std::string describe() = 0;
  // No functions where the library has no such activation.
  virtual Forward forward(const Network& network, int batch, int threads,
                          std::span<const float> x) = 0;
  // The network with weights of "bf16" or "i8". No functions where the library does not have it.
  virtual Forward narrow(const Network&, const std::string& /*dtype*/, int /*batch*/,
                         int /*threads*/, std::span<const float> /*x*/) {
    return {};
  }
  // No functions where the library does not have it.
  virtual Forward gated(const Gated&, int /*rows*/, int /*threads*/, std::span<const float> /*x*/) {
    return {};
  }
  // No functions where the library does not have it.
  virtual Forward function(const FunctionTask&, int /*threads*/) { return {}; }
  // No functions where the library does not train.
  virtual Training training(const Network&, int /*threads*/, const TrainingTask&) { return {}; }
};

// `variant` is the program's argument, or "".
std::unique_ptr<Subject> make_subject(const std::string& variant);

}  // namespace bench
