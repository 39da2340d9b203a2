// Python code with a gradient of its own: the op of limpid/transforms/with_gradient.h, with a body
// and a gradient that are known only when the program runs. Depends on function.h.
#include <atomic>
#include <limits>
#include <memory>

#include "collected.h"
#include "function.h"
#include "limpid/function/call.h"
#include "limpid/ops/detail/families.h"
#include "limpid/transforms/widen.h"
#include "limpid/transforms/with_gradient.h"
#include "lock.h"

namespace limpid::python {
namespace {

// A body, and the code of its gradient for arguments of this form: those of the body, its result,
// and the cotangent of that. A call holds it in the attribute "code": a number that tells it from
// others, and whose owner it is. So it lives as long as any Function with the call.
class Composed {
 public:
  Composed(Function body, py::object gradient, Tree arguments)
      : body_(std::move(body)), code_(new Code{std::move(gradient), std::move(arguments)}) {
    for (const Input& i : body_.inputs()) types_.push_back(i.type);
    for (int both = 0; both < 2; ++both)
      for (const Output& o : body_.outputs()) types_.push_back(body_.type(o.value));
    if (body_.inputs().empty() || body_.outputs().empty())
      throw py::value_error("with_gradient: the code takes and gives at least one array");
    if (code_->arguments.leaves() != types_.size())
      throw py::value_error("with_gradient: the gradient takes other arguments");
  }
  // Functions end anywhere, with the interpreter's lock or without it, some after the interpreter.
  ~Composed() {
    if (!Py_IsInitialized()) {
      static_cast<void>(code_.release());
      return;
    }
    const Locked locked;
    code_.reset();
  }
  Composed(const Composed&) = delete;
  Composed& operator=(const Composed&) = delete;

  const Function& body() const { return body_; }

  // As Functions of Values of these types: a gradient check widens f32 to f64.
  Function body(std::span<const Value> values) const {
    return are_wide(values) ? widen(body_) : body_;
  }
  // Each time anew, as all code that is not compiled is traced.
  Function gradient(std::span<const Value> values) const {
    std::vector<Type> types = types_;
    if (are_wide(values))
      for (Type& type : types)
        if (type.dtype == Dtype::kF32) type.dtype = Dtype::kF64;
    const Locked locked;
    return trace_code(code_->gradient, code_->arguments, types, "gradient", {}, false).function;
  }

  // For the collector of cycles: the gradient may hold what holds this.
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(code_->gradient.ptr());
    return 0;
  }
  void clear() { code_->gradient = py::none(); }

  static Tensor code(const std::shared_ptr<Composed>& self) {
    return Tensor::borrow({Dtype::kI64, {}}, std::as_bytes(std::span(&self->number_, 1)), self);
  }
  static std::shared_ptr<const Composed> of(const Attributes& attributes) {
    return std::static_pointer_cast<const Composed>(attributes.get<Tensor>("code").owner().lock());
  }

 private:
  struct Code {
    py::object gradient;
    Tree arguments;
  };
  bool are_wide(std::span<const Value> values) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (types_[i].dtype == Dtype::kF32 && values[i].dtype() == Dtype::kF64) return true;
    return false;
  }
  static std::int64_t next_number() {
    static std::atomic<std::int64_t> last{0};
    return ++last;
  }

  std::int64_t number_ = next_number();
  Function body_;
  std::unique_ptr<Code> code_;
  std::vector<Type> types_;
};

std::vector<Value> body(std::span<const Value> in, const Attributes& attributes) {
  const auto composed = Composed::of(attributes);
  return detail::composed_body(
      [&](std::span<const Value> values) { return call(composed->body(values), values); }, in,
      attributes);
}

std::vector<Value> gradient(const GradientCall& c) {
  const auto composed = Composed::of(c.attributes);
  return detail::composed_gradient(
      [&](std::span<const Value> values) { return call(composed->gradient(values), values); }, c);
}

std::vector<Value> batching(const BatchingCall& c);

constexpr AttributeSpec kComposedAttributes[] = {{"code", AttributeKind::kTensor},
                                                 {"vmaps", AttributeKind::kIntegers}};
constinit const Op kComposed = complete({.name = "with_gradient",
                                         .formula = "the body that a program gives",
                                         .shapes = "those of the body",
                                         .min_inputs = 1,
                                         .max_inputs = std::numeric_limits<int>::max(),
                                         .attributes = kComposedAttributes,
                                         .types = detail::composed_types,
                                         .body = body,
                                         .gradient = limpid::gradient(gradient),
                                         .batching = limpid::batching(batching),
                                         .flops = detail::composed_flops,
                                         .onnx = {},
                                         .examples = detail::no_examples});

std::vector<Value> batching(const BatchingCall& c) {
  return detail::composed_batching(kComposed, c);
}

// What an instance of Python's type holds, where nobody else does: no Function keeps it alive.
Composed* held_alone(PyObject* self) {
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  if (!instance->simple_holder_constructed) return nullptr;
  const auto& held =
      *reinterpret_cast<const std::shared_ptr<Composed>*>(&instance->simple_value_holder[1]);
  return held.use_count() == 1 ? held.get() : nullptr;
}

}  // namespace

void add_composed(py::module_& m) {
  py::class_<Composed, std::shared_ptr<Composed>>(
      m, "Composed", py::is_final(),
      py::custom_type_setup(&take_part_in_collection<Composed, held_alone>),
      "A Function with a gradient of its own; ``lp.with_gradient`` makes it.")
      .def(py::init([](const py::object& body, py::object gradient, const Tree& arguments) {
        if (!PyCallable_Check(gradient.ptr()))
          throw_type("with_gradient: expected code of a gradient, not " + type_name(gradient));
        return std::make_shared<Composed>(function_of(body, "with_gradient"), std::move(gradient),
                                          arguments);
      }))
      .def_property_readonly(
          "body", [](const Composed& c) { return to_python(Function(c.body())); }, "What it gives.")
      .def("__call__", [](const std::shared_ptr<Composed>& self, const py::sequence& values) {
        Builder* const builder = under_way();
        if (!builder) throw py::value_error("with_gradient: no Function is under way");
        std::vector<Value> all;
        for (const py::object& v : items_of(values))
          all.push_back(value_in(*builder, v, "with_gradient"));
        py::list results;
        for (const Value& v : builder->call(
                 kComposed, all,
                 {{"code", Composed::code(self)}, {"vmaps", std::vector<std::int64_t>{}}}))
          results.append(to_python(v));
        return results;
      });
}

}  // namespace limpid::python
