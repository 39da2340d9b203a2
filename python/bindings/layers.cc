// Layers, models and optimisers of limpid/nn and limpid/optim. The package's Python has a class
// with the hyper-parameters of each; what they do is done here. Depends on function.h.
#include <pybind11/stl.h>

#include <cmath>
#include <functional>
#include <optional>

#include "function.h"
#include "limpid/nn/attention.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/cnn.h"
#include "limpid/nn/conv.h"
#include "limpid/nn/dropout.h"
#include "limpid/nn/embedding.h"
#include "limpid/nn/feed_forward.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/linear.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/norm.h"
#include "limpid/nn/perceptron.h"
#include "limpid/nn/picture.h"
#include "limpid/nn/pool.h"
#include "limpid/nn/recurrent.h"
#include "limpid/nn/recurrent_net.h"
#include "limpid/nn/rotary.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/optim/clip.h"
#include "limpid/optim/optimizer.h"
#include "limpid/optim/schedule.h"
#include "lock.h"
#include "signals.h"

namespace limpid::python {
namespace {

// The parts of a layer that Python calls. What is missing the layer does not have.
struct Layer {
  std::function<Params(Key)> init;
  std::function<Params()> init_state;
  std::function<Value(const Args&, std::span<const Value>, std::optional<Value>)> call;
  // With state: the result and the next state.
  std::function<std::pair<Value, Args>(const Args&, const Args&, Value, std::optional<Value>)>
      training;
  // A recurrent layer or cell: x, then h, c and lengths, or no Values; the result, then h and c.
  std::function<std::vector<Value>(const Args&, std::span<const Value>, std::optional<Value>)> run;
  std::function<Function()> function;
  std::function<std::string()> config;
};

// Whether its call takes a key, too.
template <class L>
constexpr bool kTakesKey = requires(const L& l, const Args& p, Value x, std::optional<Value> key) {
  l(p, x, key);
};

Builder& written() {
  Builder* const builder = under_way();
  if (!builder) throw py::value_error("a layer: no Function is under way");
  return *builder;
}

// What the struct of a layer can do, whatever it is.
template <class L>
Layer layer_of(const L& layer) {
  Layer made;
  if constexpr (requires { layer.init(Key(0)); })
    made.init = [layer](Key key) { return layer.init(key); };
  else if constexpr (requires { layer.init(); })
    made.init = [layer](Key) { return layer.init(); };
  if constexpr (requires { layer.init_state(); })
    made.init_state = [layer] { return layer.init_state(); };
  if constexpr (requires(const Args& p, Value x) { layer.attend(p, x, x, AttentionOptions()); })
    // x; x, memory; x, memory, mask.
    made.call = [layer](const Args& p, std::span<const Value> x, std::optional<Value>) {
      if (x.size() == 1) return layer(p, x[0]);
      return layer.attend(p, x[0], x[1],
                          {.causal = layer.causal, .mask = x.size() > 2 ? x[2] : Value()});
    };
  else if constexpr (requires(const Args& p, Value x) { layer.inference(p, p, x); })
    // At inference the running statistics are among the parameters.
    made.call = [layer](const Args& p, std::span<const Value> x, std::optional<Value>) {
      return layer.inference(p, p, x[0]);
    };
  else if constexpr (requires(const Args& p, Value x) { layer(p, x, nn::HiddenState()).c; })
    made.run = [layer](const Args& p, std::span<const Value> x, std::optional<Value>) {
      const nn::HiddenState next = layer(p, x[0], {x[1], x[2]});
      return std::vector<Value>{next.h, next.c};
    };
  else if constexpr (requires(const Args& p, Value x) { layer(p, x, Value()); } && !kTakesKey<L>)
    made.run = [layer](const Args& p, std::span<const Value> x, std::optional<Value>) {
      return std::vector<Value>{layer(p, x[0], x[1])};
    };
  else if constexpr (kTakesKey<L>)
    made.call = [layer](const Args& p, std::span<const Value> x, std::optional<Value> key) {
      return layer(p, x[0], key);
    };
  else
    made.call = [layer](const Args& p, std::span<const Value> x, std::optional<Value>) {
      return layer(p, x[0]);
    };
  if constexpr (requires(const Args& p, Value x) { layer.run(p, x, nn::RecurrentInputs()); })
    made.run = [layer](const Args& p, std::span<const Value> x, std::optional<Value> key) {
      const nn::Recurred all =
          layer.run(p, x[0], {.state = {x[1], x[2]}, .lengths = x[3], .key = key});
      std::vector<Value> results{all.y, all.state.h};
      if (all.state.c) results.push_back(all.state.c);
      return results;
    };
  if constexpr (requires(const Args& p, Value x) { layer(p, p, x).state; })
    made.training = [layer](const Args& p, const Args& s, Value x, std::optional<Value>) {
      const auto r = layer(p, s, x);
      return std::pair{r.y, r.state};
    };
  return made;
}
template <class Model>
Layer model(Model net) {
  Layer made = layer_of(net);
  made.function = [net] { return net.function(); };
  made.config = [net] { return net.config(); };
  return made;
}

using Activate = Value (*)(Value);
using Gate = Value (*)(Value, Value);

constexpr std::pair<const char*, Gate> kGates[] = {
    {"swiglu", swiglu}, {"geglu", geglu}, {"glu", glu}};

// A member of a layer's struct from Python, and to Python.
template <class T>
void take(T& member, const py::object& given) {
  if constexpr (std::is_same_v<T, Activate>) {
    member = nn::activation_from_name(py::cast<std::string>(given)).apply;
  } else if constexpr (std::is_same_v<T, Gate>) {
    const std::string name = py::cast<std::string>(given);
    for (const auto& [known, gate] : kGates)
      if (name == known) return void(member = gate);
    throw Error(ErrorCode::kNotFound, "gate: expected swiglu, geglu or glu, not '" + name + "'");
  } else if constexpr (std::is_same_v<T, nn::Padding>) {
    using Kind = nn::Padding::Kind;
    if (!py::isinstance<py::str>(given)) return take(member.zeros, given);
    const std::string name = py::cast<std::string>(given);
    if (name != "same" && name != "valid" && name != "causal")
      throw Error(ErrorCode::kInvalidArgument,
                  "padding: expected numbers, same, valid or causal, not '" + name + "'");
    member.kind = name == "same" ? Kind::kSame : name == "causal" ? Kind::kCausal : Kind::kZeros;
  } else if constexpr (std::is_same_v<T, nn::Spatial>) {
    if (py::isinstance<py::int_>(given))
      member = {py::cast<std::int64_t>(given)};
    else
      member = given.is_none() ? T() : py::cast<T>(given);
  } else {
    member = py::cast<T>(given);
  }
}
// What no layer has: a negative size, and a number that is none. Dimensions may count from the end.
template <class T>
void require_in_range(const T& member, const std::string& where) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (member < 0 && !where.ends_with("_dim"))
      throw py::value_error(where + ": expected 0 or more, got " + std::to_string(member));
  } else if constexpr (std::is_same_v<T, double>) {
    if (!std::isfinite(member)) throw py::value_error(where + ": expected a finite number");
  }
}
template <class T>
py::object shown(const T& member) {
  if constexpr (std::is_same_v<T, Activate>) {
    return py::str(std::string(nn::activation_of(member).name));
  } else if constexpr (std::is_same_v<T, Gate>) {
    for (const auto& [known, gate] : kGates)
      if (member == gate) return py::str(known);
    return py::none();
  } else if constexpr (std::is_same_v<T, nn::Padding>) {
    return shown(member.zeros);
  } else if constexpr (std::is_same_v<T, nn::Spatial>) {
    if (member.size() == 1) return py::int_(member[0]);
    return py::tuple(py::cast(member));
  } else {
    return py::cast(member);
  }
}

