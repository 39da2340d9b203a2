// ONNX Runtime, in the Node process of onnxruntime/subject.js. Each case becomes an ONNX model with
// the operators of opset 23; ONNX Runtime decides what to fuse.
#include <algorithm>

#include "bench/cpus.h"
#include "bench/foreign.h"
#include "bench/onnx_writer.h"
#include "bench/subject.h"
#include "bench/task.h"

namespace bench {
namespace {

// Whether the CPU adds four products of 8 bits in 32 bits.
bool has_vnni() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512vnni");
#else
  return true;
#endif
}

using Shape = OnnxModel::Shape;

// Appends a function of `x`, named as in FunctionTask; returns its result.
std::string apply(OnnxModel& model, const std::string& name, const std::string& x,
                  const std::string& y, int columns) {
  if (name == "relu") model.node("Relu", {x}, {y});
  if (name == "gelu") model.node("Gelu", {x}, {y});
  if (name == "gelu_tanh") model.node("Gelu", {x}, {y}, {{"approximate", "tanh"}});
  if (name == "sigmoid") model.node("Sigmoid", {x}, {y});
  if (name == "tanh") model.node("Tanh", {x}, {y});
  if (name == "softmax") model.node("Softmax", {x}, {y});
  if (name == "silu") {
    model.node("Sigmoid", {x}, {y + "_sigmoid"});
    model.node("Mul", {x, y + "_sigmoid"}, {y});
  }
  if (name.ends_with("norm")) {
    model.weight("ones", {columns}, std::vector<float>(static_cast<std::size_t>(columns), 1.0f));
    model.node(name == "rms_norm" ? "RMSNormalization" : "LayerNormalization", {x, "ones"}, {y},
               {{"epsilon", 1e-5f}});
  }
  return y;
}

class OnnxRuntime : public Subject {
 public:
  OnnxRuntime()
      : cpus_(allowed_cpus()),
        node_(std::make_shared<Foreign>(
            Process::Options{.name = "Node",
                             .command = {"node", source_path("onnxruntime/subject.js")},
                             .environment = {{"NODE_PATH", node_modules()}},
                             .cpu = cpus_[0]})) {}

  std::string describe() override {
    OnnxModel identity;
    identity.node("Identity", {"x"}, {"y"});
    write(identity, {1, 1}, {1, 1}, "identity.onnx");
    return node_->process().ask("describe " + node_->path("identity.onnx"));
  }

  Forward forward(const Network& network, int batch, int threads,
                  std::span<const float> x) override {
    OnnxModel model;
    std::string at = "x";
    for (std::size_t l = 0; l < network.weights.size(); ++l) {
      const std::int64_t in = network.sizes[l], out = network.sizes[l + 1];
      const std::string number = std::to_string(l);
      const bool last = l + 1 == network.weights.size();
      model.weight("w" + number, {out, in}, network.weights[l]);
      model.weight("b" + number, {out}, network.biases[l]);
      const std::string y = last ? "y" : "linear" + number;
      model.node("Gemm", {at, "w" + number, "b" + number}, {y}, {{"transB", std::int64_t{1}}});
      at = last ? y : apply(model, network.activation, y, "h" + number, network.sizes[l + 1]);
    }
    return load(model, x, batch, network.sizes.front(), network.sizes.back(), threads);
  }

