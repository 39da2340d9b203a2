// What is called on arrays again and again: compile() and Predictor; and code that is traced and
// run once. Depends on plan.h and limpid/compile.
#include <pybind11/stl.h>

#include <algorithm>

#include "collected.h"
#include "function.h"
#include "limpid/compile/predictor.h"
#include "limpid/transforms/bind.h"
#include "lock.h"
#include "signals.h"

namespace limpid::python {
namespace {

// The arguments of a call as one tree: a tuple, then the keywords as a dict.
struct Call {
  Tree tree;
  std::vector<py::object> leaves;
};
Call call_of(const py::args& args, const py::kwargs& kwargs) {
  Call call;
  if (kwargs.empty())
    call.tree = Tree::flatten(args, call.leaves);
  else
    call.tree = Tree::flatten(py::make_tuple(args, kwargs), call.leaves);
  return call;
}

// The code, called with the arguments as call_of() has them.
py::object with_keywords(const py::object& code, bool keywords) {
  if (!keywords) return code;
  return py::cpp_function(
      [code](const py::tuple& args, const py::dict& kwargs) { return code(*args, **kwargs); });
}

std::vector<Leaf> leaves_of(const std::vector<py::object>& objects, const char* where) {
  std::vector<Leaf> leaves;
  leaves.reserve(objects.size());
  for (const py::object& o : objects) leaves.push_back(leaf_of(o, where));
  return leaves;
}

py::object build(const Tree& tree, std::vector<Tensor> tensors) {
  std::vector<py::object> results;
  results.reserve(tensors.size());
  for (Tensor& t : tensors) results.push_back(to_python(std::move(t)));
  std::size_t next = 0;
  return tree.build(results, next);
}

// Python code, or a Function, as a function on arrays: traced and compiled for every combination of
// the arguments' forms and types, as limpid::Compiled is. Many threads may call it at once.
class Compiled {
 public:
  Compiled(py::object code, int threads) : code_(std::move(code)), threads_(threads) {
    if (!PyCallable_Check(code_.ptr()))
      throw_type("compile: expected code or a Function, not " + type_name(code_));
    static_cast<void>(pool_of(threads));
  }

  py::object operator()(const py::args& args, const py::kwargs& kwargs) {
    if (under_way()) return code_(*args, **kwargs);
    Call call = call_of(args, kwargs);
    const std::vector<Leaf> leaves = leaves_of(call.leaves, "an argument");
    const std::shared_ptr<Entry> entry = entry_of(call, leaves, !kwargs.empty());
    return build(entry->result, run(*entry, leaves));
  }

  const Function& function(const py::args& args, const py::kwargs& kwargs) {
    Call call = call_of(args, kwargs);
    return entry_of(call, leaves_of(call.leaves, "an argument"), !kwargs.empty())->plan->function();
  }

  const py::object& code() const { return code_; }
  py::object name() const {
    const py::object type = py::type::of(code_);
    return py::getattr(code_, "__name__", type.attr("__name__"));
  }
  int threads() const { return threads_; }
  std::size_t plans() const { return entries_.size(); }

  // For the collector of cycles: the method of an object that holds this, for one.
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(code_.ptr());
    for (const std::shared_ptr<Entry>& entry : entries_) {
      if (const int stop = entry->arguments.traverse(visit, arg)) return stop;
      if (const int stop = entry->result.traverse(visit, arg)) return stop;
    }
    return 0;
  }
  void clear() {
    const py::object code = std::exchange(code_, py::none());
    const auto entries = std::exchange(entries_, {});
  }

 private:
  // An array of a mapping in the previous call; it is not kept alive.
  struct Buffer {
    const void* data = nullptr;
    std::weak_ptr<const void> owner;

    bool is(const Leaf& leaf) const {
      if (!leaf.tensor || leaf.borrowed || data != leaf.data) return false;
      const auto other = leaf.tensor->owner();
      return !owner.owner_before(other) && !other.owner_before(owner) && !owner.expired();
    }
  };
  struct Entry {
    Tree arguments;
    bool keywords;
    std::vector<Type> types;
    std::vector<bool> in_mapping;
    std::shared_ptr<Plan> plan;
    Tree result;
    // As in limpid::Compiled: if the mappings hold the same arrays as in the previous call, these
    // become constants, which are packed once.
    std::vector<Buffer> seen;
    std::shared_ptr<Plan> bound;
    std::vector<Tensor> constants;  // by leaf: keeps the bound arrays alive
    std::int64_t same = 0, calls_until_bound = 1;
  };

