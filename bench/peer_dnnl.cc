// oneDNN at its best: weights packed ahead in the layout that it asks for, bias and ReLU fused. The
// variants are its two ways to a linear layer, "matmul" and "inner_product". Forward only: its
// training is a set of primitives without a loss or an optimiser.
#include <omp.h>

#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bench/subject.h"

namespace bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr auto kF32 = memory::data_type::f32;

struct Model {
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };

  explicit Model(bool inner_product) : inner_product(inner_product) {}

  // Appends a linear layer and an activation, which may be ""; returns its output.
  memory linear(const memory& x, const std::vector<float>& weight, const std::vector<float>& bias,
                const std::string& activation) {
    const memory::dim rows = x.get_desc().dims()[0], in = x.get_desc().dims()[1];
    const auto out = static_cast<memory::dim>(bias.size());
    dnnl::primitive_attr attributes;
    if (!activation.empty()) {
      dnnl::post_ops after;
      after.append_eltwise(1.0f,
                           activation == "relu"   ? dnnl::algorithm::eltwise_relu
                           : activation == "tanh" ? dnnl::algorithm::eltwise_tanh
                                                  : dnnl::algorithm::eltwise_gelu_erf,
                           0.0f, 0.0f);
      attributes.set_post_ops(after);
    }
    const memory y({{rows, out}, kF32, Tag::ab}, engine);
    if (inner_product) {
      const dnnl::inner_product_forward::primitive_desc description(
          {dnnl::prop_kind::forward_inference,
           x.get_desc(),
           {{out, in}, kF32, Tag::any},
           {{out}, kF32, Tag::a},
           y.get_desc()},
          attributes, engine);
      add(dnnl::inner_product_forward(description), x, y,
          packed(weight, {{out, in}, kF32, Tag::ab}, description.weights_desc()),
          copied(bias, {{out}, kF32, Tag::a}));
    } else {
      const dnnl::matmul::primitive_desc description(
          {x.get_desc(), {{in, out}, kF32, Tag::any}, {{1, out}, kF32, Tag::ab}, y.get_desc()},
          attributes, engine);
      // (out, in) row-major is (in, out) column-major.
      add(dnnl::matmul(description), x, y,
          packed(weight, {{in, out}, kF32, Tag::ba}, description.weights_desc()),
          copied(bias, {{1, out}, kF32, Tag::ab}));
    }
    return y;
  }

  memory copied(std::span<const float> values, const memory::desc& description) {
    const memory m(description, engine);
    std::memcpy(m.get_data_handle(), values.data(), values.size_bytes());
    return m;
  }

  memory packed(std::span<const float> values, const memory::desc& from, const memory::desc& to) {
    memory plain = copied(values, from);
    memory result(to, engine);
    dnnl::reorder(plain, result).execute(stream, plain, result);
    stream.wait();
    return result;
  }

  void add(const dnnl::primitive& primitive, const memory& x, const memory& y, const memory& weight,
           const memory& bias) {
    steps.push_back({primitive,
                     {{DNNL_ARG_SRC, x},
                      {DNNL_ARG_WEIGHTS, weight},
                      {DNNL_ARG_BIAS, bias},
                      {DNNL_ARG_DST, y}}});
  }

  void run() {
    for (Step& step : steps) step.primitive.execute(stream, step.arguments);
    stream.wait();
  }

  bool inner_product;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<Step> steps;
};

class Dnnl : public Subject {
 public:
  explicit Dnnl(bool inner_product) : inner_product_(inner_product) {}

  std::string describe() override {
    const dnnl_version_t* v = dnnl::version();
    return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch) + (inner_product_ ? ", inner_product" : ", matmul");
  }

  Forward forward(const Network& network, int batch, int threads,
                  std::span<const float> images) override {
    omp_set_num_threads(threads);
    auto model = std::make_shared<Model>(inner_product_);
    memory x = model->copied(images, {{batch, network.sizes[0]}, kF32, Tag::ab});
    for (std::size_t l = 0; l < network.weights.size(); ++l)
      x = model->linear(x, network.weights[l], network.biases[l],
                        l + 1 < network.weights.size() ? network.activation : "");
    return {[model] { model->run(); },
            [x] { return static_cast<const float*>(x.get_data_handle()); }};
  }

 private:
  bool inner_product_;
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string& variant) {
  return std::make_unique<Dnnl>(variant == "inner_product");
}

}  // namespace bench
