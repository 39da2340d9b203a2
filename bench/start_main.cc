// The smallest program around one library: it makes 784-256-128-10, computes one example, prints
// the first logit, and waits for the end of its input. Its weights take no time to compute.
#include <cstdio>
#include <exception>

#include "bench/subject.h"

namespace bench {
namespace {

std::vector<float> some_numbers(int count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = 0.01f * (static_cast<float>(i % 23) - 11);
  return out;
}

void answer_first_logit(Subject& subject) {
  Network network{"relu", {784, 256, 128, 10}, {}, {}};
  for (std::size_t l = 0; l + 1 < network.sizes.size(); ++l) {
    network.weights.push_back(some_numbers(network.sizes[l] * network.sizes[l + 1]));
    network.biases.push_back(some_numbers(network.sizes[l + 1]));
  }
  const std::vector<float> x = some_numbers(network.sizes[0]);
  const Forward forward = subject.forward(network, 1, 1, x);
  if (!forward.run) {
    std::printf("none\n");
    return;
  }
  forward.run();
  std::printf("%.4f\n", static_cast<double>(forward.logits()[0]));
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  std::unique_ptr<bench::Subject> subject;
  try {
    subject = bench::make_subject(argc > 1 ? argv[1] : "");
    bench::answer_first_logit(*subject);
  } catch (const std::exception& e) {
    std::printf("error %s\n", e.what());
  }
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}