// An argument of a layer's class in Python: a member of its struct. What is not required has the
// struct's default.
template <class L>
struct Argument {
  const char* name;
  std::variant<std::int64_t L::*, double L::*, bool L::*, nn::Init L::*, Activate L::*, Gate L::*,
               nn::Spatial L::*, nn::Padding L::*, std::string L::*>
      member;
  bool required = false;
};
constexpr bool kRequired = true;

// The type of an argument, as Python names it.
template <class Member>
std::string kind_of(const Member& member) {
  constexpr const char* kKinds[] = {"int",
                                    "float",
                                    "bool",
                                    "Init",
                                    "str",
                                    "str",
                                    "Union[None, int, Sequence[int]]",
                                    "Union[int, Sequence[int], str]",
                                    "str"};
  return kKinds[member.index()];
}

// A layer that Python has: its class is made from this by `./dev docs`.
struct LayerRow {
  const char* name;
  const char* about;
  bool takes_key;
  std::function<py::list()> arguments;  // name, type, and the default or None
  std::function<Layer(const py::dict&)> make;
};

template <class L>
LayerRow row(const char* name, const char* about, std::vector<Argument<L>> arguments) {
  LayerRow made{name, about, kTakesKey<L>, {}, {}};
  made.arguments = [arguments] {
    const L usual;
    py::list all;
    for (const Argument<L>& a : arguments)
      std::visit(
          [&](auto member) {
            const py::object value = shown(usual.*member);
            all.append(py::make_tuple(a.name, kind_of(a.member),
                                      a.required ? py::object(py::none()) : value));
          },
          a.member);
    return all;
  };
  made.make = [name, arguments](const py::dict& given) {
    L layer;
    for (const Argument<L>& a : arguments) {
      const py::object value = given[a.name];
      try {
        std::visit(
            [&](auto member) {
              take(layer.*member, value);
              require_in_range(layer.*member, std::string(name) + ": " + a.name);
            },
            a.member);
      } catch (const py::cast_error&) {
        const std::string text = py::cast<std::string>(py::repr(value));
        throw_type(std::string(name) + ": " + a.name + ": expected " + kind_of(a.member) +
                   ", got " + (text.size() > 60 ? type_name(value) : text));
      }
    }
    return layer_of(layer);
  };
  return made;
}  // namespace limpid::python

