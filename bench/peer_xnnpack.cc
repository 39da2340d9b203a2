// XNNPACK's fully-connected operators: weights packed ahead, ReLU as a lower bound on the output.
// Only networks of linear layers and ReLU.
#include <pthreadpool.h>
#include <xnnpack.h>

#include <cmath>
#include <stdexcept>

#include "bench/cpus.h"
#include "bench/subject.h"

namespace bench {
namespace {

// The operators read up to this many bytes beyond the end of a row.
constexpr std::size_t kPadding = XNN_EXTRA_BYTES / sizeof(float);

void must(xnn_status status) {
  if (status != xnn_status_success)
    throw std::runtime_error("XNNPACK returned the status " + std::to_string(status));
}

struct Model {
  explicit Model(int threads) {
    if (threads < 2) return;
    pool = pthreadpool_create(static_cast<std::size_t>(threads));
    pin_this_and_others(threads);
  }
  ~Model() {
    for (const xnn_operator_t op : operators) xnn_delete_operator(op);
    pthreadpool_destroy(pool);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void linear(std::size_t rows, std::size_t in, std::size_t out, const float* weight,
              const float* bias, bool relu) {
    xnn_operator_t op = nullptr;
    must(xnn_create_fully_connected_nc_f32(in, out, in, out, weight, bias, relu ? 0 : -INFINITY,
                                           INFINITY, 0, &op));
    operators.push_back(op);
    const float* x = results.back().data();
    results.emplace_back(rows * out + kPadding);
    must(xnn_setup_fully_connected_nc_f32(op, rows, x, results.back().data(), pool));
  }

  void run() {
    for (const xnn_operator_t op : operators) xnn_run_operator(op, pool);
  }

  pthreadpool_t pool = nullptr;
  std::vector<xnn_operator_t> operators;
  std::vector<std::vector<float>> results;  // the input first
};

class Xnnpack : public Subject {
 public:
  Xnnpack() {
    pin_this_and_others(1);
    must(xnn_initialize(nullptr));
  }

  std::string describe() override { return "XNNPACK " XNNPACK_VERSION; }

  Forward forward(const Network& network, int batch, int threads,
                  std::span<const float> x) override {
    if (network.activation != "relu" && network.activation != "none") return {};
    auto model = std::make_shared<Model>(threads);
    model->results.emplace_back(x.begin(), x.end());
    model->results.back().resize(x.size() + kPadding);
    for (std::size_t l = 0; l < network.weights.size(); ++l)
      model->linear(static_cast<std::size_t>(batch), static_cast<std::size_t>(network.sizes[l]),
                    static_cast<std::size_t>(network.sizes[l + 1]), network.weights[l].data(),
                    network.biases[l].data(), l + 1 < network.weights.size());
    return {[model] { model->run(); }, [model] { return model->results.back().data(); }};
  }
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string&) { return std::make_unique<Xnnpack>(); }

}  // namespace bench
