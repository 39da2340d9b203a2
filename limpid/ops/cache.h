// What a decoder with a cache of keys and values is made of: rows written into the cache at a place
// that is known when the Function runs, and attention to what has been written so far.
#pragma once

#include "limpid/core/attend.h"
#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op update_rows, cached_attention;
}  // namespace op

// The cache with rows in the places from `position` on along `axis`: cache (B..., X...), rows alike
// but for their number along the axis, position i32 (B...), one for each cache; the axis is one of
// X. Rows whose place does not exist are left out. Compiled with a donation of the cache (see
// CompileOptions) only the rows are written. Throws kShape, kDtype.
Value update_rows(Value cache, Value rows, Value position, std::int64_t axis);

// scaled_dot_product_attention of queries q (B..., H, L, D) to caches of keys (B..., G, D, C) and
// values (B..., G, C, E), where query i of a sequence sees the keys up to position + i, for
// position i32 (B...); (B..., H, L, E). Its bits are those of attention to the keys and values that
// are seen, and what else the caches hold does not matter. Keys stand in columns, so that those of
// one place after the other are read side by side. scale 0 stands for 1 / sqrt(D). Throws kShape,
// kDtype.
Value cached_attention(Value q, Value keys, Value values, Value position, double scale = 0);

// What reference arithmetic and kernels work with: `heads` are those of one sequence, of
// `sequences`, and `ahead` is missing.
struct CachedAttentionSizes {
  std::size_t sequences;
  arithmetic::AttentionSizes each;
};
CachedAttentionSizes cached_attention_sizes(const Call& call);

// Sizes of a cache and of rows for it: `sequences` of `outer` x rows or places x `inner` elements.
struct UpdateSizes {
  std::size_t sequences, outer, rows, places, inner;
};
UpdateSizes update_sizes(const Call& call);

}  // namespace limpid