template <std::size_t rank>
LayerRow conv_row(const char* name, const char* about) {
  using L = nn::Conv<rank>;
  return row<L>(name, about,
                {{"in_channels", &L::in, kRequired},
                 {"out_channels", &L::out, kRequired},
                 {"kernel_size", &L::kernel, kRequired},
                 {"stride", &L::stride},
                 {"padding", &L::padding},
                 {"dilation", &L::dilation},
                 {"groups", &L::groups},
                 {"bias", &L::bias},
                 {"weight_init", &L::weight_init}});
}
template <std::size_t rank>
LayerRow conv_transpose_row(const char* name, const char* about) {
  using L = nn::ConvTranspose<rank>;
  return row<L>(name, about,
                {{"in_channels", &L::in, kRequired},
                 {"out_channels", &L::out, kRequired},
                 {"kernel_size", &L::kernel, kRequired},
                 {"stride", &L::stride},
                 {"padding", &L::padding},
                 {"output_padding", &L::output_padding},
                 {"groups", &L::groups},
                 {"bias", &L::bias},
                 {"dilation", &L::dilation},
                 {"weight_init", &L::weight_init}});
}

// Those of pooling, for 1 to 3 dimensions.
template <template <int> class L, int dims>
void add_windows(std::vector<LayerRow>& rows, const char* name, const char* about) {
  std::vector<Argument<L<dims>>> arguments;
  if constexpr (requires(L<dims> l) { l.norm_type; })
    arguments.push_back({"norm_type", &L<dims>::norm_type, kRequired});
  arguments.push_back({"kernel_size", &L<dims>::kernel_size, kRequired});
  arguments.push_back({"stride", &L<dims>::stride});
  if constexpr (requires(L<dims> l) { l.padding; })
    arguments.push_back({"padding", &L<dims>::padding});
  if constexpr (requires(L<dims> l) { l.dilation; })
    arguments.push_back({"dilation", &L<dims>::dilation});
  arguments.push_back({"ceil_mode", &L<dims>::ceil_mode});
  if constexpr (requires(L<dims> l) { l.count_include_pad; })
    arguments.push_back({"count_include_pad", &L<dims>::count_include_pad});
  rows.push_back(row<L<dims>>(name, about, arguments));
}
template <template <int> class L>
void add_windows(std::vector<LayerRow>& rows, const std::array<const char*, 3>& names,
                 const char* about) {
  add_windows<L, 1>(rows, names[0], about);
  add_windows<L, 2>(rows, names[1], about);
  add_windows<L, 3>(rows, names[2], about);
}
template <template <int> class L>
void add_adaptive(std::vector<LayerRow>& rows, const std::array<const char*, 3>& names,
                  const char* about) {
  const auto add = [&]<int dims>(std::integral_constant<int, dims>) {
    rows.push_back(
        row<L<dims>>(names[dims - 1], about, {{"output_size", &L<dims>::output_size, kRequired}}));
  };
  add(std::integral_constant<int, 1>());
  add(std::integral_constant<int, 2>());
  add(std::integral_constant<int, 3>());
}
void add_pooling(std::vector<LayerRow>& rows) {
  add_windows<nn::MaxPool>(rows, {"MaxPool1d", "MaxPool2d", "MaxPool3d"},
                           "The largest element of each window of x (N, C, ...).");
  add_windows<nn::AvgPool>(rows, {"AvgPool1d", "AvgPool2d", "AvgPool3d"},
                           "The mean of each window of x (N, C, ...).");
  add_windows<nn::LpPool>(rows, {"LPPool1d", "LPPool2d", "LPPool3d"},
                          "(sum of |x|^norm_type)^(1/norm_type) of each window of x (N, C, ...).");
  add_adaptive<nn::AdaptiveAvgPool>(
      rows, {"AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"},
      "The means of windows of x (N, C, ...) that give a result of this size.");
  add_adaptive<nn::AdaptiveMaxPool>(
      rows, {"AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d"},
      "The largest elements of windows of x (N, C, ...) that give a result of this size.");
}

