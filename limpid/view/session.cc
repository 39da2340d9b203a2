#include "limpid/view/session.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <system_error>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/kinds/detail/data_kind.h"
#include "limpid/data/load_data.h"
#include "limpid/formats/file.h"
#include "limpid/formats/huggingface.h"
#include "limpid/formats/npy.h"
#include "limpid/formats/safetensors.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/models/prompt.h"
#include "limpid/train/config/config.h"
#include "limpid/train/run/run_setup.h"
#include "limpid/view/language.h"
#include "limpid/view/numbers.h"
#include "limpid/view/playground.h"
#include "limpid/view/runs.h"
#include "limpid/view/stoppable_lock.h"
#include "limpid/view/temporary.h"

namespace limpid::view {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& path) {
  fs::path p(path);
  if (!p.has_filename()) p = p.parent_path();
  return p.filename().string();
}

bool is_run(const fs::path& path) {
  std::error_code ignored;
  const train::RunFolder folder(path);
  return fs::is_directory(path, ignored) && !is_huggingface(path) &&
         (fs::exists(folder.log(), ignored) || fs::exists(folder.config(), ignored));
}

// FLOPs above which compiling pays: some milliseconds in the interpreter.
constexpr std::int64_t kFlopsWorthPlan = 4'000'000;

// The Function with the result of every op as an output.
Function with_all_values(const Function& f) {
  Function::Parts parts{f.name(), f.inputs(), f.nodes(), {}, f.types()};
  for (std::size_t id = f.inputs().size(); id < f.types().size(); ++id)
    parts.outputs.push_back({"", static_cast<ValueId>(id)});
  return Function(std::move(parts));
}

}  // namespace

std::string token_text(const Tokenizer& tokenizer, std::int32_t token) {
  const std::string bytes = tokenizer.decode({&token, 1});
  if (utf8_fault(bytes) == bytes.size()) return bytes;
  std::string text;
  for (const char byte : bytes) text += fmt::format("<{:02x}>", static_cast<unsigned char>(byte));
  return text;
}

std::vector<std::string> layers_of(const Function& f) {
  std::vector<std::string> layers;
  std::map<std::string, int> count;
  for (const Node& node : f.nodes())
    if (node.op->role == Role::kLinear) ++count[node.scope];
  for (const Node& node : f.nodes())
    if (node.op->role == Role::kLinear)
      layers.push_back(node.scope.empty() || count[node.scope] > 1
                           ? value_name(f, node.first_output)
                           : node.scope);
  return layers;
}

std::string stamp_of_file(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return "";
  return fmt::format("{}:{}:{}.{:09}", found.st_ino, found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec);
}

std::size_t memory_of(const Type& type) {
  return product_or_most<std::size_t>(size_of(type.dtype),
                                      static_cast<std::size_t>(type.shape.elements()));
}

void look_into(OpenModel& open) {
  if (!open.has_function) return;
  try {
    open.config = data_config_of(open.model);
    open.tokenizer = open.config ? tokenizer_of(*open.config) : std::nullopt;
  } catch (const Error&) {  // a model may have a config in another form
  }
}

std::uint64_t OpenModel::hash() const {
  const auto lock = stoppable_lock(kept_hash->mutex);
  if (!kept_hash->known)
    kept_hash->known = has_function ? hash_of_model(model) : hash_of_numbers(model.params.values());
  return *kept_hash->known;
}

Session::Session(Options options)
    : options_(std::move(options)), pool_({.threads = options_.threads}) {
  runs_ = std::make_unique<Runs>(*this);
  playground_ = std::make_unique<Playground>();
  speaker_ = std::make_unique<Speaker>();
  for (const std::string& path : options_.paths) {
    if (is_run(path)) {
      runs_->add(path);
      continue;
    }
    auto open = std::make_shared<OpenModel>();
    open->name = file_name(path);
    open->path = path;
    open->model = open_model(path, {.onnx = options_.onnx});
    open->data = options_.data.empty() ? "" : options_.data.front();
    look_into(*open);
    put(open);
  }
}

Session::~Session() = default;

// ---- models

