// No library: plain loops, to measure the cost of the program itself.
#include <algorithm>

#include "bench/subject.h"

namespace bench {
namespace {

class None : public Subject {
 public:
  std::string describe() override { return "plain loops"; }

  Forward forward(const Network& network, int batch, int, std::span<const float> x) override {
    if (network.activation != "relu") return {};
    struct State {
      Network network;
      std::vector<std::vector<float>> results;  // the input first
    };
    auto s = std::make_shared<State>(State{network, {{x.begin(), x.end()}}});
    const auto rows = static_cast<std::size_t>(batch);
    for (std::size_t l = 1; l < network.sizes.size(); ++l)
      s->results.emplace_back(rows * static_cast<std::size_t>(network.sizes[l]));
    return {[s, rows] {
              for (std::size_t l = 0; l < s->network.weights.size(); ++l)
                linear(s->network, l, rows, s->results[l].data(), s->results[l + 1].data());
            },
            [s] { return s->results.back().data(); }};
  }

 private:
  static void linear(const Network& network, std::size_t layer, std::size_t rows, const float* x,
                     float* y) {
    const auto in = static_cast<std::size_t>(network.sizes[layer]);
    const auto out = static_cast<std::size_t>(network.sizes[layer + 1]);
    const bool last = layer + 1 == network.weights.size();
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t o = 0; o < out; ++o) {
        float sum = network.biases[layer][o];
        const float* weight = &network.weights[layer][o * in];
        for (std::size_t i = 0; i < in; ++i) sum += weight[i] * x[r * in + i];
        y[r * out + o] = last ? sum : std::max(sum, 0.0f);
      }
  }
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string&) { return std::make_unique<None>(); }

}  // namespace bench
