#include "limpid/serve/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "limpid/compile/predictor.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/pictures/picture_example.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/models/generate.h"
#include "limpid/models/prompt.h"

namespace limpid::serve {
namespace {

// The reason for clients: the error's own message may name files.
std::string reason_of(const Error& error) {
  if (error.code() == ErrorCode::kNoMemory) return "out of memory";
  return fmt::format("the model could not be read: {}; the log says more", name(error.code()));
}

// Whether a name can be a segment of a URL. Clients resolve . and .. themselves; UTF-8 is also what
// Prometheus requires.
bool fits_url(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         utf8_fault(name) == name.size();
}

std::optional<Tokenizer> tokenizer_if_any(const Model& model) {
  try {
    return tokenizer_of(model);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kNoMemory) throw;
    return std::nullopt;
  }
}

// Limits the number of texts to what fits in `memory` with a full context; if not even one fits,
// one text with a shorter context.
void fit_caches(const nn::Gpt& net, std::size_t memory, nn::LanguageModel::Options& sizes) {
  // A sequence takes an odd number of lines of 16 columns.
  constexpr std::int64_t kLine = 16;
  std::size_t line = 0;
  for (const Input& cache : net.caches({.sequences = 1, .capacity = kLine}))
    line += cache.type.bytes();
  const auto lines = static_cast<std::int64_t>(memory / line);
  if (lines < 1)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("serve: a cache of {} bytes is too small: expected at least {}", memory, line));
  sizes.capacity = std::min(net.context, ((lines - 1) | 1) * kLine);
  const std::int64_t of_one = (sizes.capacity + kLine - 1) / kLine | 1;
  sizes.sequences = std::clamp(lines / of_one, std::int64_t{1}, sizes.sequences);
}

// The same for the states of a recurrent network, which are as large whatever the length.
void fit_states(const nn::RecurrentLm& net, std::size_t memory, nn::LanguageModel::Options& sizes) {
  std::size_t each = 0;
  for (const Input& state : net.states(1)) each += state.type.bytes();
  if (memory < each)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("serve: a cache of {} bytes is too small: expected at least {}", memory, each));
  sizes.sequences =
      std::clamp(static_cast<std::int64_t>(memory / each), std::int64_t{1}, sizes.sequences);
}

// A Predictor that is compiled at its first use.
class LatePredictor {
 public:
  LatePredictor(const Model& model, const Predictor::Options& options)
      : function_(model.function), params_(model.params), options_(options) {}

  const Predictor& get() {
    const std::lock_guard lock(mutex_);
    if (!predictor_) {
      auto made = std::make_unique<Predictor>(function_, params_, options_);
      made->prepare({1});
      predictor_ = std::move(made);
      params_ = {};
    }
    return *predictor_;
  }
  std::size_t bytes() const {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock && predictor_ ? predictor_->bytes() : 0;
  }

 private:
  const Function function_;
  Params params_;
  const Predictor::Options options_;
  mutable std::mutex mutex_;
  std::unique_ptr<Predictor> predictor_;
};

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

Models::Models(Options options, Batcher& batcher, Scheduler& scheduler, Metrics& metrics)
    : options_(std::move(options)), batcher_(batcher), scheduler_(scheduler), metrics_(metrics) {}

Models::Id Models::add(std::string_view spec, bool optional) {
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
    // The name of the folder where the path is . or ends with /.
    std::error_code ignored;
    std::filesystem::path file = std::filesystem::absolute(path, ignored).lexically_normal();
    if (!file.has_filename()) file = file.parent_path();
    name = std::filesystem::is_directory(file, ignored) ? file.filename() : file.stem();
  }
  if (path.empty() || !fits_url(name))
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("serve: {}: expected PATH or NAME=PATH, a name in UTF-8 without /, not . "
                    "or ..",
                    in_quotes(spec)));
  const std::lock_guard lock(mutex_);
  if (!places_.emplace(Id{name, version}, Place{.path = path, .optional = optional}).second)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("serve: {}: there is a model {} already; NAME=PATH gives another name",
                            in_quotes(spec), in_quotes(name)));
  return {name, version};
}