  // As its tool for dynamic quantization writes it, with a scale for each output. Without VNNI, its
  // sums of two products overflow 16 bits, and it advises weights of 7 bits (reduce_range). It has
  // no bf16 products.
  Forward narrow(const Network& network, const std::string& dtype, int batch, int threads,
                 std::span<const float> x) override {
    if (dtype != "i8") return {};
    OnnxModel model;
    std::string at = "x";
    for (std::size_t l = 0; l < network.weights.size(); ++l) {
      const std::int64_t in = network.sizes[l], out = network.sizes[l + 1];
      const std::string n = std::to_string(l);
      const bool last = l + 1 == network.weights.size();
      const Codes codes = codes_of(network, l, has_vnni() ? 127 : 63);
      const std::vector<std::int8_t> weight(codes.values.begin(), codes.values.end());
      model.weight("rows" + n, {out, in}, weight);
      model.node("Transpose", {"rows" + n}, {"w" + n});
      model.weight("scale" + n, {out}, codes.scales);
      model.weight("b" + n, {out}, network.biases[l]);
      model.node("DynamicQuantizeLinear", {at}, {"codes" + n, "step" + n, "zero" + n});
      model.node("MatMulInteger", {"codes" + n, "w" + n, "zero" + n}, {"sums" + n});
      model.node("Cast", {"sums" + n}, {"numbers" + n}, {{"to", std::int64_t{1}}});
      model.node("Mul", {"step" + n, "scale" + n}, {"scales" + n});
      model.node("Mul", {"numbers" + n, "scales" + n}, {"product" + n});
      const std::string y = last ? "y" : "linear" + n;
      model.node("Add", {"product" + n, "b" + n}, {y});
      at = last ? y : apply(model, network.activation, y, "h" + n, network.sizes[l + 1]);
    }
    return load(model, x, batch, network.sizes.front(), network.sizes.back(), threads);
  }

  Forward gated(const Gated& gated, int rows, int threads, std::span<const float> x) override {
    OnnxModel model;
    const auto linear = [&](const std::string& from, const std::string& name, std::int64_t out,
                            std::int64_t in, const std::vector<float>& weight,
                            const std::string& to) {
      model.weight(name, {out, in}, weight);
      model.node("Gemm", {from, name}, {to}, {{"transB", std::int64_t{1}}});
    };
    linear("x", "gate", gated.hidden, gated.width, gated.gate, "g");
    linear("x", "up", gated.hidden, gated.width, gated.up, "u");
    apply(model, "silu", "g", "s", gated.hidden);
    model.node("Mul", {"s", "u"}, {"h"});
    linear("h", "down", gated.width, gated.hidden, gated.down, "y");
    return load(model, x, rows, gated.width, gated.width, threads);
  }

  Forward function(const FunctionTask& task, int threads) override {
    OnnxModel model;
    apply(model, task.name, "x", "y", task.columns);
    return load(model, task.x, task.rows, task.columns, task.columns, threads);
  }

 private:
  Forward load(OnnxModel& model, std::span<const float> x, int rows, int columns, int out,
               int threads) {
    write(model, {rows, columns}, {rows, out}, "model.onnx");
    std::string line =
        "load " + node_->path("model.onnx") + " " + node_->file("x", std::as_bytes(x));
    for (const int n : {rows, columns, threads}) line += " " + std::to_string(n);
    // CPUs of the threads other than the calling one, counted from one.
    for (std::size_t i = 1; i < std::min(cpus_.size(), static_cast<std::size_t>(threads)); ++i)
      line += (i == 1 ? " " : ";") + std::to_string(cpus_[i] + 1);
    auto y = std::make_shared<std::vector<float>>(node_->process().ask_floats(line));
    y->resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(out));
    return {[] {}, [y] { return y->data(); }, Foreign::timing(node_)};
  }

  // Adds x, y and the small result that subject.js reads.
  void write(OnnxModel& model, const Shape& x, const Shape& y, const std::string& name) {
    model.input("x", x);
    model.output("y", y);
    model.weight("one", {1}, std::vector<float>{1});
    model.node("Identity", {"one"}, {"z"});
    model.output("z", {1});
    model.write(node_->path(name));
  }

  std::vector<int> cpus_;
  std::shared_ptr<Foreign> node_;
};

}  // namespace

std::unique_ptr<Subject> make_subject(const std::string&) {
  return std::make_unique<OnnxRuntime>();
}

}  // namespace bench
