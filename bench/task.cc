#include "bench/task.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

// "784-256-10"
std::vector<int> sizes_in(const std::string& text) {
  std::vector<int> sizes;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, '-');) sizes.push_back(std::stoi(word));
  return sizes;
}

// Uniform in [-scale, scale). Uses the C++ standard's generator but not its distributions: these
// differ between standard libraries.
std::vector<float> uniform(std::size_t count, std::uint32_t seed, double scale) {
  std::mt19937 words(seed);
  std::vector<float> out(count);
  for (float& v : out) v = static_cast<float>((static_cast<double>(words()) * 0x1p-31 - 1) * scale);
  return out;
}

template <class Real>
Real of_element(const std::string& name, Real x) {
  const Real cubic =
      std::sqrt(2 / std::numbers::pi_v<Real>) * (x + static_cast<Real>(0.044715L) * x * x * x);
  if (name == "relu") return std::max(x, Real{0});
  // 1 + erf and 1 + tanh, without the cancellation of the sum in the tail.
  if (name == "gelu") return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<Real>);
  if (name == "gelu_tanh") return x / (1 + std::exp(-2 * cubic));
  if (name == "silu") return x / (1 + std::exp(-x));
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  return std::tanh(x);
}

// A network in double precision, with memory for gradients.
struct Layer {
  std::size_t in, out;
  std::vector<double> weight, bias;
};

std::vector<float> no_bias(int size) {
  return std::vector<float>(static_cast<std::size_t>(size), 0.0f);
}

std::vector<Layer> layers_of(const Network& network) {
  std::vector<Layer> layers;
  for (std::size_t l = 0; l + 1 < network.sizes.size(); ++l)
    layers.push_back({static_cast<std::size_t>(network.sizes[l]),
                      static_cast<std::size_t>(network.sizes[l + 1]),
                      {network.weights[l].begin(), network.weights[l].end()},
                      {network.biases[l].begin(), network.biases[l].end()}});
  return layers;
}

// The inputs of every layer and, last, the logits. Lowers `least` to the smallest magnitude of an
// input of an activation.
std::vector<std::vector<double>> activations(const std::vector<Layer>& layers,
                                             const std::string& activation, const float* images,
                                             std::size_t rows, double& least) {
  std::vector<std::vector<double>> all;
  all.emplace_back(images, images + rows * layers[0].in);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    std::vector<double> y(rows * layer.out);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t o = 0; o < layer.out; ++o) {
        double sum = layer.bias[o];
        const double* x = &all[l][r * layer.in];
        const double* w = &layer.weight[o * layer.in];
        for (std::size_t i = 0; i < layer.in; ++i) sum += x[i] * w[i];
        const bool last = l + 1 == layers.size();
        if (!last) least = std::min(least, std::abs(sum));
        y[r * layer.out + o] = last ? sum : of_element(activation, sum);
      }
    all.push_back(std::move(y));
  }
  return all;
}

// Turns logits into the gradient of the mean cross-entropy: (softmax - one-hot) / rows.
void loss_gradient(std::vector<double>& logits, const std::int32_t* labels, std::size_t rows) {
  const std::size_t classes = logits.size() / rows;
  for (std::size_t r = 0; r < rows; ++r) {
    double* row = &logits[r * classes];
    const double top = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += row[c] = std::exp(row[c] - top);
    for (std::size_t c = 0; c < classes; ++c) row[c] /= sum;
    row[labels[r]] -= 1;
    for (std::size_t c = 0; c < classes; ++c) row[c] /= static_cast<double>(rows);
  }
}

}  // namespace

std::vector<int> sizes_of_network(const std::string& description) {
  return sizes_in(description.substr(description.find(':') + 1));
}

Network network_of(const std::string& description) {
  Network network{
      description.substr(0, description.find(':')), sizes_of_network(description), {}, {}};
  for (std::uint32_t l = 0; l + 1 < network.sizes.size(); ++l) {
    const auto in = static_cast<std::size_t>(network.sizes[l]);
    const auto out = static_cast<std::size_t>(network.sizes[l + 1]);
    network.weights.push_back(uniform(in * out, 10 + l, std::sqrt(6.0 / static_cast<double>(in))));
    network.biases.push_back(uniform(out, 20 + l, 0.1));
  }
  return network;
}

