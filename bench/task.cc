#include "bench/task.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace bench {
namespace {

// Uniform in [-scale, scale). The generator is the standard's; its distributions are not, so that
// they would differ between libraries.
std::vector<float> uniform(std::size_t count, std::uint32_t seed, double scale) {
  std::mt19937 words(seed);
  std::vector<float> out(count);
  for (float& v : out) v = static_cast<float>((static_cast<double>(words()) * 0x1p-31 - 1) * scale);
  return out;
}

// A network in double precision, with room for gradients.
struct Layer {
  std::size_t in, out;
  std::vector<double> weight, bias;
};

std::vector<Layer> layers_of(const Network& network) {
  std::vector<Layer> layers;
  for (std::size_t l = 0; l + 1 < network.sizes.size(); ++l)
    layers.push_back({static_cast<std::size_t>(network.sizes[l]),
                      static_cast<std::size_t>(network.sizes[l + 1]),
                      {network.weights[l].begin(), network.weights[l].end()},
                      {network.biases[l].begin(), network.biases[l].end()}});
  return layers;
}

// The inputs of every layer and, last, the logits.
std::vector<std::vector<double>> activations(const std::vector<Layer>& layers, const float* images,
                                             std::size_t rows) {
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
        y[r * layer.out + o] = l + 1 < layers.size() ? std::max(sum, 0.0) : sum;
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

Network digits_network() {
  Network network{{784, 256, 128, 10}, {}, {}};
  for (std::uint32_t l = 0; l < 3; ++l) {
    const auto in = static_cast<std::size_t>(network.sizes[l]);
    const auto out = static_cast<std::size_t>(network.sizes[l + 1]);
    network.weights.push_back(uniform(in * out, 10 + l, std::sqrt(6.0 / static_cast<double>(in))));
    network.biases.push_back(uniform(out, 20 + l, 0.1));
  }
  return network;
}

std::vector<float> digits_images(int rows) {
  return uniform(static_cast<std::size_t>(rows) * 784, 30, 1);
}

std::vector<std::int32_t> digits_labels(int rows) {
  std::mt19937 words(40);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(rows));
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(words() % 10);
  return labels;
}

std::vector<double> reference_logits(const Network& network, int batch,
                                     const std::vector<float>& images) {
  return activations(layers_of(network), images.data(), static_cast<std::size_t>(batch)).back();
}

std::vector<double> reference_training(const Network& network, const TrainingTask& task,
                                       int steps) {
  std::vector<Layer> layers = layers_of(network);
  std::vector<Layer> velocity = layers;
  for (Layer& v : velocity) {
    std::fill(v.weight.begin(), v.weight.end(), 0.0);
    std::fill(v.bias.begin(), v.bias.end(), 0.0);
  }
  const auto rows = static_cast<std::size_t>(task.batch);
  const std::size_t batches = task.labels.size() / rows;
  for (int step = 0; step < steps; ++step) {
    const std::size_t first = static_cast<std::size_t>(step) % batches * rows;
    const auto x = activations(layers, &task.images[first * layers[0].in], rows);
    std::vector<double> gradient = x.back();
    loss_gradient(gradient, &task.labels[first], rows);
    for (std::size_t l = layers.size(); l-- > 0;) {
      Layer& layer = layers[l];
      Layer& v = velocity[l];
      std::vector<double> below(rows * layer.in, 0.0);
      for (double& value : v.weight) value *= task.momentum;
      for (double& value : v.bias) value *= task.momentum;
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t o = 0; o < layer.out; ++o) {
          const double g = gradient[r * layer.out + o];
          v.bias[o] += g;
          for (std::size_t i = 0; i < layer.in; ++i) {
            v.weight[o * layer.in + i] += g * x[l][r * layer.in + i];
            below[r * layer.in + i] += g * layer.weight[o * layer.in + i];
          }
        }
      // The ReLU under this layer lets through where its output is above zero.
      for (std::size_t i = 0; i < below.size(); ++i)
        if (l > 0 && !(x[l][i] > 0)) below[i] = 0;
      for (std::size_t i = 0; i < v.weight.size(); ++i) layer.weight[i] -= task.rate * v.weight[i];
      for (std::size_t i = 0; i < v.bias.size(); ++i) layer.bias[i] -= task.rate * v.bias[i];
      gradient = std::move(below);
    }
  }
  std::vector<double> out;
  for (const Layer& layer : layers) {
    out.insert(out.end(), layer.weight.begin(), layer.weight.end());
    out.insert(out.end(), layer.bias.begin(), layer.bias.end());
  }
  return out;
}

std::vector<float> function_input(int rows, int columns) {
  return uniform(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 50, 4);
}

namespace {

double of_element(const std::string& name, double x) {
  const double cubic = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  if (name == "relu") return std::max(x, 0.0);
  if (name == "gelu") return x / 2 * (1 + std::erf(x / std::sqrt(2)));
  if (name == "gelu_tanh") return x / 2 * (1 + std::tanh(cubic));
  if (name == "silu") return x / (1 + std::exp(-x));
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  return std::tanh(x);
}

void of_row(const std::string& name, std::span<double> row) {
  const auto n = static_cast<double>(row.size());
  double mean = 0, squares = 0, exponentials = 0;
  for (double x : row) mean += name == "layer_norm" ? x / n : 0;
  for (double x : row) squares += (x - mean) * (x - mean) / n;
  for (double x : row) exponentials += std::exp(x);
  for (double& x : row)
    x = name == "softmax" ? std::exp(x) / exponentials : (x - mean) / std::sqrt(squares + 1e-5);
}

}  // namespace

std::vector<double> reference_function(const FunctionTask& task) {
  std::vector<double> y(task.x.begin(), task.x.end());
  if (task.name == "softmax" || task.name.ends_with("norm")) {
    const auto columns = static_cast<std::size_t>(task.columns);
    for (std::size_t first = 0; first < y.size(); first += columns)
      of_row(task.name, {&y[first], columns});
  } else {
    for (double& x : y) x = of_element(task.name, x);
  }
  return y;
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
