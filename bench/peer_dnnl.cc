// oneDNN at its best: weights packed ahead in the layout it asks for; bias, activations and the
// product with a gate are fused. The variants are its two primitives for a linear layer, "matmul"
// and "inner_product". Forward pass only: for training it has primitives, but no loss and no
// optimiser. With bf16 weights it also rounds the inputs of a layer. With i8 weights the inputs
// have constant scales, determined beforehand.
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

dnnl::algorithm algorithm_of(const std::string& function) {
  if (function == "relu") return dnnl::algorithm::eltwise_relu;
  if (function == "gelu") return dnnl::algorithm::eltwise_gelu_erf;
  if (function == "gelu_tanh") return dnnl::algorithm::eltwise_gelu_tanh;
  if (function == "silu") return dnnl::algorithm::eltwise_swish;
  if (function == "sigmoid") return dnnl::algorithm::eltwise_logistic;
  return dnnl::algorithm::eltwise_tanh;
}

// SiLU is swish with the factor 1.
float alpha_of(const std::string& function) { return function == "silu" ? 1.0f : 0.0f; }

struct Model {
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };

  explicit Model(bool inner_product) : inner_product(inner_product) {}

  // Operations on the output of a linear layer.
  struct After {
    std::string activation = "";     // none: ""
    DataType to = kF32;              // the dtype of the output
    std::vector<float> scales = {};  // factors before the activation
    const memory* factor = nullptr;  // an element-wise factor
  };

  // Appends a linear layer; returns its output. `bias` may be empty.
  memory linear(const memory& x, const std::vector<float>& weight, const std::vector<float>& bias,
                const After& after) {
    const DataType from = x.get_desc().data_type();
    const DataType of_weight = from == DataType::u8 ? DataType::s8 : from;
    const memory::dim rows = x.get_desc().dims()[0], in = x.get_desc().dims()[1];
    const memory::dim out = static_cast<memory::dim>(weight.size()) / in;
    dnnl::primitive_attr attributes;
    dnnl::post_ops operations;
    if (!after.activation.empty())
      operations.append_eltwise(1.0f, algorithm_of(after.activation), alpha_of(after.activation),
                                0.0f);
    if (after.factor)
      operations.append_binary(dnnl::algorithm::binary_mul, after.factor->get_desc());
    attributes.set_post_ops(operations);
    if (!after.scales.empty()) attributes.set_output_scales(1 << 1, after.scales);
    const memory y({{rows, out}, after.to, Tag::ab}, engine);
    std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}};
    if (after.factor)
      arguments.insert({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, *after.factor});
    using Forward = dnnl::inner_product_forward;
    constexpr auto kind = dnnl::prop_kind::forward_inference;
    const memory::desc weights(
        {inner_product ? memory::dims{out, in} : memory::dims{in, out}, of_weight, Tag::any});
    const memory::desc biases({inner_product ? memory::dims{out} : memory::dims{1, out}, kF32,
                               inner_product ? Tag::a : Tag::ab});
    if (!bias.empty()) arguments.insert({DNNL_ARG_BIAS, copied(bias, biases)});
    if (inner_product) {
      const Forward::desc layer =
          bias.empty() ? Forward::desc(kind, x.get_desc(), weights, y.get_desc())
                       : Forward::desc(kind, x.get_desc(), weights, biases, y.get_desc());
      const Forward::primitive_desc description(layer, attributes, engine);
      arguments.insert({DNNL_ARG_WEIGHTS,
                        packed(weight, {{out, in}, kF32, Tag::ab}, description.weights_desc())});
      steps.push_back({Forward(description), std::move(arguments)});
    } else {
      const dnnl::matmul::desc layer =
          bias.empty() ? dnnl::matmul::desc(x.get_desc(), weights, y.get_desc())
                       : dnnl::matmul::desc(x.get_desc(), weights, biases, y.get_desc());
      const dnnl::matmul::primitive_desc description(layer, attributes, engine);
      // (out, in) row-major is (in, out) column-major.
      arguments.insert({DNNL_ARG_WEIGHTS,
                        packed(weight, {{in, out}, kF32, Tag::ba}, description.weights_desc())});
      steps.push_back({dnnl::matmul(description), std::move(arguments)});
    }
    return y;
  }

  // Appends a function of each element or of each row; returns its result, a new buffer.
  memory function(const memory& x, const std::string& name) {
    const memory y(x.get_desc(), engine);
    constexpr auto kind = dnnl::prop_kind::forward_inference;
    const auto append = [&](const dnnl::primitive& primitive) {
      steps.push_back({primitive, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}});
    };
    if (name == "softmax")
      append(dnnl::softmax_forward({{kind, x.get_desc(), 1}, engine}));
    else if (name == "layer_norm")
      append(dnnl::layer_normalization_forward(
          {{kind, x.get_desc(), 1e-5f, dnnl::normalization_flags::none}, engine}));
    else
      append(dnnl::eltwise_forward(
          {{kind, algorithm_of(name), x.get_desc(), alpha_of(name), 0.0f}, engine}));
    return y;
  }

  // Appends a conversion from f32, multiplied by a scale.
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
        model.linear(inputs.back(), network.weights[l], network.biases[l], {network.activation}));
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
                        {l + 1 < network.weights.size() ? network.activation : ""});
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

  Forward gated(const Gated& gated, int rows, int threads, std::span<const float> input) override {
    omp_set_num_threads(threads);
    auto model = std::make_shared<Model>(inner_product_);
    const memory x = model->copied(input, {{rows, gated.width}, kF32, Tag::ab});
    const memory gate = model->linear(x, gated.gate, {}, {"silu"});
    const memory h = model->linear(x, gated.up, {}, {"", kF32, {}, &gate});
    const memory y = model->linear(h, gated.down, {}, {});
    return {[model] { model->run(); },
            [y] { return static_cast<const float*>(y.get_data_handle()); }};
  }

  // The same for both variants, so only one of them answers.
  Forward function(const FunctionTask& task, int threads) override {
    if (inner_product_ || task.name == "rms_norm") return {};
    omp_set_num_threads(threads);
    auto model = std::make_shared<Model>(false);
    const memory x = model->copied(task.x, {{task.rows, task.columns}, kF32, Tag::ab});
    const memory y = model->function(x, task.name);
    return {[model] { model->run(); },
            [y] { return static_cast<const float*>(y.get_data_handle()); }};
  }

 private:
  static memory bf16_layers(Model& model, const Network& network, const memory& f32) {
    memory x = model.converted(f32, DataType::bf16);
    for (std::size_t l = 0; l < network.weights.size(); ++l) {
      const bool last = l + 1 == network.weights.size();
      x = model.linear(x, network.weights[l], network.biases[l],
                       {last ? "" : network.activation, last ? kF32 : DataType::bf16});
    }
    return x;
  }

  // Outputs of a ReLU get 255 steps; the input and each row of a weight get 127 on either side of
  // 0.
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
      x = model.linear(x, codes.values, bias,
                       {last ? "" : network.activation, last ? kF32 : DataType::u8, codes.scales});
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