std::vector<std::shared_ptr<const OpenModel>> Session::models() const {
  std::vector<std::shared_ptr<const OpenModel>> all;
  {
    const std::lock_guard lock(mutex_);
    all = models_;
  }
  return all;
}

std::shared_ptr<const OpenModel> Session::put(std::shared_ptr<OpenModel> open) {
  const std::lock_guard lock(mutex_);
  if (open->id.empty()) open->id = fmt::format("m{}", next_model_++);
  if (open->version.empty()) open->version = fmt::format("v{}", next_version_++);
  for (auto& old : models_)
    if (old->id == open->id) return old = std::move(open);
  const auto is_step = [](const auto& m) { return m->origin == Origin::kStep; };
  constexpr std::ptrdiff_t kMostSteps = 16;
  if (is_step(open) && std::count_if(models_.begin(), models_.end(), is_step) >= kMostSteps)
    models_.erase(std::find_if(models_.begin(), models_.end(), is_step));
  if (models_.size() >= limits().models + options_.paths.size())
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} models are open: close one first", models_.size()));
  models_.push_back(open);
  return open;
}

std::shared_ptr<const OpenModel> Session::add(OpenModel open) {
  look_into(open);
  return put(std::make_shared<OpenModel>(std::move(open)));
}

std::shared_ptr<const OpenModel> Session::known(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  for (const auto& m : models_)
    if (m->id == id) return m;
  return nullptr;
}

std::shared_ptr<const OpenModel> Session::model(std::string_view id) {
  if (!runs_->has(id)) {
    if (auto found = known(id)) return found;
    throw Error(ErrorCode::kNotFound, fmt::format("no model {} is open", in_quotes(id)));
  }
  // A run's model is the one in its folder now.
  const train::RunFolder folder(runs_->folder(id));
  const auto version = [&] {
    std::string stamp = stamp_of_file(folder.model());
    if (stamp.empty())
      throw Error(ErrorCode::kNotFound,
                  fmt::format("run {} has no model yet: look at one of its steps", in_quotes(id)));
    return stamp;
  };
  if (auto found = known(id); found && found->version == version()) return found;
  const auto lock = stoppable_lock(opening_);  // two requests do not read it twice
  const std::string now = version();
  if (auto found = known(id); found && found->version == now) return found;
  auto open = std::make_shared<OpenModel>();
  open->id = id;
  open->name = file_name(folder.path().string());
  open->origin = Origin::kRun;
  open->path = folder.model().string();
  open->version = now;
  open->model = load_model(folder.model());
  open->data = runs_->data(id);
  look_into(*open);
  return put(std::move(open));
}

std::shared_ptr<const OpenModel> Session::open(std::string_view name,
                                               std::span<const std::byte> bytes) {
  if (bytes.size() > limits().file)
    throw Error(ErrorCode::kUnsupported, fmt::format("{0}: expected at most {2} bytes, got {1}",
                                                     in_quotes(name), bytes.size(), limits().file));
  OpenModel open{.name = std::string(name), .origin = Origin::kDropped};
  if (name.ends_with(".onnx") || name.ends_with(".safetensors")) {
    const bool onnx = name.ends_with(".onnx");
    const TemporaryFile file(bytes, onnx ? ".onnx" : ".safetensors");
    named_as(name, file.path(), [&] {
      try {
        open.model = open_model(file.path(), {.onnx = options_.onnx});
      } catch (const Error& e) {
        // Weights without a Function can be viewed, too.
        if (onnx || e.code() != ErrorCode::kFormat) throw;
        open.model.params = parse_safetensors(bytes, name).tensors;
        open.has_function = false;
      }
    });
  } else if (name.ends_with(".npz")) {
    open.model.params = parse_npz(bytes, name);
    open.has_function = false;
  } else {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("{}: expected a file named .safetensors, .onnx or .npz", in_quotes(name)));
  }
  return add(std::move(open));
}

void Session::close(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(models_.begin(), models_.end(), [&](const auto& m) { return m->id == id; });
  if (found == models_.end() || (*found)->origin == Origin::kNamed)
    throw Error(ErrorCode::kNotFound, fmt::format("no model {} was dropped", in_quotes(id)));
  models_.erase(found);
}