void Models::remove(const Id& id) {
  const std::lock_guard one_at_a_time(loading_);
  Places::node_type old;  // it ends unlocked
  const std::lock_guard lock(mutex_);
  old = places_.extract(id);
}

void Models::load(std::string_view name, std::optional<std::int64_t> wanted) {
  const std::lock_guard one_at_a_time(loading_);
  std::vector<std::pair<std::int64_t, std::string>> found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, place] : places_)
      if (key.name == name && (!wanted || *wanted == key.version))
        found.emplace_back(key.version, place.path);
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
    } catch (const std::bad_alloc&) {
      reason = "out of memory";
      if (!first) first = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    Place& place = places_.at(Id{std::string(name), version});
    place.wanted = true;
    place.reason = reason;
    // The old model ends with this scope, unlocked: freeing its memory takes time.
    if (model) place.model.swap(model);
  }
  if (first) std::rethrow_exception(first);
}

void Models::unload(std::string_view name) {
  const std::lock_guard one_at_a_time(loading_);
  std::vector<std::shared_ptr<const ServedModel>> old;  // they end unlocked
  const std::lock_guard lock(mutex_);
  bool found = false;
  for (auto& [key, place] : places_) {
    if (key.name != name) continue;
    found = true;
    place.wanted = false;
    old.push_back(std::move(place.model));
    place.model = nullptr;
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
  if (served->signature.inputs.size() == 1) served->pictures = picture_shape_of(model);
  served->language = language_of(model);
  served->embedding = encoder_of(model, name, 0);
  served->ranking = encoder_of(model, name, 1);
  if (options_.keep_sources) served->source = std::make_shared<Model>(model);
  // + 2: the threads that submit compute, too: the event loop, and the reader of large bodies.
  const auto predictor =
      std::make_shared<LatePredictor>(model, Predictor::Options{.most_rows = options_.max_batch,
                                                                .pool = options_.pool,
                                                                .most_runs = options_.workers + 2});
  // A model that does not compile is not served. A language model compiles at the first request for
  // logits, as most clients ask for texts only.
  // So does a text encoder, at the first request for tokens of its full length.
  if (!served->language && !served->embedding && !served->ranking) predictor->get();
  served->bytes = [predictor, language = served->language, embedding = served->embedding,
                   ranking = served->ranking] {
    std::size_t bytes = predictor->bytes();
    if (embedding) bytes += embedding->embedder->bytes();
    if (ranking) bytes += ranking->embedder->bytes();
    if (language)
      bytes += language->bytes.weights + language->bytes.caches + language->bytes.workspaces;
    return bytes;
  };
  Batcher::Runner runner{
      .run = [predictor](std::span<const Tensor> inputs) { return predictor->get()(inputs); },
      .outputs = {},
      .on_batch = [&metrics = metrics_, name](std::int64_t rows) { metrics.batch(name, rows); },
      .hash = hashes_of_numbers};
  for (const Input& output : served->signature.outputs) runner.outputs.push_back(output.type);
  served->lane = batcher_.lane(std::move(runner));
  return served;
}

// nullptr for a model that is not a language model: no tokenizer, or outputs that are no next-token
// logits.
std::shared_ptr<const LanguageService> Models::language_of(const Model& model) const {
  constexpr std::int64_t kChunk = 64;
  const std::optional<Tokenizer> tokenizer = tokenizer_if_any(model);
  if (!tokenizer) return nullptr;
  nn::LanguageModel::Options sizes{
      .sequences = options_.max_texts, .chunk = kChunk, .pool = options_.pool};
  const std::optional<nn::Gpt> net = gpt_of(model);
  const std::optional<nn::RecurrentLm> recurrent = recurrent_lm_of(model);
  if (net) fit_caches(*net, options_.cache_memory, sizes);
  if (recurrent) fit_states(*recurrent, options_.cache_memory, sizes);
  std::optional<nn::LanguageModel> language;
  try {
    language.emplace(language_model_of(model, sizes));
  } catch (const Error& error) {
    if (net || recurrent || error.code() == ErrorCode::kNoMemory) throw;
    return nullptr;
  }
  if (tokenizer->size() > language->vocabulary()) return nullptr;
  language->prepare();
  auto service = std::make_shared<LanguageService>(
      LanguageService{.tokenizer = *tokenizer,
                      .context = sizes.capacity,
                      .longest_token = longest_token(*tokenizer),
                      .lane = nullptr,
                      .places = static_cast<std::size_t>(sizes.sequences),
                      .bytes = language->bytes()});
  try {
    service->chat = Chat::of(model);
    if (!service->chat) service->no_chat = "the model has no chat template";
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kNoMemory) throw;
    service->no_chat = error.what();
    service->chat_unsupported = true;
  }
  service->lane = scheduler_.lane(std::move(*language), kChunk, options_.pool);
  return service;
}

