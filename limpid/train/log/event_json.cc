// One event of a run's log as JSON, and back: names of the fields, writing, reading.
#include "limpid/train/log/detail/event_json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/json.h"
#include "limpid/train/log/run_log.h"

namespace limpid::train {
namespace {

// ---------------------------------------------------------------------------------------------
// What the fields of each event are called, for writing and for reading
// ---------------------------------------------------------------------------------------------

// Calls v(name, field) for each field, and v.beside(numbers) for numbers that are members of the
// event itself.

// `E` is the struct or, for writing, the const struct.
template <class E, class Struct>
concept Of = std::is_same_v<std::remove_const_t<E>, Struct>;

template <class V>
void fields(V& v, Of<RunEvent::Data> auto& e) {
  v("name", e.name);
  v("train", e.train);
  v("validation", e.validation);
  v("test", e.test);
  v("features", e.features);
  v("outputs", e.outputs);
  v("class_names", e.class_names);
  v.unless_empty("notes", e.notes);
}
template <class V>
void fields(V& v, Of<RunEvent::Environment> auto& e) {
  v("isa", e.isa);
  v("threads", e.threads);
  v("cpu", e.cpu);
  v("system", e.system);
  v("compiler", e.compiler);
}
template <class V>
void fields(V& v, Of<RunEvent> auto& e) {
  v("version", e.version);
  v("command", e.command);
  v("config", e.config);
  v("model", e.model);
  v("parameters", e.parameters);
  v("task", e.task);
  v("data", e.data);
  v("environment", e.environment);
}
template <class V>
void fields(V& v, Of<FeatureFacts> auto& e) {
  v("name", e.name);
  v("column", e.column);
  v("min", e.min);
  v("max", e.max);
  v("mean", e.mean);
  v("std", e.std);
}
template <class V>
void fields(V& v, Of<NonFinite> auto& e) {
  v("part", e.part);
  v("row", e.row);
  v("column", e.column);
  v("value", e.value);
}
template <class V>
void fields(V& v, Of<Duplicates> auto& e) {
  v("part", e.part);
  v("other", e.other);
  v("rows", e.rows);
  v("of", e.of);
  v("row", e.row);
  v("other_row", e.other_row);
}
template <class V>
void fields(V& v, Of<FarValue> auto& e) {
  v("name", e.name);
  v("column", e.column);
  v("target", e.target);
  v("value", e.value);
  v("rows", e.rows);
  v("low", e.low);
  v("high", e.high);
}
template <class V>
void fields(V& v, Of<Shift> auto& e) {
  v("part", e.part);
  v("here", e.here);
  v("train", e.train);
}
template <class V>
void fields(V& v, Of<TellingColumn> auto& e) {
  v("column", e.column);
  v("share", e.share);
  v("next", e.next);
}
template <class V>
void fields(V& v, Of<DataFacts> auto& e) {
  v("rows", e.rows);
  v("min", e.min);
  v("max", e.max);
  v("mean", e.mean);
  v("std", e.std);
  v("constant_features", e.constant_features);
  v("features", e.features);
  v("class_counts", e.class_counts);
  v("duplicates", e.duplicates);
  v("non_finite", e.non_finite);
  v("first_non_finite", e.first_non_finite);
  v.unless_empty("targets", e.targets);
  v.unless_empty("target_leakage", e.target_leakage);
  v.unless_empty("telling", e.telling);
  v.unless_empty("far_values", e.far_values);
  v.unless_empty("shifts", e.shifts);
}
template <class V>
void fields(V& v, Of<StepEvent> auto& e) {
  v("step", e.step);
  v("epoch", e.epoch);
  v("loss", e.loss);
  v("learning_rate", e.learning_rate);
  v("gradient_norm", e.gradient_norm);
  v.unless_empty("shards", e.shards);
}
template <class V>
void fields(V& v, Of<ParameterStatistics> auto& e) {
  v("name", e.name);
  v("mean", e.mean);
  v("std", e.std);
  v("norm", e.norm);
  v("gradient_norm", e.gradient_norm);
  v("update_norm", e.update_norm);
}
template <class V>
void fields(V& v, Of<ActivationStatistics> auto& e) {
  v("op", e.op);
  v("mean", e.mean);
  v("std", e.std);
  v("zero_share", e.zero_share);
  v("dead_share", e.dead_share);
  v("saturated_share", e.saturated_share);
}
template <class V>
void fields(V& v, Of<AttentionStatistics> auto& e) {
  v("entropy", e.entropy);
  v("lowest_head", e.lowest_head);
  v("highest_head", e.highest_head);
}
template <class V>
void fields(V& v, Of<LayerStatistics> auto& e) {
  v("name", e.name);
  v("parameters", e.parameters);
  v("activations", e.activations);
  v.unless_empty("attention", e.attention);
}
template <class V>
void fields(V& v, Of<ProbeEvent> auto& e) {
  v("step", e.step);
  v("layers", e.layers);
}
template <class V>
void fields(V& v, Of<EpochEvent> auto& e) {
  v("epoch", e.epoch);
  v("step", e.step);
  v("learning_rate", e.learning_rate);
  v("train", e.train);
  v("validation", e.validation);
  v("gradient_norm", e.gradient_norm);
  v("samples_per_second", e.samples_per_second);
  v("best", e.best);
}
template <class V>
void fields(V& v, Of<SampleEvent> auto& e) {
  v("step", e.step);
  v("text", e.text);
}
template <class V>
void fields(V& v, Of<Setting> auto& e) {
  v("key", e.key);
  v("value", e.value);
}
template <class V>
void fields(V& v, Of<Remedy> auto& e) {
  v.unless_empty("words", e.words);
  v.unless_empty("settings", e.settings);
}
template <class V>
void fields(V& v, Of<Finding> auto& e) {
  v("rule", e.rule);
  v("severity", e.severity);
  v("layer", e.layer);
  v("symptom", e.symptom);
  v("cause", e.cause);
  v("fix", e.fix);
  v("step", e.step);
  v.unless_empty("remedies", e.remedies);
  v.unless_empty("follows_from", e.follows_from);
}
template <class V>
void fields(V& v, Of<ResumeEvent> auto& e) {
  v("step", e.step);
  v.unless_empty("command", e.command);
  v.if_there("config", e.config);
}
template <class V>
void fields(V& v, Of<ClassScores> auto& e) {
  v("precision", e.precision);
  v("recall", e.recall);
  v("f1", e.f1);
}
template <class V>
void fields(V& v, Of<TargetScores> auto& e) {
  v("rmse", e.rmse);
  v("mae", e.mae);
  v("r2", e.r2);
}
template <class V>
void fields(V& v, Of<TestResult> auto& e) {
  v.beside(e.metrics);
  v("confusion", e.confusion);
  v("per_class", e.per_class);
  v.unless_empty("per_target", e.per_target);
}
template <class V>
void fields(V& v, Of<EndEvent> auto& e) {
  v("reason", e.reason);
  v.if_there("step", e.step);
  v("best_epoch", e.best_epoch);
  v("validation", e.validation);
  v("test", e.test);
  v("seconds", e.seconds);
}

// "event" in the log, in the order of the variant.
constexpr std::string_view kEventNames[] = {"run",    "data",    "step",   "probe", "epoch",
                                            "sample", "finding", "resume", "end"};
static_assert(std::size(kEventNames) == std::variant_size_v<Event>);

// ---------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------

struct Writer {
  Json object = Json::object();