Codes codes_of(const Network& network, std::size_t layer, float most) {
  const auto in = static_cast<std::size_t>(network.sizes[layer]);
  Codes codes{network.weights[layer], {}};
  for (std::size_t first = 0; first < codes.values.size(); first += in) {
    const std::span<float> row(&codes.values[first], in);
    float largest = 0;
    for (const float w : row) largest = std::max(largest, std::abs(w));
    codes.scales.push_back(largest / most);
    for (float& w : row) w = std::nearbyint(w / codes.scales.back());
  }
  return codes;
}

Gated gated_of(const std::string& description) {
  const std::vector<int> sizes = sizes_in(description);
  Gated gated{sizes[0], sizes[1], {}, {}, {}};
  const auto count = static_cast<std::size_t>(gated.width) * static_cast<std::size_t>(gated.hidden);
  gated.gate = uniform(count, 60, std::sqrt(6.0 / gated.width));
  gated.up = uniform(count, 61, std::sqrt(6.0 / gated.width));
  gated.down = uniform(count, 62, std::sqrt(6.0 / gated.hidden));
  return gated;
}

// Of the seeds 30 to 110, 54 keeps the inputs of ReLUs farthest from zero in the steps that are
// compared: 5.05e-6 (kLeastInput).
std::vector<float> rows_of_input(int rows, int columns) {
  return uniform(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 54, 1);
}

std::vector<std::int32_t> digits_labels(int rows) {
  std::mt19937 words(40);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(rows));
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(words() % 10);
  return labels;
}

std::vector<double> reference_logits(const Network& network, int batch, std::span<const float> x) {
  double least = INFINITY;
  return activations(layers_of(network), network.activation, x.data(),
                     static_cast<std::size_t>(batch), least)
      .back();
}

std::vector<double> reference_gated(const Gated& gated, int rows, std::span<const float> x) {
  const Network gate{"", {gated.width, gated.hidden}, {gated.gate}, {no_bias(gated.hidden)}};
  const Network up{"", {gated.width, gated.hidden}, {gated.up}, {no_bias(gated.hidden)}};
  std::vector<double> g = reference_logits(gate, rows, x);
  const std::vector<double> u = reference_logits(up, rows, x);
  std::vector<float> h(g.size());
  for (std::size_t i = 0; i < g.size(); ++i)
    h[i] = static_cast<float>(of_element("silu", g[i]) * u[i]);
  return reference_logits({"", {gated.hidden, gated.width}, {gated.down}, {no_bias(gated.width)}},
                          rows, h);
}

