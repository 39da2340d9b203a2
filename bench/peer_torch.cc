// libtorch's C++ interface at its best: inference mode for the forward pass; for training, modules,
// gradients set to none before each step, and its own SGD. The variant names the BLAS library that
// the environment has it load; libtorch brings none.
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "bench/subject.h"

namespace bench {
namespace {

torch::Tensor copy_of(const std::vector<float>& values, std::vector<std::int64_t> shape) {
  return torch::from_blob(const_cast<float*>(values.data()), shape, torch::kFloat32).clone();
}

torch::nn::Sequential modules_of(const Network& network) {
  torch::NoGradGuard no_gradients;
  torch::nn::Sequential modules;
  for (std::size_t l = 0; l + 1 < network.sizes.size(); ++l) {
    const int in = network.sizes[l], out = network.sizes[l + 1];
    if (l > 0 && network.activation == "relu") modules->push_back(torch::nn::ReLU());
    if (l > 0 && network.activation == "tanh") modules->push_back(torch::nn::Tanh());
    if (l > 0 && network.activation == "gelu") modules->push_back(torch::nn::GELU());
    torch::nn::Linear linear(in, out);
    linear->weight.copy_(copy_of(network.weights[l], {out, in}));
    linear->bias.copy_(copy_of(network.biases[l], {out}));
    modules->push_back(linear);
  }
  return modules;
}

std::vector<float> values_of(const torch::Tensor& tensor) {
  const torch::Tensor t = tensor.detach().contiguous();
  return {t.data_ptr<float>(), t.data_ptr<float>() + t.numel()};
}

// Into memory that is there already, where libtorch has such a form.
void apply(const std::string& name, const torch::Tensor& x, torch::Tensor& y) {
  if (name == "relu")
    at::clamp_min_out(y, x, 0);
  else if (name == "gelu")
    at::gelu_out(y, x);
  else if (name == "gelu_tanh")
    at::gelu_out(y, x, "tanh");
  else if (name == "silu")
    at::silu_out(y, x);
  else if (name == "sigmoid")
    at::sigmoid_out(y, x);
  else if (name == "tanh")
    at::tanh_out(y, x);
  else if (name == "softmax")
    at::_softmax_out(y, x, -1, false);
  else if (name == "layer_norm")
    y = at::layer_norm(x, {x.size(1)});
  else
    y = x * at::rsqrt(at::mean(x * x, -1, true) + 1e-5);
}

class Torch : public Subject {
 public:
  explicit Torch(std::string blas) : blas_(std::move(blas)) {}

  std::string describe() override {
    return std::string("libtorch ") + TORCH_VERSION + " with " + blas_;
  }

  Forward forward(const Network& network, int batch, int threads,
                  std::span<const float> x) override {
    struct State {
      torch::nn::Sequential modules{nullptr};
      torch::Tensor x, y;
    };
    at::set_num_threads(threads);
    c10::InferenceMode inference;
    auto s = std::make_shared<State>();
    s->modules = modules_of(network);
    s->modules->eval();
    s->x = torch::from_blob(const_cast<float*>(x.data()), {batch, network.sizes[0]}).clone();
    return {[s] {
              c10::InferenceMode mode;
              s->y = s->modules->forward(s->x);
            },
            [s] { return s->y.data_ptr<float>(); }};
  }

  Forward gated(const Gated& gated, int rows, int threads, std::span<const float> x) override {
    struct State {
      torch::Tensor gate, up, down, x, y;
    };
    at::set_num_threads(threads);
    c10::InferenceMode inference;
    auto s = std::make_shared<State>();
    s->gate = copy_of(gated.gate, {gated.hidden, gated.width});
    s->up = copy_of(gated.up, {gated.hidden, gated.width});
    s->down = copy_of(gated.down, {gated.width, gated.hidden});
    s->x = torch::from_blob(const_cast<float*>(x.data()), {rows, gated.width}).clone();
    return {[s] {
              c10::InferenceMode mode;
              const torch::Tensor h = at::silu(at::linear(s->x, s->gate));
              s->y = at::linear(h * at::linear(s->x, s->up), s->down);
            },
            [s] { return s->y.data_ptr<float>(); }};
  }

  Forward function(const FunctionTask& task, int threads) override {
    struct State {
      torch::Tensor x, y;
    };
    at::set_num_threads(threads);
    c10::InferenceMode inference;
    auto s = std::make_shared<State>();
    s->x = torch::from_blob(const_cast<float*>(task.x.data()), {task.rows, task.columns}).clone();
    s->y = torch::empty_like(s->x);
    return {[s, name = task.name] {
              c10::InferenceMode mode;
              apply(name, s->x, s->y);
            },
            [s] { return s->y.data_ptr<float>(); }};
  }

  Training training(const Network& network, int threads, const TrainingTask& task) override {
    struct State {
      torch::nn::Sequential modules{nullptr};
      std::vector<torch::Tensor> parameters;
      std::unique_ptr<torch::optim::Optimizer> optimizer;
      std::vector<torch::Tensor> images, labels;
      std::size_t next = 0;
    };
    at::set_num_threads(threads);
    auto s = std::make_shared<State>();
    s->modules = modules_of(network);
    s->modules->train();
    s->parameters = s->modules->parameters();
    if (task.optimizer == "sgd")
      s->optimizer = std::make_unique<torch::optim::SGD>(
          s->parameters, torch::optim::SGDOptions(task.rate).momentum(task.momentum));
    else
      s->optimizer = std::make_unique<torch::optim::AdamW>(
          s->parameters, torch::optim::AdamWOptions(task.rate).weight_decay(0.01));
    const auto rows = static_cast<std::int64_t>(task.labels.size());
    const auto images =
        torch::from_blob(const_cast<float*>(task.images.data()), {rows, network.sizes[0]}).clone();
    const auto labels =
        torch::from_blob(const_cast<std::int32_t*>(task.labels.data()), {rows}, torch::kInt32)
            .to(torch::kInt64);
    for (std::int64_t first = 0; first < rows; first += task.batch) {
      s->images.push_back(images.narrow(0, first, task.batch));
      s->labels.push_back(labels.narrow(0, first, task.batch));
    }
    return {[s] {
              for (torch::Tensor& p : s->parameters) p.mutable_grad().reset();
              const torch::Tensor logits = s->modules->forward(s->images[s->next]);
              torch::nn::functional::cross_entropy(logits, s->labels[s->next]).backward();
              s->optimizer->step();
              s->next = (s->next + 1) % s->images.size();
            },
            [s, sizes = network.sizes] {
              Network out{"relu", sizes, {}, {}};
              for (std::size_t i = 0; i < s->parameters.size(); i += 2) {
                out.weights.push_back(values_of(s->parameters[i]));
                out.biases.push_back(values_of(s->parameters[i + 1]));
              }
              return out;
            }};
  }

 private:
  std::string blas_;
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string& variant) {
  return std::make_unique<Torch>(variant);
}

}  // namespace bench