  std::shared_ptr<Entry> entry_of(Call& call, const std::vector<Leaf>& leaves, bool keywords) {
    const auto fits = [&](const Entry& e) {
      if (e.keywords != keywords || e.types.size() != leaves.size()) return false;
      for (std::size_t i = 0; i < leaves.size(); ++i)
        if (!(e.types[i] == leaves[i].type)) return false;
      return e.arguments == call.tree;
    };
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      // Held: a comparison of keys may run Python code, which may call this again.
      const std::shared_ptr<Entry> entry = entries_[i];
      if (!fits(*entry)) continue;
      if (i > 0 && i < entries_.size() && entries_[i] == entry)
        std::rotate(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(i),
                    entries_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return entry;
    }
    auto entry = std::make_shared<Entry>();
    for (const Leaf& leaf : leaves) entry->types.push_back(leaf.type);
    entry->keywords = keywords;
    entry->in_mapping = call.tree.in_mapping();
    entry->seen.resize(leaves.size());
    TracedCode traced =
        trace_code(with_keywords(code_, keywords), call.tree, entry->types, "compiled", {}, false);
    entry->result = std::move(traced.result);
    entry->plan = std::make_shared<Plan>(std::move(traced.function), threads_, packings_);
    entry->arguments = std::move(call.tree);
    // More than a program needs. Without a bound they would grow if each call had another shape.
    constexpr std::size_t kMost = 64;
    entries_.insert(entries_.begin(), entry);
    if (entries_.size() > kMost) entries_.pop_back();
    return entry;
  }

  std::vector<Tensor> run(Entry& e, const std::vector<Leaf>& leaves) {
    bool any = false, same = true;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!e.in_mapping[i]) continue;
      any = true;
      if (e.bound ? !leaves[i].borrowed && leaves[i].data == e.constants[i].bytes().data()
                  : e.seen[i].is(leaves[i]))
        continue;
      same = false;
      if (leaves[i].tensor && !leaves[i].borrowed)
        e.seen[i] = {leaves[i].data, leaves[i].tensor->owner()};
      else
        e.seen[i] = {};
    }
    if (!any || !same) {
      if (e.bound) e.calls_until_bound *= 2;
      e.bound.reset();
      e.constants.clear();
      e.same = 0;
    } else if (!e.bound && ++e.same >= e.calls_until_bound) {
      Params values;
      std::vector<Tensor> constants(leaves.size());
      const std::vector<Input>& inputs = e.plan->function().inputs();
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (!e.in_mapping[i]) continue;
        constants[i] = *leaves[i].tensor;
        values.set(inputs[i].name, constants[i]);
      }
      // Other threads may use the entry while this one compiles.
      auto bound = std::make_shared<Plan>(bind(e.plan->function(), values), threads_, packings_);
      e.constants = std::move(constants);
      e.bound = std::move(bound);
    }
    // Held: another thread may replace it during the run.
    const std::shared_ptr<Plan> plan = e.bound ? e.bound : e.plan;
    const bool bound = plan == e.bound;
    std::vector<const void*> pointers;
    pointers.reserve(leaves.size());
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (!bound || !e.in_mapping[i]) pointers.push_back(leaves[i].bytes());
    return plan->run(pointers);
  }

  py::object code_;
  int threads_;
  std::shared_ptr<Packings> packings_ = std::make_shared<Packings>();
  std::vector<std::shared_ptr<Entry>> entries_;  // the most recently used one first
};

}  // namespace

