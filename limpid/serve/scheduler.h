// Scheduler: continuous batching: generates texts of many requests together, one token at a time.
// Independent of protocols and HTTP. Depends on nn/generation.h and ticket.h.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "limpid/nn/generation.h"
#include "limpid/serve/ticket.h"

namespace limpid::serve {

// One thread runs all language models in turn: one step of each model that has texts. Texts join
// and leave between any two steps. Prompts are read in chunks, a few at a time, while other texts
// are generated. Sequences are independent, so this does not change the bits of any text.
class Scheduler {
 public:
  struct Options {
    std::size_t max_queue = 1024;  // maximum number of texts waiting for a place, over all models
  };

  // A token of a text, with the logits of its position.
  struct Token {
    std::int32_t token = 0;
    std::span<const float> logits = {};  // [vocabulary]; empty for the first token of a prompt
    bool of_prompt = false;
  };
  // The end of a text.
  struct End {
    std::exception_ptr error = {};  // the exception of the model or of on_token
    double queue_seconds = 0;       // until the text got a place in the model
    double compute_seconds = 0;     // from then to the end
  };
  // A text to generate. The functions are called on the Scheduler's thread. What on_token throws is
  // the error that ends the text; what on_end throws is ignored.
  struct Text {
    std::vector<std::int32_t> prompt;
    nn::Generation::Options drawing = {};
    std::int64_t tokens = 16;   // the most tokens to generate, 0 or more
    bool reads_prompt = false;  // on_token also gets the prompt's tokens, at one step each
    std::shared_ptr<const Ticket> ticket = {};
    std::function<bool(const Token& token)> on_token = {};  // returns false to end the text
    std::function<void(const End& end)> on_end = {};        // not called if the ticket was given up
  };
  class Lane;

  explicit Scheduler(const Options& options);
  // Finishes the current step. Unfinished texts are dropped.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // A queue for a model, which the Scheduler owns from now on. `chunk` and `pool` are those of
  // LanguageModel::Options; the pool must outlive the lane.
  std::shared_ptr<Lane> lane(nn::LanguageModel model, std::int64_t chunk, ThreadPool* pool);

  // Submits the texts of one request. If the queue has no room for all of them, submits none and
  // returns false. A text whose ticket is given up leaves between two steps.
  bool submit(const std::shared_ptr<Lane>& lane, std::vector<Text> texts);

  // The number of waiting texts.
  std::size_t waiting() const;
  // The number of a model's texts that have a place.
  static std::size_t running(const Lane& lane);

 private:
  using Clock = std::chrono::steady_clock;
  struct Job;

  void work();
  void admit(Lane& lane);
  void drop_given_up(std::list<Job>& dropped);
  static void join(Lane& lane, Job& job);
  static void draw_ahead(Lane& lane);
  static bool go_on(Job& job);
  static void run(Lane& lane);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Lane>> busy_;  // lanes with texts
  std::size_t waiting_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace limpid::serve
