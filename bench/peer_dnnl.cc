// oneDNN at its best: weights packed ahead in the layout that it asks for, bias and ReLU fused. The
// variants are its two ways to a linear layer, "matmul" and "inner_product". Forward only: its
// training is a set of primitives without a loss or an optimiser. In bf16 it has the inputs of a
// layer rounded as well; with weights of i8 their scales are constants, found beforehand.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bench/subject.h"
#include "bench/task.h"

namespace bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

using DataType = memory::data_type;
constexpr auto kF32 = DataType::f32;

struct Model {
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };

  explicit Model(bool inner_product) : inner_product(inner_product) {}

  // Appends a linear layer and an activation, which may be ""; returns its output, which has been
  // multiplied by the scales, if there are any, before the activation.
  memory linear(const memory& x, const std::vector<float>& weight, const std::vector<float>& bias,
                const std::string& activation, DataType to = kF32,
                const std::vector<float>& scales = {}) {
    const DataType from = x.get_desc().data_type();
    const DataType of_weight = from == DataType::u8 ? DataType::s8 : from;
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
    if (!scales.empty()) attributes.set_output_scales(1 << 1, scales);
    const memory y({{rows, out}, to, Tag::ab}, engine);
    if (inner_product) {
      const dnnl::inner_product_forward::primitive_desc description(
          {dnnl::prop_kind::forward_inference,
           x.get_desc(),
           {{out, in}, of_weight, Tag::any},
           {{out}, kF32, Tag::a},
           y.get_desc()},
          attributes, engine);
      add(dnnl::inner_product_forward(description), x, y,
          packed(weight, {{out, in}, kF32, Tag::ab}, description.weights_desc()),
          copied(bias, {{out}, kF32, Tag::a}));
    } else {
      const dnnl::matmul::primitive_desc description(
          {x.get_desc(), {{in, out}, of_weight, Tag::any}, {{1, out}, kF32, Tag::ab}, y.get_desc()},
          attributes, engine);
      // (out, in) row-major is (in, out) column-major.
      add(dnnl::matmul(description), x, y,
          packed(weight, {{in, out}, kF32, Tag::ba}, description.weights_desc()),
          copied(bias, {{1, out}, kF32, Tag::ab}));
    }
    return y;
  }

  // Appends a conversion of f32 times a scale.
  memory converted(const memory& x, DataType to, float scale = 1) {
    dnnl::primitive_attr attributes;
    attributes.set_output_scales(0, {scale});
    const memory y({x.get_desc().dims(), to, Tag::ab}, engine);
    const dnnl::reorder::primitive_desc description(x, y, attributes);
    steps.push_back({dnnl::reorder(description), {{DNNL_ARG_FROM, x}, {DNNL_ARG_TO, y}}});
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

// The largest magnitude in the inputs of each layer.
std::vector<float> largest_inputs(const Network& network, int batch, std::span<const float> x) {
  Model model(false);
  std::vector<memory> inputs{model.copied(x, {{batch, network.sizes[0]}, kF32, Tag::ab})};
  for (std::size_t l = 0; l + 1 < network.weights.size(); ++l)
    inputs.push_back(
        model.linear(inputs.back(), network.weights[l], network.biases[l], network.activation));
  model.run();
  std::vector<float> largest;
  for (const memory& m : inputs) {
    const auto* const from = static_cast<const float*>(m.get_data_handle());
    float most = 0;
    for (const float v : std::span(from, m.get_desc().get_size() / sizeof(float)))
      most = std::max(most, std::abs(v));
    largest.push_back(most);
  }
  return largest;
}

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

  Forward narrow(const Network& network, const std::string& dtype, int batch, int threads,
                 std::span<const float> images) override {
    omp_set_num_threads(threads);
    auto model = std::make_shared<Model>(inner_product_);
    const memory f32 = model->copied(images, {{batch, network.sizes[0]}, kF32, Tag::ab});
    const memory y = dtype == "bf16"
                         ? bf16_layers(*model, network, f32)
                         : i8_layers(*model, network, f32, largest_inputs(network, batch, images));
    return {[model] { model->run(); },
            [y] { return static_cast<const float*>(y.get_data_handle()); }};
  }

 private:
  static memory bf16_layers(Model& model, const Network& network, const memory& f32) {
    memory x = model.converted(f32, DataType::bf16);
    for (std::size_t l = 0; l < network.weights.size(); ++l) {
      const bool last = l + 1 == network.weights.size();
      x = model.linear(x, network.weights[l], network.biases[l], last ? "" : network.activation,
                       last ? kF32 : DataType::bf16);
    }
    return x;
  }

  // What is behind a ReLU has 255 steps, the input and every row of a weight have 127 to each side.
  static memory i8_layers(Model& model, const Network& network, const memory& f32,
                          const std::vector<float>& largest) {
    float of_input = largest[0] / 127;
    memory x = model.converted(f32, DataType::s8, 1 / of_input);
    for (std::size_t l = 0; l < network.weights.size(); ++l) {
      const bool last = l + 1 == network.weights.size();
      const float of_output = last ? 1 : largest[l + 1] / 255;
      Codes codes = codes_of(network, l);
      std::vector<float> bias = network.biases[l];
      for (std::size_t o = 0; o < bias.size(); ++o) {
        bias[o] /= of_input * codes.scales[o];
        codes.scales[o] *= of_input / of_output;
      }
      x = model.linear(x, codes.values, bias, last ? "" : network.activation,
                       last ? kF32 : DataType::u8, codes.scales);
      of_input = of_output;
    }
    return x;
  }

  bool inner_product_;
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string& variant) {
  return std::make_unique<Dnnl>(variant == "inner_product");
}

}  // namespace bench