// nullptr for a model that is no text encoder with so many classes. One without classes gives
// embeddings, one with a single class ranks pairs of texts.
std::shared_ptr<const EncoderService> Models::encoder_of(const Model& model,
                                                         const std::string& name,
                                                         std::int64_t classes) const {
  const std::optional<nn::TextEncoder> net = text_encoder_of(model);
  if (!net || net->classes != classes) return nullptr;
  auto embedder = std::make_shared<TextEmbedder>(
      model, TextEmbedder::Options{.pool = options_.pool, .most_runs = options_.workers + 2});
  // A model that does not compile is not served.
  const bool pair = classes > 0 && embedder->has_second_type();
  (void)embedder->predictor(embedder->lengths().front(), pair);
  auto service = std::make_shared<EncoderService>(EncoderService{embedder, {}});
  const Type row{Dtype::kF32, {embedder->size()}};
  for (const std::int64_t length : embedder->lengths())
    service->lanes[length] = batcher_.lane(
        {.run =
             [embedder, length, pair](std::span<const Tensor> inputs) {
               return embedder->predictor(length, pair)(inputs);
             },
         .outputs = {row},
         .on_batch = [&metrics = metrics_, name](std::int64_t rows) { metrics.batch(name, rows); },
         .hash = hashes_of_numbers});
  return service;
}

std::shared_ptr<const ServedModel> Models::find(std::string_view name,
                                                std::optional<std::int64_t> version) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const ServedModel> found;
  for (const auto& [key, place] : places_)
    if (key.name == name && place.model && (!version || *version == key.version))
      found = place.model;
  return found;
}

std::vector<std::int64_t> Models::versions(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::int64_t> versions;
  for (const auto& [key, place] : places_)
    if (key.name == name && place.model) versions.push_back(key.version);
  return versions;
}

std::vector<std::string> Models::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [key, place] : places_)
    if (place.model && (names.empty() || names.back() != key.name)) names.push_back(key.name);
  return names;
}

std::vector<Models::Entry> Models::index() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  for (const auto& [key, place] : places_)
    entries.push_back({key.name, key.version, place.model != nullptr, place.reason});
  return entries;
}

bool Models::ready() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, place] : places_)
    if (place.wanted && !place.optional && !place.model) return false;
  return true;
}

void Models::measure(Metrics::Gauges& gauges) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, place] : places_) {
    if (!place.model) continue;
    gauges.model_bytes[key.name] += place.model->bytes();
    if (const auto& language = place.model->language) {
      Metrics::Gauges::Language& all = gauges.languages[key.name];
      all.cache_bytes += language->bytes.caches;
      all.texts += Scheduler::running(*language->lane);
      all.places += language->places;
    }
  }
}

}  // namespace limpid::serve