// ---- data

// Access to the page is not access to every file.
void Session::check_data(const std::string& spec) const {
  const DataSpec parsed = parse_data_spec(spec);
  for (const std::string& named : options_.data)
    if (named == spec) return;
  for (const std::string& id : runs_->ids())
    if (runs_->data(id) == spec) return;
  for (const detail::DataKind& kind : detail::data_kinds()) {
    if (kind.name != parsed.kind || kind.value != detail::DataKind::Value::kSeed) continue;
    for (const DataSpec::Option& option : parsed.options)
      if (option.key == "count" &&
          (option.value.size() > 9 || std::atoll(option.value.c_str()) > limits().rows))
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("data: at most {} rows are generated here", limits().rows));
    return;
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("data: {} was not named on the command line", in_quotes(spec)));
}

std::shared_ptr<const Dataset> Session::examples(const OpenModel& model, const std::string& spec,
                                                 std::string_view part) {
  if (spec.empty())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("model {} has no data set of its own: name one", in_quotes(model.id)));
  check_data(spec);
  if (part != "train" && part != "validation" && part != "test")
    throw Error(ErrorCode::kNotFound,
                fmt::format("part: expected train, validation or test, got {}", in_quotes(part)));
  // A run that was started anew has another model of the same id.
  const std::string key = fmt::format("{}\n{}\n{}\n{}", model.id, model.version, part, spec);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = data_.find(key); found != data_.end()) return found->second;
  }
  std::shared_ptr<const Dataset> data;
  const std::string run = model.id.substr(0, model.id.find('@'));
  if (part == "test" && model.has_function) {
    data = std::make_shared<Dataset>(
        load_examples(parse_data_spec(spec), model.model, Targets::kIfPresent));
  } else {
    const bool of_run = runs_->has(run) && runs_->data(run) == spec;
    Split split = of_run ? train::load_data(train::RunFolder(runs_->folder(run)).read_config())
                         : load_data(spec);
    Dataset& chosen = part == "train"  ? split.train
                      : part == "test" ? split.test
                                       : split.validation;
    data = std::make_shared<Dataset>(std::move(chosen));
  }
  const std::lock_guard lock(mutex_);
  constexpr std::size_t kMostData = 16;
  if (data_.size() >= kMostData) data_.clear();
  return data_[key] = data;
}

// ---- values

void Session::check_memory(std::size_t bytes) const {
  if (bytes > limits().memory)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the values of this request take {} bytes, the limit is {}", bytes,
                            limits().memory));
}

Executable Session::compiled(const Function& function) {
  std::size_t bytes = 0;
  for (const Output& output : function.outputs())
    bytes = sum_or_most<std::size_t>(bytes, memory_of(function.type(output.value)));
  check_memory(bytes);
  std::optional<Executable> executable;
  {
    const std::lock_guard lock(planning_);
    for (const auto& [key, plan] : plans_)
      if (key == function) executable = plan;
  }
  // Without the lock: others need not wait. Two may plan the same, and keep one of the plans.
  if (!executable) executable = compile(function);
  check_memory(sum_or_most<std::size_t>(bytes, executable->workspace_bytes()));
  const std::lock_guard lock(planning_);
  return plans_.get(function, [&] { return *executable; });
}

std::vector<Tensor> Session::values(const Function& function, std::vector<Tensor> inputs) {
  check_arguments(function, inputs);
  std::size_t bytes = 0;
  for (std::size_t id = function.inputs().size(); id < function.types().size(); ++id)
    bytes = sum_or_most<std::size_t>(bytes, memory_of(function.types()[id]));
  check_memory(bytes);
  std::vector<Tensor> all = inputs;
  if (flops_of(function) < kFlopsWorthPlan) {
    interpret(function, inputs,
              [&](const Node&, std::size_t, const Tensor& value) { all.push_back(value); });
    return all;
  }
  for (Tensor& value : compiled(with_all_values(function))(inputs)) all.push_back(std::move(value));
  return all;
}

// ---- JSON

