// TokenWindows: the examples that a text makes, read out of its tokens when they are asked for and
// never written down all at once. Leans on core.
#pragma once

#include <cstdint>
#include <span>

#include "limpid/core/key.h"
#include "limpid/core/tensor.h"

namespace limpid {

struct TokenWindows {
  // Which runs of tokens are examples, and what their targets are.
  enum class Kind : std::uint8_t {
    // Every run; its target, i32 [], is the token behind it.
    kSliding,
    // One run behind the other from the first token on; targets, i32 [context], are the tokens
    // behind each of its tokens: every token but the first is a target once. The last run may be
    // shorter: behind the text's end are tokens 0, which do not count.
    kTiled,
    // The same for training, whole runs alone. Each pass begins at another token, so that in
    // `context` passes a token is seen at every place of a run; what is left over at both ends,
    // fewer than 2 context + 1 tokens, differs from pass to pass.
    kShifted,
  };

  Tensor tokens;             // i32 [n]
  std::int64_t context = 1;  // tokens of a run
  Kind kind = Kind::kSliding;

  // Throws kInvalidArgument for a context below 1, kShape for tokens of another type or too few of
  // them: more than the context are expected, of kTiled at least 2.
  void check() const;

  // How many examples there are, in every pass.
  std::int64_t size() const;
  // Of the targets of an example: [] or [context].
  Shape target_shape() const;
  // How many of an example's targets count, the first ones.
  std::int64_t counted(std::int64_t row) const;
  // The place of the first token that is a target, in a pass that begins at token 0.
  std::int64_t first_target() const { return kind == Kind::kSliding ? context : 1; }
  // The token at which pass 0, 1, ... begins: kShifted goes through as many tokens as leave room
  // for all examples, at most `context`, in the order of permutation(key.fold_in(0), ...), then in
  // that of key.fold_in(1), and so on; 0 of the other kinds.
  std::int64_t offset(Key key, std::int64_t pass) const;

  // Examples [first, first + count) of a pass that begins at token 0, as windows of their own.
  TokenWindows rows(std::int64_t first, std::int64_t count) const;
  // Of example `row` of a pass that begins at token `offset`: its tokens, and its targets, into as
  // much memory.
  void write_inputs(std::int64_t row, std::int64_t offset, std::span<std::int32_t> out) const;
  void write_targets(std::int64_t row, std::int64_t offset, std::span<std::int32_t> out) const;

 private:
  std::int64_t length() const { return tokens.shape()[0]; }
  std::int64_t stride() const { return kind == Kind::kSliding ? 1 : context; }
  void write(std::int64_t from, std::span<std::int32_t> out) const;
};

}  // namespace limpid
