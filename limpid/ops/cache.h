// Ops for decoding with a KV cache: write rows into the cache at a position given at run time, and
// attend to the rows written so far.
#pragma once

#include "limpid/core/attend.h"
#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op update_rows, cached_attention;
}  // namespace op

// The cache with `rows` written from `position` on along `axis`. cache is (B..., X...); rows has
// the same shape except along the axis, which is one of X; position is i32 (B...), one for each
// cache. Rows outside of the cache are ignored. If the cache is donated (see CompileOptions), a
// compiled plan writes only the rows. Throws kShape, kDtype.
Value update_rows(Value cache, Value rows, Value position, std::int64_t axis);

// scaled_dot_product_attention of queries q (B..., H, L, D) over caches of keys (B..., G, D, C) and
// values (B..., G, C, E): shape (B..., H, L, E). Query i of a sequence sees the keys up to position
// + i; position is i32 (B...). The bits are those of attention to only the keys and values that are
// seen: the rest of the caches has no influence. Keys are stored as columns, so that consecutive
// positions are contiguous in memory. scale 0 means 1 / sqrt(D). Throws kShape, kDtype.
Value cached_attention(Value q, Value keys, Value values, Value position, double scale = 0);

// The sizes of a call, for the reference arithmetic and the kernels: `each` describes one of
// `sequences` sequences. Its `ahead` is not set.
struct CachedAttentionSizes {
  std::size_t sequences;
  arithmetic::AttentionSizes each;
};
CachedAttentionSizes cached_attention_sizes(const Call& call);

// Sizes of a cache and of the rows to write. For each sequence, the rows are [outer, rows, inner]
// and the cache is [outer, places, inner].
struct UpdateSizes {
  std::size_t sequences, outer, rows, places, inner;
};
UpdateSizes update_sizes(const Call& call);

}  // namespace limpid