namespace {

// In the steps that are compared no input of a ReLU is nearer to zero. Sums in f32 move one by up
// to 4.4e-6, and where they move one across zero, another gradient is right: one such input in a
// batch of 512 moved the parameters by 0.3 % of their way in two more steps of AdamW (seed 30,
// MKL).
constexpr double kLeastInput = 5e-6;

// The update of one parameter, with its optimiser state.
struct Memory {
  double first = 0, second = 0;
};
void update(const TrainingTask& task, int step, double g, double& parameter, Memory& memory) {
  if (task.optimizer == "sgd") {
    memory.first = task.momentum * memory.first + g;
    parameter -= task.rate * memory.first;
    return;
  }
  memory.first = 0.9 * memory.first + 0.1 * g;
  memory.second = 0.999 * memory.second + 0.001 * g * g;
  const double mean = memory.first / (1 - std::pow(0.9, step + 1));
  const double square = memory.second / (1 - std::pow(0.999, step + 1));
  parameter *= 1 - task.rate * 0.01;
  parameter -= task.rate * mean / (std::sqrt(square) + 1e-8);
}

// Forward, backward and update of one batch.
void train_step(std::vector<Layer>& layers, std::vector<std::vector<Memory>>& memories,
                const TrainingTask& task, int step, std::size_t first) {
  const auto rows = static_cast<std::size_t>(task.batch);
  double least = INFINITY;
  const auto x = activations(layers, "relu", &task.images[first * layers[0].in], rows, least);
  if (least < kLeastInput)
    throw std::logic_error("the input of a ReLU is too near to zero to compare gradients");
  std::vector<double> gradient = x.back();
  loss_gradient(gradient, &task.labels[first], rows);
  for (std::size_t l = layers.size(); l-- > 0;) {
    Layer& layer = layers[l];
    std::vector<double> below(rows * layer.in, 0.0);
    std::vector<double> of_weight(layer.weight.size(), 0.0);
    std::vector<double> of_bias(layer.out, 0.0);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t o = 0; o < layer.out; ++o) {
        const double g = gradient[r * layer.out + o];
        of_bias[o] += g;
        for (std::size_t i = 0; i < layer.in; ++i) {
          of_weight[o * layer.in + i] += g * x[l][r * layer.in + i];
          below[r * layer.in + i] += g * layer.weight[o * layer.in + i];
        }
      }
    // The gradient passes the ReLU before this layer where the ReLU's output is positive.
    for (std::size_t i = 0; i < below.size(); ++i)
      if (l > 0 && !(x[l][i] > 0)) below[i] = 0;
    for (std::size_t i = 0; i < of_weight.size(); ++i)
      update(task, step, of_weight[i], layer.weight[i], memories[2 * l][i]);
    for (std::size_t i = 0; i < of_bias.size(); ++i)
      update(task, step, of_bias[i], layer.bias[i], memories[2 * l + 1][i]);
    gradient = std::move(below);
  }
}

}  // namespace

std::vector<double> reference_training(const Network& network, const TrainingTask& task,
                                       int steps) {
  std::vector<Layer> layers = layers_of(network);
  std::vector<std::vector<Memory>> memories;
  for (const Layer& layer : layers) {
    memories.emplace_back(layer.weight.size());
    memories.emplace_back(layer.bias.size());
  }
  const auto rows = static_cast<std::size_t>(task.batch);
  const std::size_t batches = task.labels.size() / rows;
  for (int step = 0; step < steps; ++step)
    train_step(layers, memories, task, step, static_cast<std::size_t>(step) % batches * rows);
  std::vector<double> out;
  for (const Layer& layer : layers) {
    out.insert(out.end(), layer.weight.begin(), layer.weight.end());
    out.insert(out.end(), layer.bias.begin(), layer.bias.end());
  }
  return out;
}

std::vector<float> function_input(int rows, int columns) {
  return uniform(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 50, 8);
}

namespace {

void of_row(const std::string& name, std::span<long double> row) {
  const auto n = static_cast<long double>(row.size());
  long double mean = 0, squares = 0, exponentials = 0;
  for (const long double x : row) mean += name == "layer_norm" ? x / n : 0;
  for (const long double x : row) squares += (x - mean) * (x - mean) / n;
  for (const long double x : row) exponentials += std::exp(x);
  for (long double& x : row)
    x = name == "softmax" ? std::exp(x) / exponentials : (x - mean) / std::sqrt(squares + 1e-5L);
}

}  // namespace

std::vector<long double> reference_function(const FunctionTask& task) {
  std::vector<long double> y(task.x.begin(), task.x.end());
  if (task.name == "softmax" || task.name.ends_with("norm")) {
    const auto columns = static_cast<std::size_t>(task.columns);
    for (std::size_t first = 0; first < y.size(); first += columns)
      of_row(task.name, {&y[first], columns});
  } else {
    for (long double& x : y) x = of_element(task.name, x);
  }
  return y;
}

double error_in_ulp(float computed, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int unit =
      std::max(exponent - std::numeric_limits<float>::digits,
               std::numeric_limits<float>::min_exponent - std::numeric_limits<float>::digits);
  return static_cast<double>(std::abs(computed - exact) / std::ldexp(1.0L, unit));
}

std::vector<float> flat(const Network& network) {
  std::vector<float> out;
  for (std::size_t l = 0; l < network.weights.size(); ++l) {
    out.insert(out.end(), network.weights[l].begin(), network.weights[l].end());
    out.insert(out.end(), network.biases[l].begin(), network.biases[l].end());
  }
  return out;
}

}  // namespace bench
