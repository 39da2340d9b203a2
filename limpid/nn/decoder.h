// Decoder: a Gpt that goes on with several sequences at once. Each keeps the keys and values of its
// tokens, so that a further token costs one pass of that token alone; its logits are those of the
// whole sequence, alone, bit for bit. Leans on compile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/nn/gpt.h"

namespace limpid::nn {

// The caches and the compiled passes of one net.
class Decoder {
 public:
  // How many sequences there are, and how they are run.
  struct Options {
    std::int64_t sequences = 1;
    std::int64_t capacity = 0;   // tokens of each; 0: the net's context
    std::int64_t chunk = 64;     // tokens of each that are taken at once
    ThreadPool* pool = nullptr;  // must outlive the Decoder
  };

  // The parameters of the net, some of them perhaps narrower: as quantize() leaves them. Throws
  // kInvalidArgument for sizes below 1, kNotFound, kShape and kDtype for parameters of another net.
  Decoder(const Gpt& net, const Params& params, const Options& options);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder();

  const Gpt& net() const { return net_; }
  std::int64_t sequences() const { return options_.sequences; }
  std::int64_t capacity() const { return options_.capacity; }
  // The tokens that a sequence has so far.
  std::int64_t length(std::int64_t sequence) const;

  // Further tokens of every sequence, none for some perhaps. Throws kInvalidArgument where a
  // sequence would become longer than its capacity, or tokens are not of the vocabulary.
  void append(std::span<const std::vector<std::int32_t>> tokens);
  // One token for every sequence. Allocates nothing.
  void step(std::span<const std::int32_t> tokens);
  // What follows the last token of a sequence, f32 [vocabulary]; zeros before its first.
  std::span<const float> logits(std::int64_t sequence) const;

  // Takes the tokens behind the first `length` back. The logits stay what they were. Throws
  // kInvalidArgument where there are not as many.
  void truncate(std::int64_t sequence, std::int64_t length);

 private:
  class Pass;

  Executable compiled(std::int64_t length) const;
  void allocate_caches();
  std::int64_t places() const;
  void check_room(std::int64_t sequence, std::size_t tokens) const;
  void check_tokens(std::span<const std::int32_t> tokens) const;
  std::size_t row(std::int64_t sequence) const;

  Gpt net_;
  Params params_;
  Options options_;
  std::vector<std::shared_ptr<std::byte>> caches_;
  std::vector<std::int32_t> lengths_;
  std::vector<float> logits_;
  std::unique_ptr<Pass> chunk_, step_;
};

}  // namespace limpid::nn
