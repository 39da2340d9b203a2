// Session: the open models, data sets and runs of a page. Every response is a pure function of the
// session and a request. Depends on data, train and numbers.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/compile/plan_store.h"
#include "limpid/core/enum_names.h"
#include "limpid/data/data_config.h"
#include "limpid/data/dataset.h"
#include "limpid/data/text/tokenizer.h"
#include "limpid/models/open_model.h"

namespace limpid::view {

class Playground;
class Runs;
class Speaker;

// Limits of a session; requests beyond them are refused.
struct Limits {
  std::size_t file = std::size_t{512} << 20;    // bytes of an uploaded file
  std::size_t body = std::size_t{12} << 20;     // bytes of any other request
  std::int64_t values = std::int64_t{1} << 20;  // elements of a tensor in a response
  std::int64_t nodes = 200'000;                 // of a graph
  std::int64_t steps = 1'000'000;               // of a run that is recomputed
  std::size_t models = 64;                      // open at a time
  std::int64_t rows = 100'000;                  // of a generated data set
  std::size_t edits = 256;                      // of a request
  std::size_t memory = std::size_t{4} << 30;    // bytes of the values of a request
  std::int64_t shown = std::int64_t{1} << 22;   // elements of all tensors in a response
};

// The origin of a model.
enum class Origin : std::uint8_t { kNamed, kDropped, kRun, kStep, kVariant };
constexpr EnumNames<5> enum_names(Origin) {
  return {"origin", {"named", "dropped", "run", "step", "variant"}};
}
using limpid::name;

// An open model with its metadata; or the tensors of a file without a function.
struct OpenModel {
  std::string id = {}, name = {};
  Origin origin = Origin::kNamed;
  std::string path = {};  // as on the command line; may be empty
  Model model = {};       // for a file of tensors: a function without ops
  bool has_function = true;
  std::optional<DataConfig> config = {};  // of its training data
  std::optional<Tokenizer> tokenizer = {};
  std::string data = {};     // the training data set; may be empty
  std::string version = {};  // changes with the model of an id

  // Of the model, or of the tensors of a file without a function. Reads all of its numbers at the
  // first call, which may be that of any thread.
  std::uint64_t hash() const;

  struct Hash {
    std::mutex mutex = {};
    std::optional<std::uint64_t> known = {};
  };
  std::shared_ptr<Hash> kept_hash = std::make_shared<Hash>();
};

class Session {
 public:
  struct Options {
    std::vector<std::string> paths = {};  // models and run folders
    std::vector<std::string> data = {};   // allowed data sets, besides generated ones
    std::filesystem::path folder = {};    // folder for new runs; empty: none can be started
    const ModelFormat* onnx = nullptr;
    std::string version = {};
    int threads = 1;
    Limits limits = {};
  };

  // Opens the paths. Throws what open_model throws, and kNotFound for a path that is neither a
  // model nor a run.
  explicit Session(Options options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options& options() const { return options_; }
  const Limits& limits() const { return options_.limits; }
  Runs& runs() { return *runs_; }
  Playground& playground() { return *playground_; }
  Speaker& speaker() { return *speaker_; }
  ThreadPool& pool() { return pool_; }

  std::vector<std::shared_ptr<const OpenModel>> models() const;
  // Throws kNotFound.
  std::shared_ptr<const OpenModel> model(std::string_view id);
  // Adds a model with its id, or with a new one if the id is empty. Throws kUnsupported if too many
  // are open.
  std::shared_ptr<const OpenModel> add(OpenModel open);
  // Opens the bytes of a .safetensors, .onnx or .npz file; the extension of `name` decides. Throws
  // what reading it throws, and kUnsupported for another extension.
  std::shared_ptr<const OpenModel> open(std::string_view name, std::span<const std::byte> bytes);
  // Closes a model that is not from the command line. Throws kNotFound.
  void close(std::string_view id);

  // Examples of a data set for a model: the set "test" as in `limpid trace --data`, or "train" or
  // "validation". Throws kInvalidArgument for a file that is not an allowed data set, kNotFound for
  // another set, and what load_examples and load_data throw.
  std::shared_ptr<const Dataset> examples(const OpenModel& model, const std::string& spec,
                                          std::string_view part);
  // Throws kInvalidArgument for a file that is not an allowed data set, and what parse_data_spec
  // throws.
  void check_data(const std::string& spec) const;

  // Throws kUnsupported if the values of a request take more bytes than limits().memory.
  void check_memory(std::size_t bytes) const;
  // The compiled Function. Keeps the most recently used plans, with the Function as key, so that an
  // edited or changed model gets its own plan. Throws what check_memory() throws.
  Executable compiled(const Function& function);
  // Every value of a run of the Function, by ValueId. Compiled if it pays off; the bits are those
  // of the interpreter. Throws what check_memory() throws.
  std::vector<Tensor> values(const Function& function, std::vector<Tensor> inputs);

 private:
  std::shared_ptr<const OpenModel> put(std::shared_ptr<OpenModel> open);
  // The model of this id as it was opened last; nullptr if it was not.
  std::shared_ptr<const OpenModel> known(std::string_view id) const;

  Options options_;
  ThreadPool pool_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const OpenModel>> models_;
  std::size_t next_model_ = 0, next_version_ = 0;
  std::map<std::string, std::shared_ptr<const Dataset>> data_;
  std::mutex planning_, opening_;
  PlanStore<Function, Executable> plans_{16};
  std::unique_ptr<Runs> runs_;
  std::unique_ptr<Playground> playground_;
  std::unique_ptr<Speaker> speaker_;
};

// Identifies the content of a file that is replaced as a whole, by its inode, size and time of
// change; empty if there is no such file.
std::string stamp_of_file(const std::filesystem::path& path);

// The bytes of a tensor; at most the largest std::size_t.
std::size_t memory_of(const Type& type);

// A token's text for display; bytes that are no UTF-8 by themselves as "<ce>".
std::string token_text(const Tokenizer& tokenizer, std::int32_t token);

// The layers whose neurons can be shown, one for each op with a weight: its scope, or its value's
// name if it has no scope or shares it.
std::vector<std::string> layers_of(const Function& f);

// Fills in config and tokenizer of open.model.
void look_into(OpenModel& open);

// To JSON, as in docs/view-api.md.
Json model_json(const OpenModel& open);
Json session_json(Session& session);

}  // namespace limpid::view