  template <class T>
  void operator()(const char* name, const T& value) {
    object[name] = json(value);
  }
  template <class T>
  void unless_empty(const char* name, const T& field) {
    if (!field.empty()) (*this)(name, field);
  }
  template <class T>
  void if_there(const char* name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  void beside(const Numbers& numbers) { object.update(json(numbers)); }

  static const Json& json(const Json& value) { return value; }
  static Json json(double number) {
    if (std::isfinite(number)) return number;
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
  }
  static Json json(std::int64_t number) { return number; }
  static Json json(bool flag) { return flag; }
  static Json json(const std::string& text) { return text; }
  static Json json(Severity severity) { return train::name(severity); }
  static Json json(const Numbers& numbers) {
    Json object = Json::object();
    for (const auto& [name, number] : numbers) object[name] = json(number);
    return object;
  }
  template <class T>
  static Json json(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& v : values) list.push_back(json(v));
    return list;
  }
  template <class S>
  requires std::is_class_v<S>
  static Json json(const S& value) {
    Writer writer;
    fields(writer, value);
    return std::move(writer.object);
  }
};

// ---------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------

class Reader {
 public:
  // `path` is the position of the object: "data.features[3]".
  Reader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) refuse(path_, "an object", object);
  }

  template <class T>
  void operator()(const char* name, T& field) {
    read(at(name), field, inside(name));
  }
  // Most have none, and logs of older versions do not know of them.
  template <class T>
  void unless_empty(const char* name, T& field) {
    if (object_.contains(name)) (*this)(name, field);
  }
  // Logs of older versions do not know of it.
  template <class T>
  void if_there(const char* name, std::optional<T>& field) {
    if (object_.contains(name)) (*this)(name, field.emplace());
  }
  // Those members that are numbers; the others are fields with a name.
  void beside(Numbers& numbers) {
    for (const auto& [name, value] : object_.members())
      if (!value.is_object() && !value.is_array()) read(value, numbers, name, inside(name));
  }

