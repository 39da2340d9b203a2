// Session: what is open while a page is looked at: models, data sets, runs. Everything else is a
// pure function of it and of a request. Leans on data, train and numbers.h.
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
#include "limpid/data/data_config.h"
#include "limpid/data/dataset.h"
#include "limpid/data/open_model.h"
#include "limpid/data/tokenizer.h"

namespace limpid::view {

class Playground;
class Runs;
class Speaker;

// What a session takes on; beyond it a request is refused.
struct Limits {
  std::size_t file = std::size_t{512} << 20;    // bytes of a file that is dropped
  std::size_t body = std::size_t{12} << 20;     // bytes of any other request
  std::int64_t values = std::int64_t{1} << 20;  // elements of a tensor in an answer
  std::int64_t nodes = 200'000;                 // of a graph
  std::int64_t steps = 1'000'000;               // of a run that is recomputed
  std::size_t models = 64;                      // that are open at a time
  std::int64_t rows = 100'000;                  // of a generated data set
  std::size_t edits = 256;                      // of a request
};

// Where a model came from.
enum class Origin : std::uint8_t { kNamed, kDropped, kRun, kStep, kVariant };
std::string_view name(Origin origin);  // "named", "dropped", ...

// A model, and what is known of it; or the tensors of a file that has no function.
struct OpenModel {
  std::string id = {}, name = {};
  Origin origin = Origin::kNamed;
  std::string path = {};  // as the command line has it; empty for what has none
  Model model = {};       // of a file of tensors: a function without ops
  bool has_function = true;
  std::optional<DataConfig> config = {};  // of the data that it was trained on
  std::optional<Tokenizer> tokenizer = {};
  std::string data = {};  // the data set that it was trained on; may be empty
  std::uint64_t hash = 0;
};

class Session {
 public:
  struct Options {
    std::vector<std::string> paths = {};  // of models and of runs' folders
    std::vector<std::string> data = {};   // data sets that may be asked for, beside generated ones
    std::filesystem::path folder = {};    // where runs may be started; empty: nowhere
    const ModelFormat* onnx = nullptr;
    std::string version = {};
    int threads = 1;
    Limits limits = {};
  };

  // Opens what is named. Throws what open_model throws, and kNotFound for a path that is neither a
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
  // A model as it was made, under its id, or under a new one where that is empty. Throws
  // kUnsupported where too many are open.
  std::shared_ptr<const OpenModel> add(OpenModel open);
  // The bytes of a .safetensors, .onnx or .npz file, by the end of its name. Throws what reading it
  // throws, kUnsupported for another name.
  std::shared_ptr<const OpenModel> open(std::string_view name, std::span<const std::byte> bytes);
  // Forgets a model that the command line did not name. Throws kNotFound.
  void close(std::string_view id);

  // Examples of a data set as the model takes them: the part "test" as `limpid trace --data` has
  // it, or "train" or "validation". Throws kInvalidArgument for a data set that is a file and was
  // not named, kNotFound for another part, and what load_examples and load_data throw.
  std::shared_ptr<const Dataset> examples(const OpenModel& model, const std::string& spec,
                                          std::string_view part);
  // Throws kInvalidArgument for a data set that is a file and was not named, and what
  // parse_data_spec throws.
  void check_data(const std::string& spec) const;

  // The Function, compiled. The plans used last are kept and compared by the Function itself: an
  // edited model, or one that was written anew, gets a plan of its own.
  Executable compiled(const Function& function);
  // Every value of a run of the Function, by number; compiled where that is worth it, with the
  // interpreter's bits.
  std::vector<Tensor> values(const Function& function, std::vector<Tensor> inputs);

 private:
  std::shared_ptr<const OpenModel> put(std::shared_ptr<OpenModel> open);

  Options options_;
  ThreadPool pool_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const OpenModel>> models_;
  std::size_t next_model_ = 0;
  std::map<std::string, std::shared_ptr<const Dataset>> data_;
  std::mutex planning_;
  PlanStore<Function, Executable> plans_{16};
  std::unique_ptr<Runs> runs_;
  std::unique_ptr<Playground> playground_;
  std::unique_ptr<Speaker> speaker_;
};

// What the config, the tokenizer and the hash of a model say. `open` has the model.
void look_into(OpenModel& open);

// As JSON: the types of docs/view-api.md.
Json model_json(const OpenModel& open);
Json session_json(Session& session);

}  // namespace limpid::view
