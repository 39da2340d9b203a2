// Models: what a server serves, by name and version. Leans on batcher.h and completer.h.
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

#include "limpid/data/chat.h"
#include "limpid/data/tokenizer.h"
#include "limpid/formats/model.h"
#include "limpid/serve/batcher.h"
#include "limpid/serve/completer.h"
#include "limpid/serve/metrics.h"

namespace limpid::serve {

// What clients see of a model.
struct Signature {
  std::string name;
  std::int64_t version = 1;
  std::vector<Input> inputs;   // of one example
  std::vector<Input> outputs;  // likewise; each has a name
  std::uint64_t hash = 0;      // hash_of_model()
};

// The names and types of a model's data, each output with a name.
Signature signature_of(const Model& model);

// What a language model has beside.
struct LanguageService {
  Tokenizer tokenizer;
  std::int64_t context = 0;  // tokens of a text, its prompt included; 0: any number
  std::shared_ptr<Completer::Lane> lane;
  std::size_t places = 0;  // texts at a time
  nn::LanguageModel::Bytes bytes = {};
  std::optional<Chat> chat = {};
  std::string no_chat = {};  // why there is none
};

struct ServedModel {
  Signature signature;
  std::shared_ptr<Batcher::Lane> lane;
  std::shared_ptr<const LanguageService> language;  // nullptr of any other model
  std::function<std::size_t()> bytes;               // that it takes now
  std::shared_ptr<const Model> source;              // to look into; nullptr unless asked for
};

class Models {
 public:
  struct Options {
    // Reads a model from a path; throws limpid::Error.
    std::function<Model(const std::string& path)> open;
    std::int64_t max_batch = 64;
    int workers = 1;
    ThreadPool* pool = nullptr;
    // Of each language model: texts at a time, and bytes of their caches, which may make them fewer
    // and shorter.
    std::int64_t max_texts = 16;
    std::size_t cache_memory = std::size_t{1} << 30;
    bool keep_sources = false;
  };
  // A model of the index: one that is served, or could not be.
  struct Entry {
    std::string name;
    std::int64_t version = 1;
    bool ready = false;
    std::string reason = {};  // why it is not ready; shows no path
  };

  Models(Options options, Batcher& batcher, Completer& completer, Metrics& metrics);

  struct Id {
    std::string name;
    std::int64_t version = 1;
    auto operator<=>(const Id&) const = default;
  };
  // PATH, NAME=PATH or NAME@VERSION=PATH: the model's place, from where load() reads it. The server
  // is ready() without an optional one. Throws kInvalidArgument for a name that is taken or none,
  // or a version below 1.
  Id add(std::string_view spec, bool optional = false);
  // Reads a version, or all of them; each takes the place of the one before when it is ready. Those
  // that cannot be read leave the old ones serving. Throws what the first of them threw, kNotFound
  // for what was not added. One call at a time computes.
  void load(std::string_view name, std::optional<std::int64_t> version = {});
  // Takes the place away; requests under way are answered. Without effect where there is none.
  void remove(const Id& id);
  // Serves it no longer; requests under way are answered. Throws kNotFound.
  void unload(std::string_view name);

  // The version, or the highest one; nullptr where there is none.
  std::shared_ptr<const ServedModel> find(std::string_view name,
                                          std::optional<std::int64_t> version = {}) const;
  // The versions that are served, in order.
  std::vector<std::int64_t> versions(std::string_view name) const;
  // The names that are served, in order.
  std::vector<std::string> names() const;
  std::vector<Entry> index() const;
  // Whether every model that was added, and is not optional, is served.
  bool ready() const;
  // Of all models, what /metrics has of the moment.
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

  Options options_;
  Batcher& batcher_;
  Completer& completer_;
  Metrics& metrics_;
  std::mutex loading_;
  mutable std::mutex mutex_;
  Places places_;
};

}  // namespace limpid::serve
