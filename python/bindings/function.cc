#include "function.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstdio>

#include "limpid/compile/compiled.h"
#include "limpid/core/params.h"
#include "limpid/emit/emit.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/optim/lbfgs.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/collapse.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/jacobian.h"
#include "limpid/transforms/jvp.h"
#include "limpid/transforms/quantize.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/vmap.h"
#include "lock.h"
#include "signals.h"

namespace limpid::python {
namespace {

PyTypeObject* function_type = nullptr;

// A negative one counts from the last input, as for code.
std::size_t position_from(const Function& f, py::handle object) {
  const auto size = static_cast<Py_ssize_t>(f.inputs().size());
  // One beyond its type is the nearest that it has, and no input either.
  const Py_ssize_t position = PyNumber_AsSsize_t(object.ptr(), nullptr);
  if (position == -1 && PyErr_Occurred()) throw py::error_already_set();
  if (position < -size || position >= size)
    throw py::value_error("wrt: function '" + f.name() + "' has " + std::to_string(size) +
                          " inputs; there is no input " + std::to_string(position));
  return static_cast<std::size_t>(position < 0 ? position + size : position);
}

// Positions or names, one or several; nothing: the first input.
Wrt wrt_from(const Function& f, const py::object& object) {
  if (object.is_none()) return {};
  if (py::isinstance<py::str>(object))
    return std::vector<std::string>{py::cast<std::string>(object)};
  if (!PySequence_Check(object.ptr())) {
    if (!PyIndex_Check(object.ptr()))
      throw_type("wrt: expected a position or a name, or several, not " + type_name(object));
    return std::vector<std::size_t>{position_from(f, object)};
  }
  std::vector<std::size_t> positions;
  std::vector<std::string> names;
  for (const py::object& one : items_of(object))
    if (py::isinstance<py::str>(one))
      names.push_back(py::cast<std::string>(one));
    else
      positions.push_back(position_from(f, one));
  if (!names.empty() && !positions.empty()) throw_type("wrt: positions or names, not both");
  if (names.empty()) return positions;
  return names;
}

// Arguments in the order of the inputs, as limpid::detail::InOrder has them: a group fills the next
// inputs, as many as it has names, by name; then come those that are named.
std::vector<py::object> in_order(const Function& f, const py::args& args,
                                 const py::kwargs& kwargs) {
  const std::vector<Input>& inputs = f.inputs();
  std::vector<py::object> all;
  for (const py::handle argument : args) {
    std::vector<py::object> leaves;
    const Tree tree = Tree::flatten(argument, leaves);
    const bool group = is_params(argument) || PyDict_Check(argument.ptr());
    if (!group) {
      all.insert(all.end(), leaves.begin(), leaves.end());
      continue;
    }
    const std::vector<std::string> names = tree.names({});
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (all.size() >= inputs.size()) {
        all.push_back(leaves[i]);
        continue;
      }
      const auto found = std::find(names.begin(), names.end(), inputs[all.size()].name);
      if (found == names.end()) throw_missing(inputs[all.size()].name, names);
      all.push_back(leaves[static_cast<std::size_t>(found - names.begin())]);
    }
  }
  for (const auto& [key, value] : kwargs) {
    const std::size_t i = f.input_index(py::cast<std::string>(key));
    if (i < all.size() && all[i])
      throw_type("function '" + f.name() + "': input '" + inputs[i].name + "' comes twice");
    if (all.size() <= i) all.resize(i + 1);
    all[i] = py::reinterpret_borrow<py::object>(value);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i])
      throw_type("function '" + f.name() + "': input '" + inputs[i].name + "' is missing");
  return all;
}

