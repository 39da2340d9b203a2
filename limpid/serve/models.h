// Models: the served models, by name and version. Depends on batcher.h and scheduler.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/data/chat/chat.h"
#include "limpid/data/data_config.h"
#include "limpid/data/text/tokenizer.h"
#include "limpid/formats/model.h"
#include "limpid/models/text_embedder.h"
#include "limpid/serve/batcher.h"
#include "limpid/serve/metrics.h"
#include "limpid/serve/scheduler.h"

namespace limpid::serve {

// The signature of a model, for clients.
struct Signature {
  std::string name;
  std::int64_t version = 1;
  std::vector<Input> inputs;   // of one example
  std::vector<Input> outputs;  // of one example; each has a name
  std::uint64_t hash = 0;      // hash_of_model()
};

// The signature of a model; outputs without a name get one.
Signature signature_of(const Model& model);

// Additional members of a language model.
struct LanguageService {
  Tokenizer tokenizer;
  std::int64_t context = 0;       // the most tokens of a text, including its prompt; 0: unlimited
  std::size_t longest_token = 1;  // bytes
  std::shared_ptr<Scheduler::Lane> lane;
  std::size_t places = 0;  // the most texts at a time
  nn::LanguageModel::Bytes bytes = {};
  std::optional<Chat> chat = {};
  std::string no_chat = {};       // the reason if `chat` is empty
  bool chat_unsupported = false;  // whether there is a template that is not supported
};

// Additional members of a text encoder that gives embeddings, or ranks pairs of texts.
struct EncoderService {
  std::shared_ptr<const TextEmbedder> embedder;
  std::map<std::int64_t, std::shared_ptr<Batcher::Lane>> lanes;  // by padded length
};

struct ServedModel {
  Signature signature;
  std::shared_ptr<Batcher::Lane> lane;
  std::optional<PictureShape> pictures;  // to which pictures are brought; nullopt: it takes none
  std::shared_ptr<const LanguageService> language;  // nullptr for any other model
  std::shared_ptr<const EncoderService> embedding;  // likewise
  std::shared_ptr<const EncoderService> ranking;    // of pairs of texts; likewise
  std::function<std::size_t()> bytes;               // current memory use in bytes
  std::shared_ptr<const Model> source;  // for inspection; nullptr unless Options::keep_sources
};

class Models {
 public:
  struct Options {
    // Reads a model from a path; throws limpid::Error.
    std::function<Model(const std::string& path)> open;
    std::int64_t max_batch = 64;
    int workers = 1;
    ThreadPool* pool = nullptr;
    // For each language model: the most texts at a time, and the memory of their caches in bytes,
    // which may further limit number and length of the texts.
    std::int64_t max_texts = 16;
    std::size_t cache_memory = std::size_t{1} << 30;
    bool keep_sources = false;
  };
  // An entry of the index: a model that is served, or that could not be read.
  struct Entry {
    std::string name;
    std::int64_t version = 1;
    bool ready = false;
    std::string reason = {};  // why it is not ready; contains no path
  };

  Models(Options options, Batcher& batcher, Scheduler& scheduler, Metrics& metrics);

  struct Id {
    std::string name;
    std::int64_t version = 1;
    // clang-tidy takes the 0 that the comparison is held against for a pointer.
    // NOLINTNEXTLINE(modernize-use-nullptr)
    auto operator<=>(const Id&) const = default;
  };
  // Adds a model, PATH, NAME=PATH or NAME@VERSION=PATH, for load() to read. ready() does not wait
  // for an optional model. Throws kInvalidArgument for a name that is taken or invalid, or a
  // version below 1.
  Id add(std::string_view spec, bool optional = false);
  // Reads one version or all versions of a model. Each replaces the previous one when it is ready;
  // if it cannot be read, the previous one stays in service. Throws the first error of reading;
  // kNotFound for a model that was not added. load(), unload() and remove() run one at a time.
  void load(std::string_view name, std::optional<std::int64_t> version = {});
  // Removes a model; active requests are still answered. No effect if there is none.
  void remove(const Id& id);
  // Stops serving a model; active requests are still answered. Throws kNotFound.
  void unload(std::string_view name);

  // This version, or the highest one; nullptr if there is none.
  std::shared_ptr<const ServedModel> find(std::string_view name,
                                          std::optional<std::int64_t> version = {}) const;
  // The served versions, sorted.
  std::vector<std::int64_t> versions(std::string_view name) const;
  // The names of the served models, sorted.
  std::vector<std::string> names() const;
  std::vector<Entry> index() const;
  // Whether every added model that is not optional is served.
  bool ready() const;
  // Sets the gauges of all models for /metrics.
  void measure(Metrics::Gauges& gauges) const;

 private:
  struct Place {
    std::string path;
    std::shared_ptr<const ServedModel> model = {};
    bool optional = false;
    bool wanted = true;  // not unloaded
    std::string reason = {};
  };
  using Places = std::map<Id, Place>;

  std::shared_ptr<const ServedModel> make(const std::string& name, std::int64_t version,
                                          const std::string& path) const;
  std::shared_ptr<const LanguageService> language_of(const Model& model) const;
  std::shared_ptr<const EncoderService> encoder_of(const Model& model, const std::string& name,
                                                   std::int64_t classes) const;

  Options options_;
  Batcher& batcher_;
  Scheduler& scheduler_;
  Metrics& metrics_;
  std::mutex loading_;
  mutable std::mutex mutex_;
  Places places_;
};

}  // namespace limpid::serve
