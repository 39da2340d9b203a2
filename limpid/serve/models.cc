#include "limpid/serve/models.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/inspect/promise.h"

namespace limpid::serve {
namespace {

// Of an error whose message may name files.
std::string reason_of(const Error& error) {
  return fmt::format("the model could not be read: {}; the log says more", name(error.code()));
}

}  // namespace

Signature signature_of(const Model& model) {
  Signature signature{
      .name = {}, .inputs = data_inputs(model), .outputs = {}, .hash = hash_of_model(model)};
  const std::vector<Output>& outputs = model.function.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string name = outputs[i].name;
    if (name.empty()) name = i == 0 ? "output" : fmt::format("output.{}", i);
    signature.outputs.push_back({std::move(name), model.function.type(outputs[i].value)});
  }
  return signature;
}

Models::Models(Options options, Batcher& batcher, Metrics& metrics)
    : options_(std::move(options)), batcher_(batcher), metrics_(metrics) {}

std::string Models::add(std::string_view spec) {
  std::string name;
  std::int64_t version = 1;
  std::string path(spec);
  if (const std::size_t equals = spec.find('='); equals != std::string_view::npos) {
    name = spec.substr(0, equals);
    path = spec.substr(equals + 1);
    if (const std::size_t at = name.rfind('@'); at != std::string::npos) {
      const char* const end = name.data() + name.size();
      const auto [stop, error] = std::from_chars(name.data() + at + 1, end, version);
      if (error != std::errc{} || stop != end || version < 1)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("serve: {}: expected NAME@VERSION=PATH, a version of 1 or more",
                                in_quotes(spec)));
      name.resize(at);
    }
  } else {
    std::filesystem::path file(path);
    if (!file.has_filename()) file = file.parent_path();
    name = std::filesystem::is_directory(file) ? file.filename() : file.stem();
  }
  if (name.empty() || path.empty() || name.find('/') != std::string::npos)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("serve: {}: expected PATH or NAME=PATH", in_quotes(spec)));
  const std::lock_guard lock(mutex_);
  if (!places_.emplace(std::pair(name, version), Place{.path = path}).second)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("serve: {}: there is a model {} already; NAME=PATH gives another name",
                            in_quotes(spec), in_quotes(name)));
  return name;
}

void Models::load(std::string_view name) {
  const std::lock_guard one_at_a_time(loading_);
  std::vector<std::pair<std::int64_t, std::string>> found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, place] : places_)
      if (key.first == name) found.emplace_back(key.second, place.path);
  }
  if (found.empty())
    throw Error(ErrorCode::kNotFound, fmt::format("there is no model {}", in_quotes(name)));
  std::exception_ptr first;
  for (const auto& [version, path] : found) {
    std::shared_ptr<const ServedModel> model;
    std::string reason;
    try {
      model = make(std::string(name), version, path);
    } catch (const Error& error) {
      reason = reason_of(error);
      if (!first) first = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    Place& place = places_.at({std::string(name), version});
    place.wanted = true;
    place.reason = reason;
    if (model) place.model = std::move(model);
  }
  if (first) std::rethrow_exception(first);
}

void Models::unload(std::string_view name) {
  const std::lock_guard lock(mutex_);
  bool found = false;
  for (auto& [key, place] : places_) {
    if (key.first != name) continue;
    found = true;
    place.wanted = false;
    place.model.reset();
    place.reason = "unloaded";
  }
  if (!found)
    throw Error(ErrorCode::kNotFound, fmt::format("there is no model {}", in_quotes(name)));
}

std::shared_ptr<const ServedModel> Models::make(const std::string& name, std::int64_t version,
                                                const std::string& path) const {
  const Model model = options_.open(path);
  auto served = std::make_shared<ServedModel>();
  served->signature = signature_of(model);
  served->signature.name = name;
  served->signature.version = version;
  const auto predictor = std::make_shared<Predictor>(
      model.function, model.params,
      Predictor::Options{
          .most_rows = options_.max_batch, .pool = options_.pool, .most_runs = options_.workers});
  // It compiles, or is not served.
  predictor->prepare({1});
  served->predictor = predictor;
  Batcher::Runner runner{
      .run = [predictor](std::span<const Tensor> inputs) { return (*predictor)(inputs); },
      .outputs = {},
      .on_batch = [&metrics = metrics_, name](std::int64_t rows) { metrics.batch(name, rows); }};
  for (const Input& output : served->signature.outputs) runner.outputs.push_back(output.type);
  served->lane = batcher_.lane(std::move(runner));
  return served;
}

std::shared_ptr<const ServedModel> Models::find(std::string_view name,
                                                std::optional<std::int64_t> version) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const ServedModel> found;
  for (const auto& [key, place] : places_)
    if (key.first == name && place.model && (!version || *version == key.second))
      found = place.model;
  return found;
}

std::vector<std::int64_t> Models::versions(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::int64_t> versions;
  for (const auto& [key, place] : places_)
    if (key.first == name && place.model) versions.push_back(key.second);
  return versions;
}

std::vector<Models::Entry> Models::index() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  for (const auto& [key, place] : places_)
    entries.push_back({key.first, key.second, place.model != nullptr, place.reason});
  return entries;
}

bool Models::ready() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, place] : places_)
    if (place.wanted && !place.model) return false;
  return true;
}

std::map<std::string, std::size_t> Models::bytes() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::size_t> bytes;
  for (const auto& [key, place] : places_)
    if (place.model) bytes[key.first] += place.model->predictor->bytes();
  return bytes;
}

}  // namespace limpid::serve