py::object call_function(FunctionObject& self, const py::args& args, const py::kwargs& kwargs) {
  const std::vector<py::object> given = in_order(self.function, args, kwargs);
  Builder* builder = under_way();
  for (const py::object& o : given)
    if (is_value(o) && (!builder || value_of(o).builder().number() > builder->number()))
      builder = &value_of(o).builder();
  if (builder) {
    std::vector<Value> values;
    for (const py::object& o : given)
      values.push_back(value_in(*builder, o, self.function.name().c_str()));
    return one_or_all(builder->inline_function(self.function, values));
  }
  if (!self.plan) {
    const std::string name = "function '" + self.function.name() + "'";
    std::vector<std::string> places;
    for (const Input& i : self.function.inputs())
      places.push_back(name + ": input '" + i.name + "'");
    places.push_back(name);
    auto plan = std::make_shared<Plan>(self.function, 1);
    if (!self.plan) {
      self.places = std::move(places);
      self.plan = std::move(plan);
    }
  }
  std::vector<Leaf> leaves;
  leaves.reserve(given.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    leaves.push_back(leaf_of(given[i], self.places[std::min(i, self.places.size() - 1)].c_str()));
  const std::shared_ptr<Plan> plan = self.plan;
  return one_or_all((*plan)(leaves));
}

py::list inputs_of(const Function& f) {
  py::list all;
  for (const Input& i : f.inputs()) all.append(py::make_tuple(i.name, to_string(i.type)));
  return all;
}

py::list outputs_of(const Function& f) {
  py::list all;
  for (const Output& o : f.outputs())
    all.append(py::make_tuple(o.name, to_string(f.type(o.value))));
  return all;
}

py::list ops_of(const Function& f) {
  py::list all;
  for (const Node& node : f.nodes()) {
    py::dict one;
    one["op"] = std::string(node.op->name);
    one["scope"] = node.scope;
    py::list inputs, outputs, types;
    for (const ValueId id : node.inputs) inputs.append(value_name(f, id));
    const Function::CallTypes call = f.call_types(node);
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      outputs.append(value_name(f, node.first_output + static_cast<ValueId>(i)));
      types.append(to_string(call.outputs[i]));
    }
    one["inputs"] = inputs;
    one["outputs"] = outputs;
    one["types"] = types;
    py::dict attributes;
    for (const auto& [name, value] : node.attributes)
      attributes[py::str(name)] = attribute_text(value, {.max_elements = 16, .bodies = false});
    one["attributes"] = attributes;
    all.append(one);
  }
  return all;
}

std::uint64_t hash_of(const Function& f) {
  const std::string text = to_text(f);
  return hash(std::as_bytes(std::span(text)));
}

// Throws kNotFound unless some op of f is in this layer: to recompute nothing would go unnoticed.
void require_layer(const Function& f, std::string_view layer) {
  std::vector<std::string_view> layers;
  for (const Node& node : f.nodes()) {
    if (is_at_or_below(node.scope, layer)) return;
    if (!node.scope.empty() && std::find(layers.begin(), layers.end(), node.scope) == layers.end())
      layers.push_back(node.scope);
  }
  constexpr std::size_t kShown = 8;
  std::string known;
  for (std::size_t i = 0; i < std::min(layers.size(), kShown); ++i)
    known += (i > 0 ? ", " : "") + std::string(layers[i]);
  throw Error(ErrorCode::kNotFound, "recompute: there is no layer '" + std::string(layer) +
                                        "' among " + (known.empty() ? "no layers" : known));
}

}  // namespace

