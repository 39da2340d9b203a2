// PyTorch from Python, in the process of peer_pytorch.py. A call from Python costs some
// microseconds more than one of libtorch, but only Python has optimisers that update all parameters
// together, and networks that are compiled.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
                             .command = {python(), source_path("peer_pytorch.py")},
                             .environment = {},
                             .cpu = {}})) {}

  std::string describe() override { return python_->process().ask("describe"); }

  Forward forward(const Network& network, int batch, int threads,
                  std::span<const float> x) override {
    return prepared(
        fmt::format("forward {} {} {} {} {} {}", fmt::join(network.sizes, "-"), network.activation,
                    file("parameters", flat(network)), file("x", x), batch, threads),
        batch, network.sizes.back());
  }

  Forward gated(const Gated& gated, int rows, int threads, std::span<const float> x) override {
    std::vector<float> weights = gated.gate;
    weights.insert(weights.end(), gated.up.begin(), gated.up.end());
    weights.insert(weights.end(), gated.down.begin(), gated.down.end());
    return prepared(fmt::format("gated {} {} {} {} {} {}", gated.width, gated.hidden,
                                file("parameters", weights), file("x", x), rows, threads),
                    rows, gated.width);
  }

  Forward function(const FunctionTask& task, int threads) override {
    return prepared(fmt::format("function {} {} {} {} {}", task.name, file("x", task.x), task.rows,
                                task.columns, threads),
                    task.rows, task.columns);
  }

  Training training(const Network& network, int threads, const TrainingTask& task) override {
    python_->process().ask(
        fmt::format("train {} {} {} {} {} {} {} {} {}", fmt::join(network.sizes, "-"),
                    file("parameters", flat(network)), file("images", task.images),
                    python_->file("labels", std::as_bytes(task.labels)), threads, task.batch,
                    task.optimizer, task.rate, task.momentum));
    return {[python = python_] { python->process().ask("step"); },
            [python = python_, sizes = network.sizes] {
              return unflatten(sizes, python->process().ask_floats("parameters"));
            },
            Foreign::timing(python_)};
  }

 private:
  std::string file(const std::string& name, std::span<const float> numbers) const {
    return python_->file(name, std::as_bytes(numbers));
  }

  Forward prepared(const std::string& line, int rows, int columns) {
    auto y = std::make_shared<std::vector<float>>(python_->process().ask_floats(line));
    y->resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    return {[] {}, [y] { return y->data(); }, Foreign::timing(python_)};
  }

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
