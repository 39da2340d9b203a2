// Models and language models in Python. Depends on function.h, limpid/formats and limpid/nn.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "function.h"
#include "limpid/compile/predictor.h"
#include "limpid/formats/model.h"
#include "limpid/nn/generation.h"

namespace limpid::python {

// A Model, and what runs it, made at the first call that needs it.
struct ModelObject {
  explicit ModelObject(Model m) : model(std::move(m)) {}

  // Runs examples [N, ...]; the inputs of these names come without N.
  std::shared_ptr<Predictor> predictor(const std::vector<std::string>& shared = {});
  // Runs one example.
  std::shared_ptr<Plan> plan();
  // Inputs by name, of one example or [N, ...] each, to all outputs.
  std::vector<Tensor> run(const Params& inputs);
  void use_threads(int count);
  // Of packed weights and workspaces.
  std::size_t bytes() const;

  Model model;
  int threads = 1;

 private:
  std::map<std::vector<std::string>, std::shared_ptr<Predictor>> predictors_;
  std::shared_ptr<Plan> plan_;
};

// The bytes of a path: text, bytes or a PathLike.
std::string path_from(const py::object& path);

class Written;
class Joined;

// A LanguageModel, which one thread uses at a time: another one gets a ValueError.
class Writer {
 public:
  explicit Writer(nn::LanguageModel model);

  struct State {
    explicit State(nn::LanguageModel m) : model(std::move(m)) {}
    nn::LanguageModel model;
    std::atomic<bool> used{false};
    std::atomic<std::thread::id> user;  // the thread that uses it
    // Sequences that ended in that thread meanwhile, in a signal handler: they leave after the use.
    std::vector<std::shared_ptr<void>> ended;
  };
  // If another thread uses the model: kThrow throws ValueError, kWait waits.
  enum class Busy : std::uint8_t { kThrow, kWait };
  class Use {
   public:
    explicit Use(State& state, Busy busy = Busy::kThrow);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    State& state_;
  };

  const nn::LanguageModel& model() const { return state_->model; }
  void prepare();
  void step();
  std::unique_ptr<Joined> join(const std::vector<std::int32_t>& tokens);
  std::unique_ptr<Written> begin(const std::vector<std::int32_t>& prompt, double temperature,
                                 std::int64_t top_k, double top_p, const Key& key,
                                 std::int64_t vocabulary);

 private:
  std::shared_ptr<State> state_;
};

// A sequence of a model. The destructor removes it from the model, in any thread.
template <class Sequence>
class OfModel {
 public:
  OfModel(std::shared_ptr<Writer::State> state, Sequence sequence)
      : state_(std::move(state)), sequence_(std::move(sequence)) {}
  ~OfModel() {
    if (state_->user == std::this_thread::get_id()) {  // waiting would never end
      state_->ended.push_back(std::make_shared<Sequence>(*std::move(sequence_)));
      return;
    }
    const Writer::Use use(*state_, Writer::Busy::kWait);
    sequence_.reset();
  }
  OfModel(const OfModel&) = delete;
  OfModel& operator=(const OfModel&) = delete;

 protected:
  std::shared_ptr<Writer::State> state_;
  std::optional<Sequence> sequence_;
};

// A text being generated.
class Written : public OfModel<nn::Generation> {
 public:
  using OfModel::OfModel;
  // The next token.
  std::int32_t draw();
};

// A sequence that its user continues.
class Joined : public OfModel<nn::LanguageModel::Sequence> {
 public:
  using OfModel::OfModel;
  std::vector<std::int32_t> tokens() const;
  bool ready() const;
  void append(const std::vector<std::int32_t>& tokens);
  void truncate(std::int64_t length);
  Tensor logits() const;
};

}  // namespace limpid::python
