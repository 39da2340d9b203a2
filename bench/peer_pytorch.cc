// PyTorch from Python, in the process of peer_pytorch.py. Training only: its optimisers update all
// parameters together (foreach), unlike those of libtorch.
#include <fstream>

#include "bench/foreign.h"
#include "bench/subject.h"
#include "bench/task.h"

namespace bench {
namespace {

class PyTorch : public Subject {
 public:
  PyTorch()
      : python_(std::make_shared<Foreign>(
            Process::Options{.name = "Python",
                             .command = {"/usr/bin/python3", source_path("peer_pytorch.py")},
                             .environment = {},
                             .cpu = {}})) {}

  std::string describe() override { return python_->process().ask("describe"); }

  Forward forward(const Network&, int, int, std::span<const float>) override { return {}; }

  Training training(const Network& network, int threads, const TrainingTask& task) override {
    const std::vector<float> parameters = flat(network);
    std::string sizes;
    for (const int size : network.sizes) sizes += (sizes.empty() ? "" : "-") + std::to_string(size);
    const std::string files = python_->file("parameters", std::as_bytes(std::span(parameters))) +
                              " " + python_->file("images", std::as_bytes(task.images)) + " " +
                              python_->file("labels", std::as_bytes(task.labels));
    python_->process().ask("load " + sizes + " " + files + " " + std::to_string(threads) + " " +
                           std::to_string(task.batch) + " " + task.optimizer + " " +
                           std::to_string(task.rate) + " " + std::to_string(task.momentum));
    return {[python = python_] { python->process().ask("step"); },
            [python = python_, sizes = network.sizes] {
              return unflatten(sizes, python->process().ask_floats("parameters"));
            },
            Foreign::timing(python_)};
  }

 private:
  static Network unflatten(const std::vector<int>& sizes, std::span<const float> values) {
    Network out{"relu", sizes, {}, {}};
    const auto take = [&](std::size_t count) {
      const std::vector<float> taken(values.begin(),
                                     values.begin() + static_cast<std::ptrdiff_t>(count));
      values = values.subspan(count);
      return taken;
    };
    for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
      const auto in = static_cast<std::size_t>(sizes[l]);
      const auto rows = static_cast<std::size_t>(sizes[l + 1]);
      out.weights.push_back(take(rows * in));
      out.biases.push_back(take(rows));
    }
    return out;
  }

  std::shared_ptr<Foreign> python_;
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string&) { return std::make_unique<PyTorch>(); }

}  // namespace bench
