// Eigen, in a loop over the layers as its users write it, compiled for this machine. The variants
// are "run-time sizes", which has everything that Eigen has a function for, and "compile-time
// sizes", which has the two small networks, with one example.
#include <Eigen/Core>
#include <cstring>
#include <unsupported/Eigen/SpecialFunctions>

#include "bench/subject.h"

namespace bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::RowVectorXf;

Matrix matrix(std::span<const float> values, int rows, int columns) {
  return Eigen::Map<const Matrix>(values.data(), rows, columns);
}

// Writes to existing memory.
void apply(const std::string& name, const Matrix& from, Matrix& to) {
  const auto x = from.array();
  auto y = to.array();
  if (name == "relu") y = x.max(0.0f);
  if (name == "gelu") y = 0.5f * x * (1.0f + (x * 0.70710678f).erf());
  if (name == "gelu_tanh")
    y = 0.5f * x * (1.0f + (0.79788456f * (x + 0.044715f * x * x * x)).tanh());
  if (name == "silu") y = x * x.logistic();
  if (name == "sigmoid") y = x.logistic();
  if (name == "tanh") y = x.tanh();
  if (name == "softmax") {
    to = (from.colwise() - from.rowwise().maxCoeff()).array().exp();
    to.array().colwise() /= to.rowwise().sum().eval().array();
  }
  if (name == "layer_norm") {
    to = from.colwise() - from.rowwise().mean();
    const auto n = static_cast<float>(from.cols());
    to.array().colwise() *= (to.rowwise().squaredNorm().array() / n + 1e-5f).rsqrt().eval();
  }
  if (name == "rms_norm") {
    const auto n = static_cast<float>(from.cols());
    to = from.array().colwise() * (from.rowwise().squaredNorm().array() / n + 1e-5f).rsqrt().eval();
  }
}

std::string version() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
         std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION) +
         ", -O3 -march=native";
}

class RunTimeSizes : public Subject {
 public:
  std::string describe() override { return version() + ", run-time sizes"; }

  Forward forward(const Network& network, int batch, int threads,
                  std::span<const float> x) override {
    struct State {
      std::string activation;
      std::vector<Matrix> weights;  // (in, out)
      std::vector<Row> biases;
      std::vector<Matrix> results;  // the input first
    };
    Eigen::setNbThreads(threads);
    auto s = std::make_shared<State>();
    s->activation = network.activation;
    s->results.push_back(matrix(x, batch, network.sizes[0]));
    for (std::size_t l = 0; l < network.weights.size(); ++l) {
      const int in = network.sizes[l], out = network.sizes[l + 1];
      s->weights.push_back(matrix(network.weights[l], out, in).transpose());
      s->biases.push_back(Eigen::Map<const Row>(network.biases[l].data(), out));
      s->results.emplace_back(batch, out);
    }
    return {[s] {
              for (std::size_t l = 0; l < s->weights.size(); ++l) {
                Matrix& y = s->results[l + 1];
                y.noalias() = s->results[l] * s->weights[l];
                y.rowwise() += s->biases[l];
                if (l + 1 < s->weights.size()) apply(s->activation, y, y);
              }
            },
            [s] { return s->results.back().data(); }};
  }

  Forward gated(const Gated& gated, int rows, int threads, std::span<const float> x) override {
    struct State {
      Matrix x, gate, up, down, g, u, y;
    };
    Eigen::setNbThreads(threads);
    auto s = std::make_shared<State>();
    s->x = matrix(x, rows, gated.width);
    s->gate = matrix(gated.gate, gated.hidden, gated.width).transpose();
    s->up = matrix(gated.up, gated.hidden, gated.width).transpose();
    s->down = matrix(gated.down, gated.width, gated.hidden).transpose();
    return {[s] {
              s->g.noalias() = s->x * s->gate;
              s->u.noalias() = s->x * s->up;
              s->u.array() *= s->g.array() * s->g.array().logistic();
              s->y.noalias() = s->u * s->down;
            },
            [s] { return s->y.data(); }};
  }

  Forward function(const FunctionTask& task, int threads) override {
    struct State {
      Matrix x, y;
    };
    Eigen::setNbThreads(threads);
    auto s = std::make_shared<State>();
    s->x = matrix(task.x, task.rows, task.columns);
    s->y.resize(task.rows, task.columns);
    return {[s, name = task.name] { apply(name, s->x, s->y); }, [s] { return s->y.data(); }};
  }
};

template <int kOut, int kIn>
struct FixedLayer {
  FixedLayer(const Network& network, std::size_t layer) {
    weight = matrix(network.weights[layer], kOut, kIn);
    std::memcpy(bias.data(), network.biases[layer].data(), sizeof(float) * kOut);
  }
  Eigen::Matrix<float, kOut, kIn> weight;  // column-major, Eigen's default
  Eigen::Matrix<float, kOut, 1> bias;
};

// Stops the compiler from reusing the last result: says that the memory may have been written to.
void forget_what_is_known() { asm volatile("" ::: "memory"); }

class CompileTimeSizes : public Subject {
 public:
  std::string describe() override { return version() + ", compile-time sizes"; }

  Forward forward(const Network& network, int batch, int threads,
                  std::span<const float> x) override {
    if (batch != 1 || threads != 1) return {};
    if (network.activation == "tanh" && network.sizes == std::vector{3, 4, 2})
      return tanh_net(network, x);
    if (network.activation == "relu" && network.sizes == std::vector{64, 64, 64, 1})
      return relu_net(network, x);
    return {};
  }

 private:
  static Forward tanh_net(const Network& network, std::span<const float> input) {
    struct State {
      explicit State(const Network& n) : first(n, 0), second(n, 1) {}
      FixedLayer<4, 3> first;
      FixedLayer<2, 4> second;
      Eigen::Matrix<float, 3, 1> x;
      Eigen::Matrix<float, 2, 1> y;
    };
    auto s = std::make_shared<State>(network);
    std::memcpy(s->x.data(), input.data(), input.size_bytes());
    return {[s] {
              forget_what_is_known();
              const Eigen::Matrix<float, 4, 1> h =
                  (s->first.weight * s->x + s->first.bias).array().tanh();
              s->y = s->second.weight * h + s->second.bias;
              forget_what_is_known();
            },
            [s] { return s->y.data(); }};
  }

  static Forward relu_net(const Network& network, std::span<const float> input) {
    struct State {
      explicit State(const Network& n) : first(n, 0), second(n, 1), third(n, 2) {}
      FixedLayer<64, 64> first, second;
      FixedLayer<1, 64> third;
      Eigen::Matrix<float, 64, 1> x;
      Eigen::Matrix<float, 1, 1> y;
    };
    auto s = std::make_shared<State>(network);
    std::memcpy(s->x.data(), input.data(), input.size_bytes());
    return {[s] {
              forget_what_is_known();
              Eigen::Matrix<float, 64, 1> g, h;
              g.noalias() = s->first.weight * s->x;
              g = (g + s->first.bias).cwiseMax(0.0f);
              h.noalias() = s->second.weight * g;
              h = (h + s->second.bias).cwiseMax(0.0f);
              s->y = s->third.weight * h + s->third.bias;
              forget_what_is_known();
            },
            [s] { return s->y.data(); }};
  }
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string& variant) {
  if (variant == "compile-time") return std::make_unique<CompileTimeSizes>();
  return std::make_unique<RunTimeSizes>();
}

}  // namespace bench
