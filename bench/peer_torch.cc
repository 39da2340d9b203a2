// libtorch's C++ interface at its best: inference mode for the forward pass; for training, modules,
// gradients set to none before each step, and its own optimisers. Variants: the BLAS library, which
// the environment selects since libtorch includes none; and "OpenBLAS frozen", a script whose
// weights are constants, optimised for inference.
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>
#include <torch/script.h>
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

torch::Tensor matrix(std::span<const float> values, std::int64_t rows, std::int64_t columns) {
  return torch::from_blob(const_cast<float*>(values.data()), {rows, columns}).clone();
}

std::vector<float> values_of(const torch::Tensor& tensor) {
  const torch::Tensor t = tensor.detach().contiguous();
  return {t.data_ptr<float>(), t.data_ptr<float>() + t.numel()};
}

using Call = std::function<torch::Tensor(const torch::Tensor&)>;

// A script whose weights are constants. In `body` they are self.t0, self.t1, and so on.
Call frozen(const std::vector<torch::Tensor>& weights, const std::string& body) {
  torch::jit::Module module("frozen");
  for (std::size_t i = 0; i < weights.size(); ++i)
    module.register_buffer("t" + std::to_string(i), weights[i]);
  module.define("def forward(self, x):\n" + body);
  module.eval();
  auto ready = std::make_shared<torch::jit::Module>(
      torch::jit::optimize_for_inference(*std::make_unique<torch::jit::Module>(module)));
  return [ready](const torch::Tensor& x) { return ready->forward({x}).toTensor(); };
}

std::string script_of(const Network& network) {
  std::string body;
  for (std::size_t l = 0; l < network.weights.size(); ++l) {
    const std::string weight = std::to_string(2 * l), bias = std::to_string(2 * l + 1);
    body += "  x = torch.linear(x, self.t" + weight + ", self.t" + bias + ")\n";
    if (l + 1 < network.weights.size()) body += "  x = torch." + network.activation + "(x)\n";
  }
  return body + "  return x\n";
}

std::vector<torch::Tensor> tensors_of(const Network& network) {
  std::vector<torch::Tensor> all;
  for (std::size_t l = 0; l < network.weights.size(); ++l) {
    all.push_back(copy_of(network.weights[l], {network.sizes[l + 1], network.sizes[l]}));
    all.push_back(copy_of(network.biases[l], {network.sizes[l + 1]}));
  }
  return all;
}

Forward ready(const Call& call, const torch::Tensor& x) {
  auto y = std::make_shared<torch::Tensor>();
  return {[=] {
            c10::InferenceMode mode;
            *y = call(x);
          },
          [y] { return y->data_ptr<float>(); }};
}

// A function of x; writes to existing memory if libtorch has such a form.
std::function<void()> applied(const std::string& name, const torch::Tensor& x,
                              const std::shared_ptr<torch::Tensor>& y) {
  if (name == "relu") return [=] { at::clamp_min_out(*y, x, 0); };
  if (name == "gelu") return [=] { at::gelu_out(*y, x); };
  if (name == "gelu_tanh") return [=] { at::gelu_out(*y, x, "tanh"); };
  if (name == "silu") return [=] { at::silu_out(*y, x); };
  if (name == "sigmoid") return [=] { at::sigmoid_out(*y, x); };
  if (name == "tanh") return [=] { at::tanh_out(*y, x); };
  if (name == "softmax") return [=] { at::_softmax_out(*y, x, -1, false); };
  if (name == "layer_norm") return [=] { *y = at::layer_norm(x, {x.size(1)}); };
  return [=, norm = torch::empty({x.size(0), 1})]() mutable {
    at::linalg_vector_norm_out(norm, x, 2, at::IntArrayRef{-1}, true);
    norm.square_().div_(static_cast<double>(x.size(1))).add_(1e-5).rsqrt_();
    at::mul_out(*y, x, norm);
  };
}

// The kind of CPU that OpenBLAS detected. (BLIS does not report it.)
std::string core() {
  using Name = const char* (*)();
  const auto name = reinterpret_cast<Name>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  return name ? std::string(" for ") + name() : "";
}

class Torch : public Subject {
 public:
  Torch(std::string blas, bool frozen) : blas_(std::move(blas)), frozen_(frozen) {}

  std::string describe() override {
    return std::string("libtorch ") + TORCH_VERSION + " with " + blas_ +
           (blas_ == "OpenBLAS" ? core() : "") + (frozen_ ? ", frozen script" : "");
  }

  Forward forward(const Network& network, int batch, int threads,
                  std::span<const float> x) override {
    at::set_num_threads(threads);
    c10::InferenceMode inference;
    if (frozen_)
      return ready(frozen(tensors_of(network), script_of(network)),
                   matrix(x, batch, network.sizes[0]));
    torch::nn::Sequential modules = modules_of(network);
    modules->eval();
    return ready([modules](const torch::Tensor& in) mutable { return modules->forward(in); },
                 matrix(x, batch, network.sizes[0]));
  }

  Forward gated(const Gated& gated, int rows, int threads, std::span<const float> x) override {
    at::set_num_threads(threads);
    c10::InferenceMode inference;
    const torch::Tensor gate = copy_of(gated.gate, {gated.hidden, gated.width});
    const torch::Tensor up = copy_of(gated.up, {gated.hidden, gated.width});
    const torch::Tensor down = copy_of(gated.down, {gated.width, gated.hidden});
    if (frozen_)
      return ready(frozen({gate, up, down},
                          "  h = torch.silu(torch.linear(x, self.t0, None))\n"
                          "  h = h * torch.linear(x, self.t1, None)\n"
                          "  return torch.linear(h, self.t2, None)\n"),
                   matrix(x, rows, gated.width));
    return ready(
        [=](const torch::Tensor& in) {
          const torch::Tensor h = at::silu(at::linear(in, gate));
          return at::linear(h * at::linear(in, up), down);
        },
        matrix(x, rows, gated.width));
  }

  Forward function(const FunctionTask& task, int threads) override {
    if (frozen_) return {};
    at::set_num_threads(threads);
    c10::InferenceMode inference;
    const torch::Tensor x = matrix(task.x, task.rows, task.columns);
    auto y = std::make_shared<torch::Tensor>(torch::empty_like(x));
    return {[call = applied(task.name, x, y)] {
              c10::InferenceMode mode;
              call();
            },
            [y] { return y->data_ptr<float>(); }};
  }

  Training training(const Network& network, int threads, const TrainingTask& task) override {
    if (frozen_) return {};
    malloc_trim(0);  // its memory use is measured, too
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
  bool frozen_;
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string& variant) {
  // Keeps freed memory in the process for later allocations.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // "OpenBLAS", "BLIS", "OpenBLAS frozen"
  const std::size_t end = variant.find(' ');
  return std::make_unique<Torch>(variant.substr(0, end), end != std::string::npos);
}

}  // namespace bench
