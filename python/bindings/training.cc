// Training runs: limpid/train's Run, its events and the doctor. Depends on model.h.
#include <pybind11/stl.h>

#include <atomic>
#include <optional>
#include <vector>

#include "collected.h"
#include "limpid/train/config/config.h"
#include "limpid/train/diagnostics/doctor.h"
#include "limpid/train/log/run_log.h"
#include "limpid/train/run/environment.h"
#include "limpid/train/run/run.h"
#include "limpid/train/run/run_folder.h"
#include "limpid/train/run/run_setup.h"
#include "lock.h"
#include "model.h"
#include "signals.h"

namespace limpid::python {
namespace {

using train::Event;

py::object from_json(const std::string& line) {
  return py::module_::import("json").attr("loads")(line);
}

Split split_from(const py::object& data) {
  const auto refuse = [](const std::string& got) {
    throw_type(
        "Run: data: expected three Datasets (to train on, to validate, to test), such as "
        "lp.data.from_arrays({'x': x, 'y': y}) gives, got " +
        got);
  };
  if (!PySequence_Check(data.ptr())) refuse(type_name(data));
  const auto parts = py::reinterpret_borrow<py::sequence>(data);
  if (parts.size() != 3) refuse(std::to_string(parts.size()));
  const std::vector<py::object> all = items_of(parts);
  for (const py::object& part : all)
    if (!py::isinstance<Dataset>(part)) refuse(type_name(part) + " among them");
  return {py::cast<const Dataset&>(all[0]), py::cast<const Dataset&>(all[1]),
          py::cast<const Dataset&>(all[2])};
}

// (inference, training or None, loss or None, params, names of frozen ones).
train::CustomModel custom_from(const py::tuple& parts) {
  const auto maybe = [&](std::size_t i) {
    return parts[i].is_none() ? std::nullopt : std::optional(function_of(parts[i], "network"));
  };
  return {.inference = function_of(parts[0], "network"),
          .training = maybe(1),
          .loss = maybe(2),
          .params = params_from(parts[3], "params"),
          .frozen = py::cast<std::vector<std::string>>(parts[4])};
}

// A Run that one thread uses at a time.
class RunObject {
 public:
  RunObject(const std::string& config, const py::object& data, const py::object& folder,
            bool overwrite, int threads, const py::object& network) {
    train::RunOptions options;
    if (!folder.is_none()) options.folder = path_from(folder);
    options.overwrite = overwrite;
    options.pool = pool_of(threads);
    options.command = {"limpid.train"};
    const train::TrainConfig chosen = train::parse_train_config(config, "config");
    Split split;
    if (data.is_none()) {
      split = interruptible_between(
          [&](const std::function<void()>& between) { return train::load_data(chosen, between); });
    } else {
      split = split_from(data);
    }
    std::optional<train::CustomModel> custom;
    if (!network.is_none()) custom = custom_from(py::cast<py::tuple>(network));
    run_ = unlocked([&] {
      return custom ? std::make_unique<train::Run>(chosen, std::move(split), *custom, options)
                    : std::make_unique<train::Run>(chosen, std::move(split), options);
    });
  }

  void on_event(const py::function& listener) {
    const Use use(*this);
    run_->on_event([this, i = keep(listener)](const Event& event) {
      attempt([&] { listeners_[i](from_json(train::to_json_line(event))); });
    });
  }
  void on_step(const py::function& listener) {
    const Use use(*this);
    run_->on_step([this, i = keep(listener)](const train::StepEvent& event) {
      attempt([&] { listeners_[i](from_json(train::to_json_line(event))); });
    });
  }

  // For the collector of cycles: a listener may hold the run.
  int traverse(visitproc visit, void* arg) const {
    for (const py::object& listener : listeners_) Py_VISIT(listener.ptr());
    return 0;
  }
  void clear() {
    for (py::object& listener : listeners_)
      const py::object last = std::exchange(listener, py::none());
  }

  // What f makes of the run. Throws the first exception of its listeners, if there is one.
  template <class F>
  auto use(const F& f) {
    const Use use(*this);
    try {
      auto result = [&] {
        const Unlocked release;
        return f(*run_);
      }();
      throw_error();
      return result;
    } catch (...) {
      throw_error();  // it came before what the library throws
      throw;
    }
  }

