#include "limpid/data/text/token_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/data/batches.h"

namespace limpid {

void TokenWindows::check() const {
  if (tokens.dtype() != Dtype::kI32 || tokens.shape().rank() != 1)
    throw Error(ErrorCode::kShape, fmt::format("windows: the tokens are {}, expected i32[n]",
                                               to_string(tokens.type())));
  if (context < 1)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("windows: expected a context of 1 or more, got {}", context));
  if (kind == Kind::kTiled && length() < 2)
    throw Error(ErrorCode::kShape,
                fmt::format("windows: expected 2 or more tokens, got {}", length()));
  if (kind != Kind::kTiled && length() <= context)
    throw Error(ErrorCode::kShape,
                fmt::format("windows: expected more tokens than the context of {1}, got {0}",
                            length(), context));
}

std::int64_t TokenWindows::size() const {
  switch (kind) {
    case Kind::kSliding:
      return length() - context;
    case Kind::kTiled:
      return (length() - 1 + context - 1) / context;
    case Kind::kShifted:
      return std::max<std::int64_t>(1, length() / context - 1);
  }
  return 0;
}

Shape TokenWindows::target_shape() const {
  return kind == Kind::kSliding ? Shape{} : Shape{context};
}

std::int64_t TokenWindows::counted(std::int64_t row) const {
  if (kind == Kind::kSliding) return 1;
  return std::min(context, length() - 1 - row * context);
}

std::int64_t TokenWindows::offset(Key key, std::int64_t pass) const {
  if (kind != Kind::kShifted) return 0;
  const std::int64_t places = std::min(context, length() - size() * context);
  const Key round = key.fold_in(static_cast<std::uint64_t>(pass / places));
  return permutation(round, places)[static_cast<std::size_t>(pass % places)];
}

TokenWindows TokenWindows::rows(std::int64_t first, std::int64_t count) const {
  const std::int64_t begin = std::min(first * stride(), length());
  const std::int64_t span = kind == Kind::kSliding ? count + context : count * context + 1;
  return {tokens.rows(begin, std::min(span, length() - begin)), context,
          kind == Kind::kSliding ? kind : Kind::kTiled};
}

void TokenWindows::write_inputs(std::int64_t row, std::int64_t offset,
                                std::span<std::int32_t> out) const {
  write(offset + row * stride(), out);
}

void TokenWindows::write_targets(std::int64_t row, std::int64_t offset,
                                 std::span<std::int32_t> out) const {
  write(offset + row * stride() + first_target(), out);
}

void TokenWindows::write(std::int64_t from, std::span<std::int32_t> out) const {
  const std::int64_t count = std::min(static_cast<std::int64_t>(out.size()), length() - from);
  const auto run = out.first(static_cast<std::size_t>(count));
  tokens.read_rows(from, count, std::as_writable_bytes(run));
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(count), out.end(), 0);
}

}  // namespace limpid