 private:
  static void read(const Json& json, Numbers& numbers, const std::string& name,
                   const std::string& at) {
    double number = 0;
    read(json, number, at);
    numbers.set(name, number);
  }

  const Json& at(const char* name) const {
    const Json* const found = object_.find(name);
    if (!found) throw Error(ErrorCode::kFormat, fmt::format("'{}' is missing", inside(name)));
    return *found;
  }
  std::string inside(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }
  [[noreturn]] static void refuse(const std::string& at, std::string_view wanted,
                                  const Json& came) {
    throw Error(ErrorCode::kFormat, fmt::format("{}: expected {}, got {}", in_quotes(at), wanted,
                                                in_quotes(brief(came))));
  }

  static void read(const Json& json, Json& value, const std::string&) { value = json; }
  static void read(const Json& json, double& number, const std::string& at) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (json.is_number())
      number = json.as_number();
    else if (json == "nan")
      number = std::numeric_limits<double>::quiet_NaN();
    else if (json == "inf")
      number = kInfinity;
    else if (json == "-inf")
      number = -kInfinity;
    else
      refuse(at, "a number", json);
  }
  static void read(const Json& json, std::int64_t& number, const std::string& at) {
    if (!json.is_integer()) refuse(at, "a whole number", json);
    if (!json.is_small_integer()) refuse(at, "a number below 2^63", json);
    number = json.as_integer();
  }
  static void read(const Json& json, bool& flag, const std::string& at) {
    if (!json.is_bool()) refuse(at, "true or false", json);
    flag = json.as_bool();
  }
  static void read(const Json& json, std::string& text, const std::string& at) {
    if (!json.is_string()) refuse(at, "text", json);
    text = json.as_string();
  }
  static void read(const Json& json, Severity& severity, const std::string& at) {
    const auto found =
        json.is_string() ? find_name<Severity>(json.as_string()) : std::optional<Severity>();
    if (!found) refuse(at, one_of(all_names<Severity>()), json);
    severity = *found;
  }
  static void read(const Json& json, Numbers& numbers, const std::string& at) {
    if (!json.is_object()) refuse(at, "an object", json);
    for (const auto& [name, value] : json.members())
      read(value, numbers, name, fmt::format("{}.{}", at, name));
  }
  template <class T>
  static void read(const Json& json, std::vector<T>& values, const std::string& at) {
    if (!json.is_array()) refuse(at, "a list", json);
    for (std::size_t i = 0; i < json.size(); ++i)
      read(json.at(i), values.emplace_back(), fmt::format("{}[{}]", at, i));
  }
  template <class S>
  requires std::is_class_v<S>
  static void read(const Json& json, S& value, const std::string& at) {
    Reader reader(json, at);
    fields(reader, value);
  }

  const Json& object_;
  std::string path_;
};

template <class E>
E read_event(const Json& object) {
  E event;
  Reader reader(object, "");
  fields(reader, event);
  return event;
}

template <std::size_t... I>
std::optional<Event> read_named(std::string_view name, const Json& object,
                                std::index_sequence<I...>) {
  std::optional<Event> event;
  ((name == kEventNames[I] ? void(event = read_event<std::variant_alternative_t<I, Event>>(object))
                           : void()),
   ...);
  return event;
}

}  // namespace

std::string to_json_line(const Event& event) {
  Json object{{"event", kEventNames[event.index()]}};
  object.update(std::visit([](const auto& e) { return Writer::json(e); }, event));
  return object.dump({.replace_invalid = true}) + "\n";
}

std::optional<Event> detail::parse_event(std::string_view line) {
  const std::optional<Json> object = Json::try_parse(line);
  if (!object) throw Error(ErrorCode::kFormat, "the line is not JSON");
  const Json* const name = object->find("event");
  if (!name || !name->is_string())
    throw Error(ErrorCode::kFormat, "the line is not an event: expected {\"event\": ...}");
  return read_named(name->as_string(), *object,
                    std::make_index_sequence<std::variant_size_v<Event>>());
}

}  // namespace limpid::train