template <class L>
LayerRow recurrent_row(const char* name, const char* about) {
  std::vector<Argument<L>> arguments{{"input_size", &L::input, kRequired},
                                     {"hidden_size", &L::hidden, kRequired},
                                     {"num_layers", &L::layers}};
  if constexpr (requires(L l) { l.nonlinearity; })
    arguments.push_back({"nonlinearity", &L::nonlinearity});
  arguments.push_back({"bias", &L::bias});
  arguments.push_back({"dropout", &L::dropout});
  arguments.push_back({"bidirectional", &L::bidirectional});
  return row<L>(name, about, arguments);
}
template <class L>
LayerRow cell_row(const char* name, const char* about) {
  std::vector<Argument<L>> arguments{{"input_size", &L::input, kRequired},
                                     {"hidden_size", &L::hidden, kRequired},
                                     {"bias", &L::bias}};
  if constexpr (requires(L l) { l.nonlinearity; })
    arguments.push_back({"nonlinearity", &L::nonlinearity});
  return row<L>(name, about, arguments);
}
void add_recurrent(std::vector<LayerRow>& rows) {
  rows.push_back(recurrent_row<nn::RNN>(
      "RNN",
      "h' = f(w_ih x + b_ih + w_hh h + b_hh) for each step of x (T, input_size) or (N, T, "
      "input_size).\n\n"
      "With PyTorch's parameters; f is tanh or relu. A call starts from zeros; `run` takes and "
      "gives the state."));
  rows.push_back(recurrent_row<nn::LSTM>(
      "LSTM",
      "Long short-term memory (Hochreiter and Schmidhuber 1997) for each step of x (T, input_size) "
      "or (N, T, input_size).\n\n"
      "With PyTorch's parameters and order of gates. A call starts from zeros; `run` takes and "
      "gives the state."));
  rows.push_back(recurrent_row<nn::GRU>(
      "GRU",
      "Gated recurrent units (Cho et al. 2014) for each step of x (T, input_size) or (N, T, "
      "input_size).\n\n"
      "With PyTorch's parameters and order of gates. A call starts from zeros; `run` takes and "
      "gives the state."));
  rows.push_back(cell_row<nn::RNNCell>(
      "RNNCell",
      "One step of an RNN: x (..., input_size) and h (..., hidden_size) to the next h."));
  rows.push_back(cell_row<nn::LSTMCell>(
      "LSTMCell", "One step of an LSTM: x (..., input_size) and (h, c) to the next (h, c)."));
  rows.push_back(cell_row<nn::GRUCell>(
      "GRUCell", "One step of a GRU: x (..., input_size) and h (..., hidden_size) to the next h."));
}

