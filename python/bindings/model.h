// Models and language models in Python. Leans on function.h, limpid/formats and limpid/nn.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "function.h"
#include "limpid/compile/predictor.h"
#include "limpid/formats/model.h"
#include "limpid/nn/generation.h"

namespace limpid::python {

// A Model, and what runs it once it has been called.
struct ModelObject {
  Model model;
  std::shared_ptr<Predictor> kept;
  int threads = 1;

  std::shared_ptr<Predictor> predictor();
};

class Written;

// A LanguageModel, which one thread uses at a time: another one gets a ValueError.
class Writer {
 public:
  explicit Writer(nn::LanguageModel model);

  struct State {
    explicit State(nn::LanguageModel m) : model(std::move(m)) {}
    nn::LanguageModel model;
    std::atomic<bool> used{false};
  };
  // Throws ValueError where another thread is at work.
  class Use {
   public:
    explicit Use(State& state);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    State& state_;
  };

  const nn::LanguageModel& model() const { return state_->model; }
  void prepare();
  std::unique_ptr<Written> begin(const std::vector<std::int32_t>& prompt, double temperature,
                                 std::int64_t top_k, double top_p, const Key& key,
                                 std::int64_t vocabulary);

 private:
  std::shared_ptr<State> state_;
};

// A text that grows.
class Written {
 public:
  Written(std::shared_ptr<Writer::State> state, nn::Generation generation)
      : state_(std::move(state)), generation_(std::move(generation)) {}
  // The next token.
  std::int32_t draw();

 private:
  std::shared_ptr<Writer::State> state_;
  nn::Generation generation_;
};

}  // namespace limpid::python
