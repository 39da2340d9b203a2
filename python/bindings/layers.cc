// Layers, models and optimisers of limpid/nn and limpid/optim. The package's Python has a class
// with the hyper-parameters of each; what they do is done here. Depends on function.h.
#include <pybind11/stl.h>

#include <functional>
#include <optional>

#include "function.h"
#include "limpid/nn/attention.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/dropout.h"
#include "limpid/nn/embedding.h"
#include "limpid/nn/feed_forward.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/linear.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/norm.h"
#include "limpid/nn/perceptron.h"
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
  std::function<Function()> function;
  std::function<std::string()> config;
};

Builder& written() {
  Builder* const builder = under_way();
  if (!builder) throw py::value_error("a layer: no Function is under way");
  return *builder;
}

template <class L>
Layer plain(L layer) {
  Layer made;
  made.init = [layer](Key key) { return layer.init(key); };
  made.call = [layer](const Args& p, std::span<const Value> x, std::optional<Value>) {
    return layer(p, x[0]);
  };
  return made;
}
template <class L>
Layer keyed(L layer) {
  Layer made;
  if constexpr (requires { layer.init(Key(0)); })
    made.init = [layer](Key key) { return layer.init(key); };
  made.call = [layer](const Args& p, std::span<const Value> x, std::optional<Value> key) {
    return layer(p, x[0], key);
  };
  return made;
}
template <class Model>
Layer model(Model net) {
  Layer made = keyed(net);
  made.function = [net] { return net.function(); };
  made.config = [net] { return net.config(); };
  return made;
}

Value (*activation_from(const std::string& name))(Value) {
  return nn::activation_from_name(name).apply;
}

Value (*gate_from(const std::string& name))(Value, Value) {
  if (name == "swiglu") return swiglu;
  if (name == "geglu") return geglu;
  if (name == "glu") return glu;
  throw Error(ErrorCode::kNotFound, "gate: expected swiglu, geglu or glu, not '" + name + "'");
}