// The layers whose arguments are the members of a struct. A new one has its row here, and its class
// in Python follows.
std::vector<LayerRow> make_layer_rows() {
  using namespace nn;
  std::vector<LayerRow> rows{
      row<Linear>("Linear", "y = x weight^T + bias, on the last dimension.",
                  {{"in_features", &Linear::in, kRequired},
                   {"out_features", &Linear::out, kRequired},
                   {"bias", &Linear::bias},
                   {"weight_init", &Linear::weight_init}}),
      conv_row<1>("Conv1d",
                  "A convolution over one dimension: x (N, in_channels, size), as PyTorch's.\n\n"
                  "Padding is zeros on both sides, or \"same\", \"valid\" or \"causal\"."),
      conv_row<2>("Conv2d", "As Conv1d, over two dimensions: x (N, in_channels, height, width)."),
      conv_row<3>("Conv3d",
                  "As Conv1d, over three dimensions: x (N, in_channels, depth, height, width)."),
      conv_transpose_row<1>("ConvTranspose1d",
                            "The adjoint of a convolution over one dimension, as PyTorch's."),
      conv_transpose_row<2>("ConvTranspose2d",
                            "The adjoint of a convolution over two dimensions, as PyTorch's."),
      conv_transpose_row<3>("ConvTranspose3d",
                            "The adjoint of a convolution over three dimensions, as PyTorch's."),
      row<Embedding>(
          "Embedding",
          "A row of a table for every id; negative ids count from the end. An id outside is an "
          "IndexError, and NaN in traced code.",
          {{"count", &Embedding::count, kRequired},
           {"features", &Embedding::features, kRequired},
           {"weight_init", &Embedding::weight_init}}),
      row<Dropout>("Dropout", "Inverted dropout by a key; without one, at inference, the identity.",
                   {{"rate", &Dropout::rate}}),
      row<Dropout2d>("Dropout2d",
                     "Dropout of whole channels of x (N, C, ...) (Tompson et al. 2015).",
                     {{"rate", &Dropout2d::rate}}),
      row<LayerNorm>("LayerNorm", "Over the last dimension (Ba et al. 2016).",
                     {{"features", &LayerNorm::features, kRequired},
                      {"eps", &LayerNorm::eps},
                      {"bias", &LayerNorm::bias}}),
      row<RmsNorm>(
          "RmsNorm",
          "Over the last dimension, without subtracting the mean (Zhang and Sennrich 2019).",
          {{"features", &RmsNorm::features, kRequired}, {"eps", &RmsNorm::eps}}),
      row<GroupNorm>("GroupNorm", "x (N, channels, ...), over groups of channels (Wu and He 2018).",
                     {{"groups", &GroupNorm::groups, kRequired},
                      {"channels", &GroupNorm::channels, kRequired},
                      {"eps", &GroupNorm::eps}}),
      row<InstanceNorm>("InstanceNorm",
                        "x (N, features, ...), over each channel of each example (Ulyanov et al. "
                        "2016).",
                        {{"features", &InstanceNorm::features, kRequired},
                         {"eps", &InstanceNorm::eps},
                         {"affine", &InstanceNorm::affine}}),
      row<LocalResponseNorm>("LocalResponseNorm",
                             "x / (k + alpha / size * the sum of squares of `size` channels)^beta "
                             "(Krizhevsky et al. 2012).",
                             {{"size", &LocalResponseNorm::size, kRequired},
                              {"alpha", &LocalResponseNorm::alpha},
                              {"beta", &LocalResponseNorm::beta},
                              {"k", &LocalResponseNorm::k}}),
      row<Flatten>("Flatten", "The dimensions from one to another as one.",
                   {{"start_dim", &Flatten::start_dim}, {"end_dim", &Flatten::end_dim}}),
      row<Upsample>("Upsample", "x (N, C, ...) with another size, by interpolation.",
                    {{"size", &Upsample::size},
                     {"scale_factor", &Upsample::scale_factor},
                     {"mode", &Upsample::mode},
                     {"align_corners", &Upsample::align_corners}}),
      row<PixelShuffle>("PixelShuffle", "(N, C r^2, H, W) to (N, C, H r, W r).",
                        {{"upscale_factor", &PixelShuffle::upscale_factor, kRequired}}),
      row<PixelUnshuffle>("PixelUnshuffle", "(N, C, H r, W r) to (N, C r^2, H, W).",
                          {{"downscale_factor", &PixelUnshuffle::downscale_factor, kRequired}}),
      row<BatchNorm>("BatchNorm",
                     "x (N, features, ...), over everything but the features (Ioffe and Szegedy "
                     "2015).\n\n"
                     "The running statistics are state, which goes in and comes out: `training`. A "
                     "call, at inference, finds\n"
                     "them among the parameters.",
                     {{"features", &BatchNorm::features, kRequired},
                      {"momentum", &BatchNorm::momentum},
                      {"eps", &BatchNorm::eps}}),
      row<MultiHeadAttention>("MultiHeadAttention",
                              "Attention between heads of one sequence, or from one to another "
                              "(Vaswani et al. 2017).",
                              {{"features", &MultiHeadAttention::features, kRequired},
                               {"heads", &MultiHeadAttention::heads},
                               {"kv_heads", &MultiHeadAttention::kv_heads},
                               {"causal", &MultiHeadAttention::causal},
                               {"bias", &MultiHeadAttention::bias},
                               {"in_init", &MultiHeadAttention::in_init},
                               {"out_init", &MultiHeadAttention::out_init}}),
      row<FeedForward>("FeedForward",
                       "linear2(dropout(activation(linear1(x)))), named as in PyTorch's "
                       "TransformerEncoderLayer.",
                       {{"features", &FeedForward::features, kRequired},
                        {"hidden", &FeedForward::hidden, kRequired},
                        {"activation", &FeedForward::activation},
                        {"dropout", &FeedForward::dropout},
                        {"weight_init", &FeedForward::weight_init}}),
      row<GatedFeedForward>("GatedFeedForward",
                            "down_proj(gate(gate_proj(x), up_proj(x))), named as in Llama.",
                            {{"features", &GatedFeedForward::features, kRequired},
                             {"hidden", &GatedFeedForward::hidden, kRequired},
                             {"gate", &GatedFeedForward::gate},
                             {"bias", &GatedFeedForward::bias},
                             {"weight_init", &GatedFeedForward::weight_init}}),
      row<Perceptron>(
          "Perceptron",
          "Rosenblatt's perceptron: one neuron that answers 0 or 1, and the rule by which it "
          "learns.",
          {{"inputs", &Perceptron::inputs, kRequired}}),
  };
  add_pooling(rows);
  add_recurrent(rows);
  return rows;
}
const std::vector<LayerRow>& layer_rows() {
  static const std::vector<LayerRow> rows = make_layer_rows();
  return rows;
}