  // After an exception in a listener or `stop`, or Ctrl-C, the step is completed and a checkpoint
  // is written before the exception is raised.
  py::object train(const py::object& stop) {
    return from_json(use([&](train::Run& run) {
      return train::to_json_line(run.train([&] {
        bool stops = false;
        attempt([&] {
          if (PyErr_CheckSignals() != 0) throw py::error_already_set();
          stops = !stop.is_none() && py::cast<bool>(py::bool_(stop()));
        });
        return stops || error_;
      }));
    }));
  }
  // Call a method of the run; ended() returns the end event of one that ends it.
  template <auto method>
  void call() {
    use([](train::Run& run) {
      (run.*method)();
      return 0;
    });
  }
  void step() {
    use([](train::Run& run) { return run.step(); });
  }
  template <auto method>
  py::object ended() {
    return from_json(use([](train::Run& run) { return train::to_json_line((run.*method)()); }));
  }
  const train::Run& run() const { return *run_; }
  void check_free() { const Use use(*this); }

 private:
  // Listeners may look at the run while it works.
  class Use {
   public:
    explicit Use(RunObject& run) : run_(run) {
      if (run_.used_.exchange(true))
        throw py::value_error(
            "a run is used by one thread at a time, and not changed by listeners");
    }
    ~Use() { run_.used_ = false; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    RunObject& run_;
  };

  // Calls code of Python's. An exception would leave the run in the middle of a step, without the
  // end of its epoch, so the first one is kept until the call of the run is through.
  template <class Code>
  void attempt(const Code& code) {
    const Locked lock;
    try {
      code();
    } catch (py::error_already_set& e) {
      if (!error_) error_.emplace(std::move(e));
    }
  }
  void throw_error() {
    if (!error_) return;
    std::exchange(error_, std::nullopt)->restore();
    throw py::error_already_set();
  }

  std::size_t keep(const py::function& listener) {
    listeners_.push_back(listener);
    return listeners_.size() - 1;
  }

  std::vector<py::object> listeners_;
  std::optional<py::error_already_set> error_;
  std::unique_ptr<train::Run> run_;
  std::atomic<bool> used_{false};
};

py::list findings_of(const std::vector<train::Finding>& findings) {
  py::list all;
  for (const train::Finding& f : findings) all.append(from_json(train::to_json_line(Event(f))));
  return all;
}

}  // namespace

void add_training(py::module_& m) {
  py::class_<RunObject>(m, "Run", py::is_final(),
                        py::custom_type_setup(&take_part_in_collection<RunObject>))
      .def(py::init<const std::string&, const py::object&, const py::object&, bool, int,
                    const py::object&>())
      .def("on_event", method(&RunObject::on_event))
      .def("on_step", method(&RunObject::on_step))
      .def("train", method(&RunObject::train))
      .def("start", method(&RunObject::call<&train::Run::start>))
      .def("resume", method(&RunObject::call<&train::Run::resume>))
      .def("step", method(&RunObject::step))
      .def("finish", method(&RunObject::ended<&train::Run::finish>))
      .def("interrupt", method(&RunObject::ended<&train::Run::interrupt>))
      .def("done", [](RunObject& r) { return r.use([](train::Run& run) { return run.done(); }); })
      .def("config", [](RunObject& r) { return from_json(train::to_text(r.run().config())); })
      .def("data",
           [](RunObject& r) {
             const Split& data = r.run().data();
             return py::make_tuple(data.train, data.validation, data.test);
           })
      .def("findings",
           [](RunObject& r) {
             r.check_free();
             return findings_of(r.run().log().findings);
           })
      .def("diagnose",
           [](RunObject& r) {
             r.check_free();
             return findings_of(train::diagnose(r.run().log()));
           })
      .def("epochs",
           [](RunObject& r) {
             r.check_free();
             py::list all;
             for (const train::EpochEvent& e : r.run().log().epochs)
               all.append(from_json(train::to_json_line(Event(e))));
             return all;
           })
      .def("model", [](RunObject& r) {
        return std::make_unique<ModelObject>(r.use([](train::Run& run) { return run.model(); }));
      });
  m.def("diagnose", [](const py::object& run) {
    const std::string path = path_from(run);
    return findings_of(train::diagnose(train::parse_run_log(train::log_path(path))));
  });
  m.def("read_config", [](const py::object& run) {
    const std::string path = path_from(run);
    return from_json(train::to_text(train::RunFolder(path).read_config()));
  });
  m.attr("__version__") = train::library_version();
  m.def("config_keys", [] {
    py::list all;
    for (const train::ConfigKey& key : train::config_keys())
      all.append(py::make_tuple(key.path, key.help));
    return all;
  });
}

}  // namespace limpid::python