std::string hex(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

py::object to_python(Function function) {
  return py::cast(
      std::make_unique<FunctionObject>(FunctionObject{std::move(function), nullptr, {}}));
}
bool is_function(py::handle object) { return Py_TYPE(object.ptr()) == function_type; }
const Function& function_of(py::handle object, const char* what) {
  if (!is_function(object))
    throw_type(std::string(what) + ": expected a Function, not " + type_name(object) +
               "; lp.trace and lp.nn.function_of make one");
  return py::cast<const FunctionObject&>(object).function;
}

Type type_from(const std::string& text) {
  const std::size_t open = text.find('[');
  const std::optional<Dtype> dtype = dtype_from_name(text.substr(0, open));
  const bool closed = open != std::string::npos && text.back() == ']';
  if (!dtype || (open != std::string::npos && !closed))
    throw py::value_error("type: expected text like 'f32[4, 2]', not '" + text + "'");
  std::vector<std::int64_t> dims;
  if (closed) {
    std::string inner = text.substr(open + 1, text.size() - open - 2);
    std::size_t at = 0;
    while (at < inner.size()) {
      std::size_t used = 0;
      try {
        dims.push_back(std::stoll(inner.substr(at), &used));
      } catch (const std::logic_error&) {
        throw py::value_error("type: expected text like 'f32[4, 2]', not '" + text + "'");
      }
      at += used;
      const std::size_t next = inner.find_first_not_of(' ', at);
      if (next == std::string::npos) break;
      if (inner[next] != ',')
        throw py::value_error("type: expected text like 'f32[4, 2]', not '" + text + "'");
      at = next + 1;
    }
  }
  return {*dtype, Shape(dims)};
}

Params params_from(py::handle object, const char* what) {
  std::vector<py::object> leaves;
  const Tree tree = Tree::flatten(object, leaves);
  const std::vector<std::string> names = tree.names({});
  Params params;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    params.set(names[i], constant_of(leaf_of(leaves[i], what)));
  return params;
}

py::object to_python(const Params& params) {
  py::dict entries;
  for (const auto& [name, tensor] : params) entries[py::str(name)] = to_python(tensor);
  return make_params(entries);
}

Args args_from(Builder& builder, py::handle object, const char* what) {
  std::vector<py::object> leaves;
  const Tree tree = Tree::flatten(object, leaves);
  const std::vector<std::string> names = tree.names({});
  Args args;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    args.set(names[i], value_in(builder, leaves[i], what));
  return args;
}

py::object to_python(const Args& args) {
  py::dict entries;
  for (const auto& [name, value] : args) entries[py::str(name)] = to_python(value);
  return make_params(entries);
}

void add_functions(py::module_& m) {
  py::class_<FunctionObject> type(
      m, "Function", py::is_final(),
      "A pure function from arrays to arrays: typed inputs, ops, outputs.\n\nCalled on arrays it "
      "runs, "
      "compiled at the first call; called on Values it is written into the Function\nunder way. "
      "``print`` shows it as text, which ``lp.parse`` reads back.\n");
  function_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def(made_by<FunctionObject>("Function", "lp.trace and lp.parse make one"))
      .def("__call__", &call_function)
      .def_property_readonly(
          "name", [](const FunctionObject& f) { return f.function.name(); }, "Its name.")
      .def_property_readonly(
          "inputs", [](const FunctionObject& f) { return inputs_of(f.function); },
          "Pairs of name and type, as text.")
      .def_property_readonly(
          "outputs", [](const FunctionObject& f) { return outputs_of(f.function); },
          "Pairs of name, perhaps empty, and type.")
      .def_property_readonly(
          "ops", [](const FunctionObject& f) { return ops_of(f.function); },
          "The ops in the order in which they are computed, a dict for each: op, "
          "scope, inputs, outputs, types, attributes.")
      .def_property_readonly(
          "hash", [](const FunctionObject& f) { return hex(hash_of(f.function)); },
          "64-bit FNV-1a of the text, 16 digits.")
      .def(
          "text",
          [](const FunctionObject& f, std::optional<std::int64_t> max_elements) {
            return max_elements ? to_text(f.function, {.max_elements = *max_elements})
                                : to_text(f.function);
          },
          py::arg("max_elements") = py::none(),
          "The text; with `max_elements` larger constants are left out, and it does not parse.")
      .def(
          "interpret",
          [](const FunctionObject& f, const py::args& args, const py::kwargs& kwargs) {
            std::vector<Tensor> tensors;
            for (const py::object& o : in_order(f.function, args, kwargs))
              tensors.push_back(tensor_of(leaf_of(o, "interpret")));
            return one_or_all(unlocked([&] { return interpret(f.function, tensors); }));
          },
          "Runs it op by op with the reference arithmetic: slow, and the same bits.")
      .def(
          "plan",
          [](const FunctionObject& f) {
            return unlocked([&] { return compile(f.function).plan(); });
          },
          "The steps of the compiled plan, as text.")
      .def(
          "emit",
          [](const FunctionObject& f, const std::string& name) {
            return unlocked([&] { return emit_cpp(f.function, {}, {.namespace_name = name}); });
          },
          py::arg("name") = "net",
          "The Function as one C++ header that computes the same bits, in the namespace `name`.")
      .def("__str__",
           [](const FunctionObject& f) { return to_text(f.function, {.max_elements = 16}); })
      .def("__repr__",
           [](const FunctionObject& f) {
             std::string text = "limpid.Function(" + f.function.name() + ": ";
             for (std::size_t i = 0; i < f.function.inputs().size() && i < 8; ++i)
               text += (i ? ", " : "") + to_string(f.function.inputs()[i].type);
             if (f.function.inputs().size() > 8) text += ", ...";
             text += " -> ";
             for (std::size_t i = 0; i < f.function.outputs().size() && i < 8; ++i)
               text += (i ? ", " : "") + to_string(f.function.type(f.function.outputs()[i].value));
             if (f.function.outputs().size() > 8) text += ", ...";
             return text + ")";
           })
      .def("__eq__",
           [](const FunctionObject& a, const py::object& b) {
             return is_function(b) && a.function == function_of(b, "==");
           })
      .def("__hash__", [](const FunctionObject& f) { return hash_of(f.function); })
      // It does not change.
      .def("__copy__", [](const py::object& self) { return self; })
      .def("__deepcopy__", [](const py::object& self, const py::object&) { return self; })
      .def("__reduce__", [](const FunctionObject& f) {
        require_known_ops(f.function);
        return py::make_tuple(py::module_::import("limpid").attr("parse"),
                              py::make_tuple(to_text(f.function)));
      });

  m.def("parse", [](const std::string& text) { return to_python(parse_function(text)); });
  m.def("trace",
        [](const py::object& code, const py::tuple& examples, const std::string& name,
           const std::vector<std::string>& names, const std::vector<std::string>& outputs) {
          std::vector<py::object> leaves;
          const Tree tree = Tree::flatten(examples, leaves);
          std::vector<Type> types;
          for (const py::object& leaf : leaves)
            types.push_back(py::isinstance<py::str>(leaf) ? type_from(py::cast<std::string>(leaf))
                            : is_value(leaf)              ? value_of(leaf).type()
                                                          : leaf_of(leaf, "trace").type);
          TracedCode traced = trace_code(code, tree, types, name, names, false, outputs);
          return py::make_tuple(to_python(std::move(traced.function)), std::move(traced.result));
        });
  // For transformations inside of a Function under way: what the code becomes on arguments of these
  // types, the Values that it captures, and the form of its results.
  m.def("trace_inside",
        [](const py::object& code, const Tree& tree, const std::vector<std::string>& types) {
          std::vector<Type> all;
          for (const std::string& text : types) all.push_back(type_from(text));
          TracedCode traced = trace_code(code, tree, all, "code", {}, true);
          py::list captured;
          for (const Value& v : traced.captured) captured.append(to_python(v));
          return py::make_tuple(to_python(std::move(traced.function)), captured,
                                std::move(traced.result));
        });
  m.def("inline", [](const py::object& function, const py::sequence& values) {
    const Function& f = function_of(function, "inline");
    Builder* const builder = under_way();
    if (!builder) throw py::value_error("inline: no Function is under way");
    std::vector<Value> all;
    for (const py::object& v : items_of(values)) all.push_back(value_in(*builder, v, "inline"));
    py::list results;
    for (const Value& v : builder->inline_function(f, all)) results.append(to_python(v));
    return results;
  });
  m.def("as_values", [](const py::sequence& leaves, const std::string& where) {
    Builder* const builder = under_way();
    if (!builder) throw py::value_error(where + ": no Function is under way");
    py::list values;
    for (const py::object& leaf : items_of(leaves))
      values.append(to_python(value_in(*builder, leaf, where.c_str())));
    return values;
  });

  const auto differentiate =
      [&m](const char* name,
           Function (*transform)(const Function&, const Wrt&, const GradOptions&)) {
        m.def(name, [transform](const py::object& function, const py::object& wrt,
                                const std::vector<std::string>& recompute) {
          const Function& f = function_of(function, "a gradient");
          const Wrt by = wrt_from(f, wrt);
          GradOptions options;
          for (const std::string& layer : recompute) require_layer(f, layer);
          if (!recompute.empty()) options.recompute = each_of(recompute);
          return to_python(unlocked([&] { return transform(f, by, options); }));
        });
      };
  differentiate("grad", limpid::grad);
  differentiate("value_and_grad", limpid::value_and_grad);
  differentiate("vjp", limpid::vjp);
  m.def("jvp", [](const py::object& function, const py::object& wrt) {
    const Function& f = function_of(function, "jvp");
    const Wrt by = wrt_from(f, wrt);
    return to_python(unlocked([&] { return jvp(f, by); }));
  });
  m.def("jacobian", [](const py::object& function, const py::object& wrt, bool forward) {
    const Function& f = function_of(function, "a Jacobian");
    const Wrt by = wrt_from(f, wrt);
    const JacobianMode mode = forward ? JacobianMode::kForward : JacobianMode::kReverse;
    return to_python(unlocked([&] { return jacobian(f, by, mode); }));
  });
  m.def("hessian", [](const py::object& function, const py::object& wrt) {
    const Function& f = function_of(function, "hessian");
    const Wrt by = wrt_from(f, wrt);
    return to_python(unlocked([&] { return hessian(f, by); }));
  });
  m.def("hvp", [](const py::object& function, const py::object& wrt) {
    const Function& f = function_of(function, "hvp");
    const Wrt by = wrt_from(f, wrt);
    return to_python(unlocked([&] { return hvp(f, by); }));
  });
  // The minimum of a loss, a Function whose first input is the first of the values.
  m.def("lbfgs", [](const py::object& function, const py::sequence& values, std::int64_t history,
                    std::int64_t max_steps, std::int64_t max_line_search, double gradient_tolerance,
                    double value_tolerance) {
    const Function& f = function_of(function, "minimize");
    Builder* const builder = under_way();
    if (!builder) throw py::value_error("minimize: no Function is under way");
    std::vector<Value> all;
    for (const py::object& v : items_of(values)) all.push_back(value_in(*builder, v, "minimize"));
    const optim::LbfgsResult r = optim::lbfgs(f, all.at(0), std::span(all).subspan(1),
                                              {.history = history,
                                               .max_steps = max_steps,
                                               .max_line_search = max_line_search,
                                               .gradient_tolerance = gradient_tolerance,
                                               .value_tolerance = value_tolerance});
    py::list results;
    for (const Value& v : {r.x, r.value, r.gradient, r.steps, r.evaluations, r.status})
      results.append(to_python(v));
    return results;
  });
  m.def("vmap", [](const py::object& function, const py::sequence& axes, std::int64_t size) {
    const Function& f = function_of(function, "vmap");
    std::vector<std::optional<std::int64_t>> in_axes;
    for (const py::object& axis : items_of(axes))
      in_axes.push_back(axis.is_none() ? std::nullopt : std::optional(integer_from(axis)));
    return to_python(unlocked([&] { return vmap(f, in_axes, size); }));
  });
  m.def("bind", [](const py::object& function, const py::object& values) {
    const Function& f = function_of(function, "bind");
    const Params params = params_from(values, "bind");
    return to_python(unlocked([&] { return bind(f, params); }));
  });
  m.def("simplify", [](const py::object& function) {
    const Function& f = function_of(function, "simplify");
    return to_python(unlocked([&] { return simplify(f); }));
  });
  m.def("expand", [](const py::object& function) {
    const Function& f = function_of(function, "expand");
    return to_python(unlocked([&] { return expand(f); }));
  });
  m.def("collapse", [](const py::object& function) {
    const Function& f = function_of(function, "collapse");
    Collapsed c = unlocked([&] { return collapse(f); });
    return py::make_tuple(to_python(std::move(c.function)), py::cast(c.done));
  });
  m.def("quantize", [](const py::object& function, const py::object& params, const py::object& to,
                       const std::vector<std::string>& exclude) {
    const Function& f = function_of(function, "quantize");
    const Params p = params_from(params, "quantize");
    const QuantizeOptions options{.to = dtype_from(to), .exclude = exclude};
    Quantized q = unlocked([&] { return quantize(f, p, options); });
    return py::make_tuple(to_python(std::move(q.function)), to_python(q.params), py::cast(q.done));
  });
}

}  // namespace limpid::python