// A network with running statistics.
template <class Net>
Layer network_with_state(const Net& net) {
  Layer made = model(net);
  made.init_state = [net] { return net.init_state(); };
  made.training = [net](const Args& p, const Args& s, Value x, std::optional<Value> key) {
    if (!key) throw py::type_error("training: expected a key");
    auto t = net.training(p, s, x, *key);
    return std::pair{t.logits, t.state};
  };
  return made;
}

void add_inits(py::module_& m) {
  py::class_<nn::Init>(m, "Init", py::is_final(),
                       "How the first values of a weight are drawn from a key.")
      .def(
          "__call__",
          [](const nn::Init& init, const Key& key, const py::object& shape) {
            return to_python(init(key, shape_from(shape)));
          },
          py::arg("key"), py::arg("shape"),
          "f32 of the shape, the same for the same key on every machine.")
      .def("__reduce__",
           [](const nn::Init& i) {
             return py::make_tuple(py::module_::import("limpid.nn").attr("_init_of"),
                                   py::make_tuple(static_cast<int>(i.scheme), i.scale));
           })
      .def("__hash__",
           [](const nn::Init& i) {
             return py::hash(py::make_tuple(static_cast<int>(i.scheme), i.scale));
           })
      .def("__repr__",
           [](const nn::Init& i) {
             return "limpid.nn.Init(scheme " + std::to_string(static_cast<int>(i.scheme)) +
                    ", scale " + std::to_string(i.scale) + ")";
           })
      .def("__eq__", [](const nn::Init& a, const py::object& b) {
        if (!py::isinstance<nn::Init>(b)) return false;
        const nn::Init& other = py::cast<const nn::Init&>(b);
        return a.scheme == other.scheme && a.scale == other.scale;
      });
  m.def("init_of", [](int scheme, double scale) {
    if (scheme < 0 || scheme > static_cast<int>(nn::Init::Scheme::kOrthogonal))
      throw py::value_error("Init: there is no such scheme");
    return nn::Init{static_cast<nn::Init::Scheme>(scheme), scale};
  });
  m.def("init_scheme", [](const std::string& name, double number) -> nn::Init {
    if (name == "zeros") return nn::zeros();
    if (name == "constant") return nn::constant(number);
    if (name == "normal") return nn::normal(number);
    if (name == "truncated_normal") return nn::truncated_normal(number);
    if (name == "xavier_uniform") return nn::xavier_uniform(number);
    if (name == "xavier_normal") return nn::xavier_normal(number);
    if (name == "kaiming_uniform") return nn::kaiming_uniform(number);
    if (name == "kaiming_normal") return nn::kaiming_normal(number);
    if (name == "lecun_uniform") return nn::lecun_uniform();
    if (name == "lecun_normal") return nn::lecun_normal();
    if (name == "orthogonal") return nn::orthogonal(number);
    return nn::init_from_name(name, number);
  });
  m.def("depth_scaled_normal", &nn::depth_scaled_normal);
}

}  // namespace

