// Limpid as a user would call it: for inference with bound parameters; for training, the step of
// `limpid train`, with the gradient norm. Neither allocates memory.
#include <cstring>
#include <utility>

#include "bench/subject.h"
#include "limpid/limpid.h"

namespace bench {
namespace {

namespace lp = limpid;

lp::nn::Mlp mlp_of(const Network& network) {
  return lp::nn::mlp({network.sizes.begin(), network.sizes.end()},
                     network.activation == "tanh"   ? lp::tanh
                     : network.activation == "gelu" ? lp::gelu
                                                    : lp::relu);
}

lp::Params params_of(const Network& network) {
  lp::Params params;
  for (std::size_t l = 0; l < network.weights.size(); ++l) {
    const std::string name = "layers." + std::to_string(l);
    const std::int64_t in = network.sizes[l], out = network.sizes[l + 1];
    params.set(name + ".weight", lp::Tensor::from({out, in}, network.weights[l]));
    params.set(name + ".bias", lp::Tensor::from({out}, network.biases[l]));
  }
  return params;
}

std::unique_ptr<lp::ThreadPool> pool_of(int threads) {
  return std::make_unique<lp::ThreadPool>(
      lp::ThreadPool::Options{.threads = threads, .pin_caller = true});
}

// A function of one matrix, ready to run.
struct FunctionState {
  FunctionState(const lp::Function& f, int threads, std::span<const float> input)
      : pool(pool_of(threads)), x(input.begin(), input.end()) {
    const lp::Executable executable = lp::compile(f);
    y.resize(static_cast<std::size_t>(executable.output_types()[0].shape.elements()));
    workspace = std::make_unique<lp::Workspace>(executable, pool.get());
    inputs = {x.data()};
    outputs = {y.data()};
  }

  std::unique_ptr<lp::ThreadPool> pool;
  std::unique_ptr<lp::Workspace> workspace;
  std::vector<float> x, y;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

Forward forward_of(const lp::Function& f, int threads, std::span<const float> x) {
  auto s = std::make_shared<FunctionState>(f, threads, x);
  return {[s] { s->workspace->run(s->inputs, s->outputs); }, [s] { return s->y.data(); }};
}

lp::Function gated_function(const Gated& gated, int rows) {
  const std::int64_t width = gated.width, hidden = gated.hidden;
  return lp::trace("gated", {{"x", {lp::Dtype::kF32, {rows, width}}}},
                   [&](std::span<const lp::Value> in) {
                     const auto weight = [&](std::int64_t out, std::int64_t from,
                                             const std::vector<float>& values) {
                       return lp::constant(in[0].builder(), lp::Tensor::from({out, from}, values));
                     };
                     const lp::Value gate = lp::linear(in[0], weight(hidden, width, gated.gate));
                     const lp::Value up = lp::linear(in[0], weight(hidden, width, gated.up));
                     return std::vector<lp::Value>{
                         lp::linear(lp::swiglu(gate, up), weight(width, hidden, gated.down))};
                   });
}

lp::Value value_of(const std::string& name, const lp::Value& x) {
  if (name == "relu") return lp::relu(x);
  if (name == "gelu") return lp::gelu(x);
  if (name == "gelu_tanh") return lp::gelu_tanh(x);
  if (name == "silu") return lp::silu(x);
  if (name == "sigmoid") return lp::sigmoid(x);
  if (name == "tanh") return lp::tanh(x);
  if (name == "softmax") return lp::softmax(x);
  return name == "layer_norm" ? lp::layer_norm(x) : lp::rms_norm(x);
}

lp::Function function_of(const FunctionTask& task) {
  return lp::trace(task.name, {{"x", {lp::Dtype::kF32, {task.rows, task.columns}}}},
                   [&](std::span<const lp::Value> in) {
                     return std::vector<lp::Value>{value_of(task.name, in[0])};
                   });
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

struct TrainingState {
  TrainingState(const Network& network, int threads, const TrainingTask& wanted)
      : pool(pool_of(threads)),
        task(wanted),
        rate(wanted.rate),
        row(static_cast<std::size_t>(network.sizes[0])) {
    lp::optim::Optimizer optimizer = lp::optim::AdamW{};
    if (task.optimizer == "sgd")
      optimizer = lp::optim::Sgd{.momentum = static_cast<double>(task.momentum)};
    const lp::Function step =
        lp::train::step_function(lp::train::mlp_problem(mlp_of(network)), {optimizer}, task.batch);
    workspace = std::make_unique<lp::Workspace>(lp::compile(lp::simplify(step)), pool.get());
    lp::Params start = params_of(network);
    parameters = start.size();
    start.merge("", lp::optim::init(optimizer, start));
    for (const auto& [name, value] : start) {
      now.emplace_back(value.bytes().begin(), value.bytes().end());
      next.emplace_back(value.bytes().size());
    }
  }

  void step() {
    const auto rows = static_cast<std::size_t>(task.batch);
    inputs.clear();
    outputs.clear();
    for (const auto& v : now) inputs.push_back(v.data());
    for (auto& v : next) outputs.push_back(v.data());
    inputs.push_back(&task.images[first * row]);
    inputs.push_back(&task.labels[first]);
    inputs.push_back(&key);
    inputs.push_back(&rate);
    outputs.push_back(&loss);
    outputs.push_back(&gradient_norm);
    workspace->run(inputs, outputs);
    std::swap(now, next);
    first = (first + rows) % task.labels.size();
  }

  std::unique_ptr<lp::ThreadPool> pool;
  std::unique_ptr<lp::Workspace> workspace;
  TrainingTask task;
  float rate;
  float loss = 0, gradient_norm = 0;
  std::int64_t key = 0;  // for dropout, which is off
  std::size_t row;
  std::size_t first = 0;
  std::size_t parameters = 0;
  std::vector<std::vector<std::byte>> now, next;  // parameters, then momenta
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

class Limpid : public Subject {
 public:
  std::string describe() override {
    return "limpid " LIMPID_VERSION ", " +
           std::string(lp::kernels::name(lp::kernels::default_isa()));
  }

  Forward forward(const Network& network, int batch, int threads,
                  std::span<const float> x) override {
    const lp::Function model = lp::bind(mlp_of(network).function(), params_of(network));
    return forward_of(lp::vmap(model, {0}, batch), threads, x);
  }

  Forward narrow(const Network& network, const std::string& dtype, int batch, int threads,
                 std::span<const float> x) override {
    const lp::Quantized small =
        lp::quantize(mlp_of(network).function(), params_of(network),
                     {.to = dtype == "bf16" ? lp::Dtype::kBf16 : lp::Dtype::kI8});
    return forward_of(lp::vmap(lp::bind(small.function, small.params), {0}, batch), threads, x);
  }

  Forward gated(const Gated& gated, int rows, int threads, std::span<const float> x) override {
    return forward_of(gated_function(gated, rows), threads, x);
  }

  Forward function(const FunctionTask& task, int threads) override {
    return forward_of(function_of(task), threads, task.x);
  }

  Training training(const Network& network, int threads, const TrainingTask& task) override {
    auto s = std::make_shared<TrainingState>(network, threads, task);
    return {[s] { s->step(); },
            [s, sizes = network.sizes] {
              Network out{"relu", sizes, {}, {}};
              for (std::size_t i = 0; i < s->parameters; i += 2) {
                out.weights.push_back(floats(s->now[i]));
                out.biases.push_back(floats(s->now[i + 1]));
              }
              return out;
            }};
  }
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string&) { return std::make_unique<Limpid>(); }

}  // namespace bench