void add_calls(py::module_& m) {
  py::class_<Compiled>(m, "Compiled", py::is_final(),
                       py::custom_type_setup(&take_part_in_collection<Compiled>),
                       "Code on arrays, traced and compiled when it first meets arguments of new "
                       "types.\n\n``lp.compile`` makes it. Many threads may call it at once.\n")
      .def(py::init<py::object, int>(), py::arg("code"), py::arg("threads") = 1)
      .def("__call__", method(&Compiled::operator()))
      .def(
          "function",
          [](Compiled& c, const py::args& args, const py::kwargs& kwargs) {
            return to_python(Function(c.function(args, kwargs)));
          },
          "The Function that the code becomes for arguments like these.")
      // As a function of Python's in a class: a method, whose first argument is the object.
      .def(
          "__get__",
          [](const py::object& self, const py::object& object, const py::object&) {
            if (object.is_none()) return self;
            return py::reinterpret_steal<py::object>(PyMethod_New(self.ptr(), object.ptr()));
          },
          py::arg("object"), py::arg("kind") = py::none())
      .def_property_readonly("__wrapped__", [](const Compiled& c) { return c.code(); })
      // No property: pybind11 would set the type's own name.
      .def("__getattr__",
           [](const Compiled& c, const std::string& name) {
             if (name == "__name__") return c.name();
             throw py::attribute_error("'limpid.Compiled' object has no attribute '" + name + "'");
           })
      .def("__repr__",
           [](const Compiled& c) {
             return "limpid.Compiled(" + py::str(c.name()).cast<std::string>() + ", " +
                    std::to_string(c.plans()) + (c.plans() == 1 ? " plan)" : " plans)");
           })
      .def_property_readonly("threads", method(&Compiled::threads),
                             "The number of threads of a run.")
      .def_property_readonly("plans", method(&Compiled::plans),
                             "How many combinations of types were compiled so far.");

  // Code that is traced and run once. Plans are kept by what they compute.
  m.def("run_code", [](const py::object& code, const py::tuple& args, const py::dict& kwargs) {
    const bool keywords = !kwargs.empty();
    std::vector<py::object> objects;
    const Tree tree = Tree::flatten(
        keywords ? py::object(py::make_tuple(args, kwargs)) : py::object(args), objects);
    const std::vector<Leaf> leaves = leaves_of(objects, "an argument");
    std::vector<Type> types;
    for (const Leaf& leaf : leaves) types.push_back(leaf.type);
    TracedCode traced = trace_code(with_keywords(code, keywords), tree, types, "code", {}, false);
    return build(traced.result, (*kept_plan(traced.function))(leaves));
  });

  py::class_<Predictor>(
      m, "Predictor", py::is_final(),
      "A model that is made ready once, and then run on any number of examples.\n\nParameters\n"
      "----------\nfunction : Function\n    Of one example.\nparams : mapping\n    Bound to the "
      "inputs "
      "of their names.\nmost_rows : int\n    That run at once.\nthreads : int\n    That share the "
      "work "
      "of a call.\nshared : sequence of str\n    Inputs that come without the batch dimension.\n")
      .def(py::init([](const py::object& function, const py::object& params, std::int64_t most_rows,
                       int threads, const std::vector<std::string>& shared) {
             const Function& f = function_of(function, "Predictor");
             const Params p = params_from(params, "Predictor");
             ThreadPool* const pool = pool_of(threads);
             return unlocked([&] {
               return std::make_unique<Predictor>(
                   f, p,
                   Predictor::Options{.most_rows = most_rows, .pool = pool, .shared = shared});
             });
           }),
           py::arg("function"), py::arg("params"), py::arg("most_rows") = 256,
           py::arg("threads") = 1, py::arg("shared") = std::vector<std::string>())
      .def("__call__",
           [](const Predictor& predict, const py::args& inputs) {
             std::vector<Tensor> tensors;
             for (const py::handle o : inputs)
               tensors.push_back(tensor_of(leaf_of(o, "Predictor")));
             return one_or_all(
                 interruptible([&](StopCheck& check) { return predict(tensors, check); }));
           })
      .def(
          "prepare",
          [](Predictor& predict, const std::vector<std::int64_t>& rows) {
            unlocked([&] { predict.prepare(rows); });
          },
          py::arg("rows"), "Compiles plans of exactly so many rows each.")
      .def_property_readonly("bytes", method(&Predictor::bytes),
                             "Bytes of packed weights and of all plans' workspaces.");
}

}  // namespace limpid::python