void add_layers(py::module_& m) {
  add_inits(m);
  py::class_<Layer>(m, "Layer", py::is_final(), "What a layer of limpid.nn does.")
      .def("init",
           [](const Layer& layer, const Key& key) {
             if (!layer.init) return to_python(Params());
             return to_python(unlocked([&] { return layer.init(key); }));
           })
      .def("init_state",
           [](const Layer& layer) {
             return to_python(layer.init_state ? layer.init_state() : Params());
           })
      .def("call",
           [](const Layer& layer, const py::object& params, const py::sequence& inputs,
              const py::object& key) {
             Builder& b = written();
             const Args args = args_from(b, params, "params");
             std::vector<Value> values;
             for (const py::object& x : items_of(inputs))
               values.push_back(value_in(b, x, "a layer's input"));
             return to_python(
                 layer.call(args, values,
                            key.is_none() ? std::nullopt : std::optional(value_in(b, key, "key"))));
           })
      .def("run",
           [](const Layer& layer, const py::object& params, const py::sequence& inputs,
              const py::object& key) {
             Builder& b = written();
             const Args args = args_from(b, params, "params");
             std::vector<Value> values;
             for (const py::object& x : items_of(inputs))
               values.push_back(x.is_none() ? Value() : value_in(b, x, "a layer's input"));
             py::list results;
             for (const Value& v :
                  layer.run(args, values,
                            key.is_none() ? std::nullopt : std::optional(value_in(b, key, "key"))))
               results.append(to_python(v));
             return results;
           })
      .def("training",
           [](const Layer& layer, const py::object& params, const py::object& state,
              const py::object& x, const py::object& key) {
             Builder& b = written();
             const auto [y, next] = layer.training(
                 args_from(b, params, "params"), args_from(b, state, "state"),
                 value_in(b, x, "a layer's input"),
                 key.is_none() ? std::nullopt : std::optional(value_in(b, key, "key")));
             return py::make_tuple(to_python(y), to_python(next));
           })
      .def("function", [](const Layer& layer) { return to_python(layer.function()); })
      .def("config", [](const Layer& layer) { return layer.config(); });

  m.def("layers", [] {
    py::list all;
    for (const LayerRow& r : layer_rows())
      all.append(py::make_tuple(r.name, r.about, r.takes_key, r.arguments()));
    return all;
  });
  m.def("layer", [](const std::string& name, const py::dict& given) {
    for (const LayerRow& r : layer_rows())
      if (name == r.name) return r.make(given);
    throw Error(ErrorCode::kNotFound, "there is no layer '" + name + "'");
  });
  m.def("mlp_layer",
        [](const std::string& config) { return network_with_state(nn::Mlp::from_config(config)); });
  m.def("cnn_layer",
        [](const std::string& config) { return network_with_state(nn::Cnn::from_config(config)); });
  m.def("recurrent_net_layer",
        [](const std::string& config) { return model(nn::RecurrentNet::from_config(config)); });
  m.def("recurrent_lm_layer",
        [](const std::string& config) { return model(nn::RecurrentLm::from_config(config)); });
  m.def("recurrent_lm_function", [](const std::string& config, std::int64_t length) {
    return to_python(nn::RecurrentLm::from_config(config).function(length));
  });
  m.def("char_lm_layer",
        [](const std::string& config) { return model(nn::CharLm::from_config(config)); });
  m.def("gpt_layer", [](const std::string& config) { return model(nn::Gpt::from_config(config)); });
  m.def("gpt_function", [](const std::string& config, std::int64_t length) {
    return to_python(nn::Gpt::from_config(config).function(length));
  });
  m.def("gpt_usual", [](const std::string& like) {
    const nn::Gpt g = like == "gpt2"    ? nn::gpt2_shaped()
                      : like == "llama" ? nn::llama_shaped()
                                        : nn::Gpt();
    py::dict d;
    d["norm"] = std::string(nn::name(g.norm));
    d["feed_forward"] = std::string(nn::name(g.feed_forward));
    d["positions"] = std::string(nn::name(g.positions));
    d["bias"] = g.bias;
    d["tied"] = g.tied;
    return d;
  });
  m.def("perceptron_learn", [](std::int64_t inputs, const py::object& params, const py::object& x,
                               const py::object& target, double rate) {
    Builder& b = written();
    return to_python(nn::Perceptron{inputs}.learn(
        args_from(b, params, "params"), value_in(b, x, "x"), value_in(b, target, "target"), rate));
  });
  m.def("train_perceptron", [](std::int64_t inputs, const py::object& x, const py::object& targets,
                               std::int64_t epochs, double rate) {
    const Tensor examples = tensor_of(leaf_of(x, "x")),
                 wanted = tensor_of(leaf_of(targets, "targets"));
    const nn::PerceptronRun run = interruptible_between([&](const std::function<void()>& between) {
      return nn::train_perceptron(nn::Perceptron{inputs}, examples, wanted, epochs, rate, between);
    });
    py::list params;
    for (const Params& p : run.params) params.append(to_python(p));
    return py::make_tuple(params, run.mistakes);
  });
  m.def("rotary_frequencies", [](std::int64_t head, double base) {
    const std::vector<float> all = nn::rotary_frequencies(head, base);
    return to_python(Tensor::from<float>({static_cast<std::int64_t>(all.size())}, all));
  });
}