namespace {

Json type_json(const Input& i) {
  return {
      {"name", i.name}, {"dtype", limpid::name(i.type.dtype)}, {"shape", to_json(i.type.shape)}};
}

Json strings_or_null(const std::vector<std::string>& list) {
  return list.empty() ? Json() : Json(list);
}

// An initial text of tokens in the vocabulary.
std::string first_text(const Tokenizer& tokenizer) {
  constexpr std::string_view kText = "The quick brown fox";
  const auto knows = [&](std::string_view text) {
    try {
      static_cast<void>(tokenizer.encode(text));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  if (knows(kText)) return std::string(kText);
  std::string known;
  for (const char c : kText) {
    const char lower = c == 'T' ? 't' : c;
    for (const char one : {c, lower})
      if (knows({&one, 1})) {
        known += one;
        break;
      }
  }
  const std::array<std::int32_t, 1> first{0};
  return known.empty() ? tokenizer.decode(first) : known;
}

}  // namespace

Json model_json(const OpenModel& open) {
  const Function& f = open.model.function;
  std::int64_t parameters = 0, bytes = 0;
  for (const auto& [name, tensor] : open.model.params) {
    parameters += tensor.elements();
    bytes += static_cast<std::int64_t>(tensor.type().bytes());
  }
  Json outputs = Json::array();
  for (const Output& o : f.outputs()) outputs.push_back(type_json({o.name, f.type(o.value)}));
  const std::vector<Input> inputs =
      open.has_function ? data_inputs(open.model) : std::vector<Input>{};
  Json inputs_json = Json::array();
  for (const Input& i : inputs) {
    Json one = type_json(i);
    one["value"] = "%" + quoted_name(i.name);
    inputs_json.push_back(std::move(one));
  }
  Json picture, task, classes, features, targets;
  if (inputs.size() == 1 && inputs[0].type.dtype == Dtype::kF32) {
    constexpr std::int64_t kSmallest = 8;
    const std::int64_t count = inputs[0].type.shape.elements();
    const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(count))));
    if (side >= kSmallest && side * side == count &&
        (!open.config || open.config->feature_names.empty()))
      picture = Json{{"height", side}, {"width", side}};
  }
  if (open.config) {
    task = limpid::name(open.config->task);
    classes = strings_or_null(open.config->class_names);
    features = strings_or_null(open.config->feature_names);
    targets = strings_or_null(open.config->target_names);
    if (open.config->task == Task::kNextToken) classes = Json();
  }
  return {{"id", open.id},
          {"name", open.name},
          {"kind", open.has_function ? "model" : "tensors"},
          {"origin", name(open.origin)},
          {"parameters", parameters},
          {"bytes", bytes},
          {"ops", static_cast<std::int64_t>(f.nodes().size())},
          {"inputs", inputs_json},
          {"outputs", outputs},
          {"task", task},
          {"picture", picture},
          {"classes", classes},
          {"features", features},
          {"targets", targets},
          {"text", open.tokenizer ? Json(first_text(*open.tokenizer)) : Json()},
          {"data", open.data.empty() ? Json() : Json(open.data)},
          {"layers", Json(layers_of(f))},
          {"version", open.version},
          {"note", open.model.note.empty() ? Json() : Json(open.model.note)}};
}

Json session_json(Session& session) {
  Json runs = Json::array();
  for (const std::string& id : session.runs().ids()) {
    runs.push_back(session.runs().info(id));
    try {
      session.model(id);  // opens it, so that it is listed
    } catch (const Error&) {
    }
  }
  Json models = Json::array();
  for (const auto& open : session.models()) models.push_back(model_json(*open));
  const Limits& limits = session.limits();
  return {{"version", session.options().version},
          {"isa", kernels::name(kernels::default_isa())},
          {"threads", session.options().threads},
          {"models", models},
          {"runs", runs},
          {"folder",
           session.options().folder.empty() ? Json() : Json(session.options().folder.string())},
          {"limits",
           {{"body", limits.body},
            {"values", limits.values},
            {"nodes", limits.nodes},
            {"file", limits.file},
            {"steps", limits.steps}}}};
}

}  // namespace limpid::view