Layer mlp_layer(const nn::Mlp& net) {
  Layer made = model(net);
  made.init_state = [net] { return net.init_state(); };
  made.training = [net](const Args& p, const Args& s, Value x, std::optional<Value> key) {
    if (!key) throw py::type_error("training: an Mlp takes a key");
    nn::Mlp::Training t = net.training(p, s, x, *key);
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
             Params params;
             {
               const Unlocked unlocked;
               params = layer.init(key);
             }
             return to_python(params);
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

  m.def("linear_layer", [](std::int64_t in, std::int64_t out, bool bias, const nn::Init& init) {
    return plain(nn::Linear{in, out, bias, init});
  });
  m.def("embedding_layer", [](std::int64_t count, std::int64_t features, const nn::Init& init) {
    return plain(nn::Embedding{count, features, init});
  });
  m.def("dropout_layer", [](double rate) { return keyed(nn::Dropout{rate}); });
  m.def("layer_norm_layer", [](std::int64_t features, double eps, bool bias) {
    return plain(nn::LayerNorm{features, eps, bias});
  });
  m.def("rms_norm_layer", [](std::int64_t features, double eps) {
    return plain(nn::RmsNorm{features, eps});
  });
  m.def("group_norm_layer", [](std::int64_t groups, std::int64_t channels, double eps) {
    return plain(nn::GroupNorm{groups, channels, eps});
  });
  m.def("batch_norm_layer", [](std::int64_t features, double momentum, double eps) {
    const nn::BatchNorm norm{features, momentum, eps};
    Layer made;
    made.init = [norm](Key key) { return norm.init(key); };
    made.init_state = [norm] { return norm.init_state(); };
    made.training = [norm](const Args& p, const Args& s, Value x, std::optional<Value>) {
      nn::BatchNorm::Result r = norm(p, s, x);
      return std::pair{r.y, r.state};
    };
    // At inference the running statistics are among the parameters.
    made.call = [norm](const Args& p, std::span<const Value> x, std::optional<Value>) {
      return norm.inference(p, p, x[0]);
    };
    return made;
  });
  m.def("attention_layer", [](std::int64_t features, std::int64_t heads, std::int64_t kv_heads,
                              bool causal, bool bias, const nn::Init& in, const nn::Init& out) {
    const nn::MultiHeadAttention attention{features, heads, kv_heads, causal, bias, in, out};
    Layer made = plain(attention);
    made.call = [attention](const Args& p, std::span<const Value> x, std::optional<Value>) {
      // x; x, memory; x, memory, mask.
      if (x.size() == 1) return attention(p, x[0]);
      return attention.attend(p, x[0], x[1],
                              {.causal = attention.causal, .mask = x.size() > 2 ? x[2] : Value()});
    };
    return made;
  });
  m.def("feed_forward_layer", [](std::int64_t features, std::int64_t hidden,
                                 const std::string& activation, double dropout,
                                 const nn::Init& init) {
    return keyed(nn::FeedForward{features, hidden, activation_from(activation), dropout, init});
  });
  m.def("gated_feed_forward_layer", [](std::int64_t features, std::int64_t hidden,
                                       const std::string& gate, bool bias, const nn::Init& init) {
    return plain(nn::GatedFeedForward{features, hidden, gate_from(gate), bias, init});
  });
  m.def("mlp_layer",
        [](const std::string& config) { return mlp_layer(nn::Mlp::from_config(config)); });
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
  m.def("perceptron_layer", [](std::int64_t inputs) {
    const nn::Perceptron perceptron{inputs};
    Layer made;
    made.init = [perceptron](Key) { return perceptron.init(); };
    made.call = [perceptron](const Args& p, std::span<const Value> x, std::optional<Value>) {
      return perceptron(p, x[0]);
    };
    return made;
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

namespace {

// Of a type of its own: pybind11 takes a variant apart.
struct Chosen {
  optim::Optimizer optimizer;
};

}  // namespace

void add_optimizers(py::module_& m) {
  py::class_<Chosen>(m, "Optimizer", py::is_final(), "An optimiser with its numbers.")
      .def("init",
           [](const Chosen& o, const py::object& params) {
             return to_python(optim::init(o.optimizer, params_from(params, "params")));
           })
      .def("update",
           [](const Chosen& o, const py::object& params, const py::object& gradients,
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
                 o.optimizer, p, args_from(b, gradients, "gradients"), args_from(b, state, "state"),
                 scalar(rate, "rate"), scale.is_none() ? Value() : scalar(scale, "scale"));
             return py::make_tuple(to_python(u.params), to_python(u.state));
           })
      .def("update_function",
           [](const Chosen& o, const py::object& params) {
             std::vector<Input> inputs;
             for (const auto& [name, tensor] : params_from(params, "params"))
               inputs.push_back({name, tensor.type()});
             return to_python(optim::update_function(o.optimizer, inputs));
           })
      .def_property_readonly("numbers", [](const Chosen& o) { return optim::numbers(o.optimizer); })
      .def_property_readonly("usual_rate",
                             [](const Chosen& o) { return optim::usual_rate(o.optimizer); });
  m.def("optimizer", [](const std::string& name, const py::dict& numbers) {
    Chosen o{optim::optimizer_from_name(name)};
    for (const auto& [key, value] : numbers)
      optim::set_number(o.optimizer, py::cast<std::string>(key), py::cast<double>(value));
    return o;
  });
  m.def("optimizer_names", &optim::optimizer_names);
  m.def("optimizer_numbers", [](const std::string& name) {
    py::dict all;
    for (const optim::Number& n : optim::numbers_of(name))
      all[py::str(std::string(n.name))] =
          py::make_tuple(n.usual, n.range == optim::Range::kSwitch, std::string(n.help));
    return all;
  });
  m.def("schedule_at", [](const std::string& kind, double rate, std::int64_t steps,
                          std::int64_t warmup, std::int64_t every, double factor,
                          std::int64_t step) {
    return optim::Schedule{optim::schedule_from_name(kind), rate, steps, warmup, every, factor}.at(
        step);
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