void add_optimizers(py::module_& m) {
  py::class_<optim::Optimizer>(m, "Optimizer", py::is_final(), "An optimiser with its numbers.")
      .def("init",
           [](const optim::Optimizer& o, const py::object& params) {
             return to_python(optim::init(o, params_from(params, "params")));
           })
      .def("update",
           [](const optim::Optimizer& o, const py::object& params, const py::object& gradients,
              const py::object& state, const py::object& rate, const py::object& scale) {
             Builder& b = written();
             const Args p = args_from(b, params, "params");
             if (p.empty()) throw py::value_error("an optimiser: params are empty");
             const auto scalar = [&](const py::object& number, const char* what) {
               if (PyFloat_Check(number.ptr()) || PyLong_Check(number.ptr()))
                 return constant(b, py::cast<double>(number), p.begin()->second.dtype());
               const Value value = value_in(b, number, what);
               // A rate that is traced is what the caller gave: an int, or NumPy's f64.
               const bool other = value.dtype() != p.begin()->second.dtype();
               return other && value.dtype() != Dtype::kBool
                          ? limpid::cast(value, p.begin()->second.dtype())
                          : value;
             };
             const optim::Update u = optim::update(
                 o, p, args_from(b, gradients, "gradients"), args_from(b, state, "state"),
                 scalar(rate, "rate"), scale.is_none() ? Value() : scalar(scale, "scale"));
             return py::make_tuple(to_python(u.params), to_python(u.state));
           })
      .def("update_function",
           [](const optim::Optimizer& o, const py::object& params) {
             std::vector<Input> inputs;
             for (const auto& [name, tensor] : params_from(params, "params"))
               inputs.push_back({name, tensor.type()});
             return to_python(optim::update_function(o, inputs));
           })
      .def_property_readonly("numbers", [](const optim::Optimizer& o) { return optim::numbers(o); })
      .def_property_readonly("usual_rate",
                             [](const optim::Optimizer& o) { return optim::usual_rate(o); });
  m.def("optimizer", [](const std::string& name, const py::dict& numbers) {
    optim::Optimizer o = optim::optimizer_from_name(name);
    for (const auto& [key, value] : numbers)
      optim::set_number(o, py::cast<std::string>(key), py::cast<double>(value));
    return o;
  });
  m.def("optimizers", [] {
    py::dict all;
    for (const optim::OptimizerRecord* record : optim::all_optimizers()) {
      py::dict numbers;
      for (const optim::Number& n : record->numbers)
        numbers[py::str(std::string(n.name))] =
            py::make_tuple(n.usual, n.range == optim::Range::kSwitch, std::string(n.help));
      all[py::str(std::string(record->name))] =
          py::make_tuple(std::string(record->type), std::string(record->about), numbers);
    }
    return all;
  });
  m.def("schedule_at",
        [](const std::string& kind, double rate, std::int64_t steps, std::int64_t warmup,
           std::int64_t every, double factor, std::int64_t step) {
          return optim::Schedule{
              from_name<optim::Schedule::Kind>(kind), rate, steps, warmup, every, factor}
              .at(step);
        });
  m.def("clip",
        [](const std::string& how, const py::object& gradients, double limit) -> py::object {
          Builder& b = written();
          const Args g = args_from(b, gradients, "gradients");
          if (g.empty()) throw py::value_error("clip: the gradients are empty");
          if (how == "value") return to_python(optim::clip_by_value(g, limit));
          if (how == "scale")
            return to_python(optim::global_norm_scale(optim::global_norm(g), limit));
          if (how == "norm") return to_python(optim::clip_by_global_norm(g, limit));
          return to_python(optim::global_norm(g));
        });
}

}  // namespace limpid::python
