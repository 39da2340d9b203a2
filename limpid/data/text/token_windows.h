// TokenWindows: the examples of a text, windows of its tokens. They are computed on demand and
// never stored. Depends on core.
#pragma once

#include <cstdint>
#include <span>

#include "limpid/core/key.h"
#include "limpid/core/tensor.h"

namespace limpid {

struct TokenWindows {
  // Which windows are examples, and what their targets are.
  enum class Kind : std::uint8_t {
    // Every window; its target, i32 [], is the next token.
    kSliding,
    // Consecutive windows from the first token on. Targets, i32 [context], are the next token of
    // each token, so every token but the first is a target once. The last window may be shorter: it
    // is padded with tokens 0, which do not count.
    kTiled,
    // As kTiled, for training: only full windows. Each pass starts at another token, so that within
    // `context` passes a token is seen at every position of a window. The tokens left out at both
    // ends, fewer than 2 context + 1, differ from pass to pass.
    kShifted,
  };

  Tensor tokens;             // i32 [n]
  std::int64_t context = 1;  // tokens per window
  Kind kind = Kind::kSliding;

  // Throws kInvalidArgument for a context below 1, kShape for tokens of another type or too few
  // tokens: more than the context are required, for kTiled at least 2.
  void check() const;

  // The number of examples in every pass.
  std::int64_t size() const;
  // The shape of an example's targets: [] or [context].
  Shape target_shape() const;
  // The number of an example's targets that count, from the first.
  std::int64_t counted(std::int64_t row) const;
  // The position of the first target token, in a pass that starts at token 0.
  std::int64_t first_target() const { return kind == Kind::kSliding ? context : 1; }
  // The token at which pass 0, 1, ... starts. kShifted uses all offsets that leave room for the
  // examples, at most `context` of them, in the order of permutation(key.fold_in(0), ...), then of
  // permutation(key.fold_in(1), ...), and so on. The other kinds always start at 0.
  std::int64_t offset(Key key, std::int64_t pass) const;

  // Examples [first, first + count) of a pass that starts at token 0, as TokenWindows.
  TokenWindows rows(std::int64_t first, std::int64_t count) const;
  // Write the tokens and the targets of example `row`, in a pass that starts at token `offset`.
  // `out` must have their size.
  void write_inputs(std::int64_t row, std::int64_t offset, std::span<std::int32_t> out) const;
  void write_targets(std::int64_t row, std::int64_t offset, std::span<std::int32_t> out) const;

 private:
  std::int64_t length() const { return tokens.shape()[0]; }
  std::int64_t stride() const { return kind == Kind::kSliding ? 1 : context; }
  void write(std::int64_t from, std::span<std::int32_t> out) const;
};

}  // namespace limpid
