// Completer: texts of language models, written a token at a time, those of many requests together.
// It knows no protocol and no HTTP. Leans on nn/generation.h and ticket.h.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
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

// A thread that gives all language models their turns: one step of each that has texts to write.
// Texts join and leave between any two steps. A prompt is read in chunks beside the texts that are
// being written, few prompts at a time. None of this changes a bit of a text, since no sequence
// depends on another.
class Completer {
 public:
  struct Options {
    std::size_t max_queue = 1024;  // texts that wait for a place in a model, of all models
  };

  // A token of a text, with what the model said before it.
  struct Token {
    std::int32_t token = 0;
    std::span<const float> logits = {};  // of the vocabulary; empty for the first of a prompt
    bool of_prompt = false;
  };
  // How a text ended.
  struct End {
    std::exception_ptr error = {};  // what the model threw
    double queue_seconds = 0;       // until the text had a place in the model
    double compute_seconds = 0;     // from then to its end
  };
  // A text to be written. The functions are called on the Completer's thread and must not throw.
  struct Text {
    std::vector<std::int32_t> prompt;
    nn::Generation::Options drawing = {};
    std::int64_t tokens = 16;   // at most, 0 or more
    bool reads_prompt = false;  // on_token is told the prompt's tokens too, which takes a step each
    std::shared_ptr<const Ticket> ticket = {};
    std::function<bool(const Token& token)> on_token = {};  // false: the text ends here
    std::function<void(const End& end)> on_end = {};  // not called where the ticket was given up
  };
  class Lane;

  explicit Completer(const Options& options);
  // Ends the step under way. Texts that are not whole are dropped.
  ~Completer();
  Completer(const Completer&) = delete;
  Completer& operator=(const Completer&) = delete;

  // A queue for a model, which is the Completer's alone from now on. `chunk` as in its options.
  std::shared_ptr<Lane> lane(nn::LanguageModel model, std::int64_t chunk);

  // Texts of one request: all wait for their places, or, where the queue has no room for them all,
  // none, and the answer is false. One that is given up leaves between two steps.
  bool submit(const std::shared_ptr<Lane>& lane, std::vector<Text> texts);

  // Texts that wait.
  std::size_t waiting() const;
  // Texts of a model that have a place.
  static std::size_t running(const Lane& lane);

 private:
  using Clock = std::chrono::steady_clock;
  struct Job;

  void work();
  void admit(Lane& lane);
  static void join(Lane& lane, Job& job);
  static bool go_on(Job& job);
  static void run(Lane& lane);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Lane>> busy_;  // those that have texts
  std::size_t waiting_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace limpid::serve
