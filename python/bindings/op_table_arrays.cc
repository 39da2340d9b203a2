// Functions that users of NumPy, JAX and PyTorch look for, made of ops: limpid/ops/at.h, draws.h,
// einsum.h, numbers.h, rearrange.h. Depends on op_table.h.
#include <algorithm>
#include <numeric>

#include "limpid/core/error.h"
#include "op_table.h"

namespace limpid::python {
namespace {

template <Value (*f)(Value)>
Made of_one(const Given& g) {
  return f(g.v(0));
}
template <Value (*f)(Value, Value)>
Made of_two(const Given& g) {
  return f(g.v(0), g.v(1));
}

Value flat(const Value& x) { return reshape(x, {x.shape().elements()}); }

// Along an axis, or of all elements in their order.
template <class F>
Value along(const Given& g, std::size_t argument, const F& f) {
  if (const auto axis = g.maybe_i(argument)) return f(g.v(0), *axis);
  return f(flat(g.v(0)), std::int64_t{0});
}

Value rolled(const Given& g) {
  Value x = g.v(0);
  const Shape shape = x.shape();
  std::vector<std::int64_t> shifts = g.ints(1);
  const auto axes = g.axes(2);
  if (!axes) {
    const std::int64_t shift = std::accumulate(shifts.begin(), shifts.end(), std::int64_t{0});
    return reshape(roll(flat(x), shift, 0), shape);
  }
  if (shifts.size() == 1) shifts.assign(axes->size(), shifts[0]);
  if (shifts.size() != axes->size())
    throw py::value_error("roll: expected a shift for each of " + std::to_string(axes->size()) +
                          " axes, got " + std::to_string(shifts.size()));
  for (std::size_t i = 0; i < shifts.size(); ++i) x = roll(x, shifts[i], (*axes)[i]);
  return x;
}

Value repeated(const Given& g) {
  const std::vector<std::int64_t> repeats = g.ints(1);
  return along(g, 2, [&](const Value& x, std::int64_t axis) {
    return repeats.size() == 1 ? repeat(x, repeats[0], axis) : repeat(x, repeats, axis);
  });
}

// Of a matrix, NumPy's `ord` is another norm.
Value length(const Given& g) {
  const Value x = g.v(0);
  const auto order = g.maybe_d(1);
  const auto axes = g.axes(2);
  if (order && (axes ? axes->size() : x.rank()) > 1)
    throw py::value_error(
        "norm: ord is for the norm of vectors along one axis; give axis, or "
        "leave ord out for the root of the sum of all squares");
  return norm(x, axes, order.value_or(2), g.b(3));
}

// As JAX's: x a = b is a^T x^T = b^T.
Value triangular(const Given& g) {
  const bool left = g.b(2);
  const linalg::Triangle how{
      .lower = g.b(3), .transposed = g.b(4) == left, .unit_diagonal = g.b(5)};
  const Value b = g.v(1);
  if (left || b.rank() < 2) return linalg::triangular_solve(g.v(0), b, how);
  std::vector<std::int64_t> swapped(b.rank());
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[b.rank() - 1], swapped[b.rank() - 2]);
  return transpose(linalg::triangular_solve(g.v(0), transpose(b, swapped), how), swapped);
}

std::optional<Shape> maybe_shape(const Given& g, std::size_t i) {
  const auto dims = g.axes(i);
  if (!dims) return {};
  return Shape(*dims);
}

Value chosen_from(const Given& g) {
  const Shape shape(g.ints(2));
  const bool replace = g.b(3);
  if (!g.is_value(1)) return choice(g.v(0), g.i(1), shape, replace, g.v(4));
  const Value x = g.v(1);
  if (x.rank() == 0)
    throw Error(ErrorCode::kShape,
                "choice: expected an int or an array with a dimension, got " + to_string(x.type()));
  return take(x, choice(g.v(0), x.shape()[0], shape, replace, g.v(4)), 0);
}

// The index that _indexing.py has written as numbers: for each part its kind and three numbers.
Index index_of(const Given& g, std::size_t arrays, std::size_t layout) {
  enum : std::int64_t { kNumbers, kNumber, kRange, kNew };
  const std::vector<std::int64_t> numbers = g.ints(layout);
  Index index;
  std::size_t next = 0;
  for (std::size_t i = 0; i + 3 < numbers.size(); i += 4) {
    if (numbers[i] == kNumbers) index.emplace_back(g.all(arrays).at(next++));
    if (numbers[i] == kNumber) index.emplace_back(numbers[i + 1]);
    if (numbers[i] == kRange)
      index.emplace_back(Range{numbers[i + 1], numbers[i + 2], numbers[i + 3]});
    if (numbers[i] == kNew) index.emplace_back(NewAxis{});
  }
  return index;
}

ScatterMode mode_of(const std::string& name) {
  if (name == "add") return ScatterMode::kAdd;
  if (name == "multiply") return ScatterMode::kMultiply;
  if (name == "max") return ScatterMode::kMaximum;
  if (name == "min") return ScatterMode::kMinimum;
  return ScatterMode::kReplace;
}

constexpr const char *kArray = "Array", *kArrays = "Tuple[Array, ...]";

constexpr FunctionRow kRows[] = {
    // ---- elements
    {"where", "condition, x, y", "VNN",
     [](const Given& g) -> Made { return select(g.v(0), g.v(1), g.v(2)); },
     "x where the condition, an array of bool, is true, else y; all three are broadcast.",
     ">>> x = lp.asarray([-1.0, 2.0])\n>>> lp.where(x > 0, x, 0.0)\n"
     "limpid.Array(f32[2] (0.0, 2.0))",
     kArray, "select"},
    {"masked_fill", "x, mask, value", "VVD",
     [](const Given& g) -> Made { return masked_fill(g.v(0), g.v(1), g.d(2)); },
     "x with the number `value` where the mask, an array of bool that broadcasts to x, is true.",
     ">>> lp.masked_fill(lp.asarray([1.0, 2.0]), lp.asarray([True, False]), -1.0)\n"
     "limpid.Array(f32[2] (-1.0, 2.0))",
     kArray},
    {"isnan", "x", "V", of_one<isnan>, "Whether each element is NaN, as bool.",
     ">>> lp.isnan(lp.asarray([1.0, float('nan')]))\nlimpid.Array(bool[2] (0, 1))", kArray},
    {"isinf", "x", "V", of_one<isinf>, "Whether each element is infinite, as bool.",
     ">>> lp.isinf(lp.asarray([1.0, float('-inf')]))\nlimpid.Array(bool[2] (0, 1))", kArray},
    {"isfinite", "x", "V", of_one<isfinite>,
     "Whether each element is neither NaN nor infinite, as bool.",
     ">>> lp.isfinite(lp.asarray([1.0, float('inf')]))\nlimpid.Array(bool[2] (1, 0))", kArray},
    {"atan2", "y, x", "NN", of_two<atan2>,
     "The angle of the vector (x, y) to the x axis in radians, in [-pi, pi]. Its gradient at the "
     "origin is 0.",
     ">>> lp.atan2(lp.asarray([1.0, -1.0]), lp.asarray([1.0, -1.0]))\n"
     "limpid.Array(f32[2] (0.7853982, -2.3561945))",
     kArray},
    {"norm", "x, ord=None, axis=None, keepdims=False", "VdAB",
     [](const Given& g) -> Made { return length(g); },
     "The length of vectors along an axis: the root of the sum of squares, over several axes or "
     "all as one. With `ord` along one axis (sum of |x|^ord)^(1 / ord), for infinity the largest "
     "|x|. The gradient of a norm that is 0 is 0.",
     ">>> lp.norm(lp.asarray([3.0, -4.0])), lp.norm(lp.asarray([3.0, -4.0]), 1)\n"
     "(limpid.Array(f32[] (5.0)), limpid.Array(f32[] (7.0)))",
     kArray},

    // ---- places
    {"tril", "x, k=0", "VI", [](const Given& g) -> Made { return tril(g.v(0), g.i(1)); },
     "Matrices (..., m, n) with 0 above diagonal k; diagonal 0 is the main one, 1 the one above.",
     ">>> lp.tril(lp.ones((2, 2))).tolist()\n[[1.0, 0.0], [1.0, 1.0]]", kArray},
    {"triu", "x, k=0", "VI", [](const Given& g) -> Made { return triu(g.v(0), g.i(1)); },
     "Matrices (..., m, n) with 0 below diagonal k; diagonal 0 is the main one, 1 the one above.",
     ">>> lp.triu(lp.ones((2, 2))).tolist()\n[[1.0, 1.0], [0.0, 1.0]]", kArray},
    {"roll", "x, shift, axis=None", "VSA", [](const Given& g) -> Made { return rolled(g); },
     "The elements moved by `shift` places along an axis, those that leave at one end entering at "
     "the other; along several axes with a shift for each; without an axis all in their order.",
     ">>> lp.roll(lp.asarray([1, 2, 3]), 1)\nlimpid.Array(i32[3] (3, 1, 2))", kArray},
    {"repeat", "x, repeats, axis=None", "VSi", [](const Given& g) -> Made { return repeated(g); },
     "Each element along an axis `repeats` times, a number for all or for each; without an axis "
     "all elements in their order.",
     ">>> lp.repeat(lp.asarray([1, 2]), [1, 3])\nlimpid.Array(i32[4] (1, 2, 2, 2))", kArray},
    {"tile", "x, reps", "VS", [](const Given& g) -> Made { return tile(g.v(0), g.ints(1)); },
     "x as a whole repeated along each dimension, the last numbers of `reps` for the last "
     "dimensions.",
     ">>> lp.tile(lp.asarray([1, 2]), 2)\nlimpid.Array(i32[4] (1, 2, 1, 2))", kArray},
    {"array_split", "x, parts, axis=0", "VSI",
     [](const Given& g) -> Made {
       if (PyIndex_Check(g.object(1)) && !PySequence_Check(g.object(1)))
         return array_split(g.v(0), g.i(1), g.i(2));
       return split_at(g.v(0), g.ints(1), g.i(2));
     },
     "As split, a tuple, but the number of parts need not divide the axis: the first ones are "
     "larger by one.",
     ">>> [len(part) for part in lp.array_split(lp.ones(8), 3)]\n[3, 3, 2]", kArrays},
    {"diff", "x, n=1, axis=-1", "VII",
     [](const Given& g) -> Made { return diff(g.v(0), g.i(1), g.i(2)); },
     "The n-th differences of neighbours along an axis, which has n elements less.",
     ">>> lp.diff(lp.asarray([1, 4, 9]))\nlimpid.Array(i32[2] (3, 5))", kArray},
    {"cumsum", "x, axis=None", "Vi",
     [](const Given& g) -> Made {
       return along(g, 1,
                    [](const Value& x, std::int64_t axis) { return cumulative_sum(x, axis); });
     },
     "Element i is the sum of the elements up to i along an axis, or of all in their order; of "
     "integers and of bool in i64.",
     ">>> lp.cumsum(lp.asarray([1.0, 2.0, 3.0]))\nlimpid.Array(f32[3] (1.0, 3.0, 6.0))", kArray,
     "cumulative_sum"},
    {"cumprod", "x, axis=None", "Vi",
     [](const Given& g) -> Made {
       return along(g, 1,
                    [](const Value& x, std::int64_t axis) { return cumulative_product(x, axis); });
     },
     "Element i is the product of the elements up to i along an axis, or of all in their order; of "
     "integers and of bool in i64.",
     ">>> lp.cumprod(lp.asarray([1.0, 2.0, 3.0]))\nlimpid.Array(f32[3] (1.0, 2.0, 6.0))", kArray},
    {"diagonal", "x, offset=0, axis1=0, axis2=1", "VIII",
     [](const Given& g) -> Made { return diagonal(g.v(0), g.i(1), g.i(2), g.i(3)); },
     "The elements of diagonal `offset` of two axes, as the last dimension of the result.",
     ">>> lp.diagonal(lp.asarray([[1, 2], [3, 4]]))\nlimpid.Array(i32[2] (1, 4))", kArray},
    {"_index", "x, arrays, layout", "VLS",
     [](const Given& g) -> Made { return at(g.v(0), index_of(g, 1, 2)); }},
    {"_index_update", "x, updates, arrays, layout, mode", "NNLSW",
     [](const Given& g) -> Made {
       return set_at(g.v(0), index_of(g, 2, 3), g.v(1), mode_of(g.text(4)));
     }},

    // ---- products and grids
    {"_einsum", "equation, operands", "WL",
     [](const Given& g) -> Made { return einsum(g.text(0), g.all(1)); }},
    {"outer", "a, b", "VV", of_two<outer>,
     "a[i] b[j] for all elements, those of each array in their order: (size of a, size of b).",
     ">>> lp.outer(lp.asarray([1, 2]), lp.asarray([3, 4])).tolist()\n[[3, 4], [6, 8]]", kArray},
    {"kron", "a, b", "VV", of_two<kron>, "The Kronecker product: blocks a[i, j] b.",
     ">>> lp.kron(lp.asarray([1, 10]), lp.asarray([1, 2]))\nlimpid.Array(i32[4] (1, 2, 10, 20))",
     kArray},
    {"eye", "n, m=None, k=0, dtype='f32'", "IiIT",
     [](const Given& g) -> Made {
       return eye(g.builder(), g.i(0), g.maybe_i(1).value_or(g.i(0)), g.i(2), g.dtype(3));
     },
     "n rows and m columns, by default n, with 1 on diagonal k and 0 elsewhere.",
     ">>> lp.eye(2).tolist()\n[[1.0, 0.0], [0.0, 1.0]]", kArray},
    {"linspace", "start, stop, num=50, endpoint=True, dtype='f32'", "DDIBT",
     [](const Given& g) -> Made {
       return linspace(g.builder(), g.d(0), g.d(1), g.i(2), g.b(3), g.dtype(4));
     },
     "`num` numbers at equal distances from start to stop, which is the last one unless `endpoint` "
     "is False.",
     ">>> lp.linspace(0, 1, 3)\nlimpid.Array(f32[3] (0.0, 0.5, 1.0))", kArray},
    {"_meshgrid", "arrays, indexing", "LW",
     [](const Given& g) -> Made {
       const std::string indexing = g.text(1);
       if (indexing != "xy" && indexing != "ij")
         throw py::value_error("meshgrid: indexing: expected xy or ij, got '" + indexing + "'");
       return meshgrid(g.all(0), indexing == "xy");
     }},

    // ---- linear algebra; limpid.linalg has the functions of these
    {"cholesky", "a", "V", [](const Given& g) -> Made { return linalg::cholesky(g.v(0)); },
     "The lower triangular L with L L^T = (a + a^T) / 2; NaN if that is not positive definite.",
     ">>> lp.cholesky(lp.asarray([[4.0]])).tolist()\n[[2.0]]", kArray},
    {"triangular_solve",
     "a, b, left_side=False, lower=False, transpose_a=False, unit_diagonal=False", "VVBBBB",
     [](const Given& g) -> Made { return triangular(g); },
     "x with x a = b, or a x = b if `left_side`; a (..., n, n), of which the upper or the `lower` "
     "triangle is read; as JAX's.",
     ">>> lp.triangular_solve(lp.asarray([[2.0]]), lp.asarray([[6.0]])).tolist()\n[[3.0]]", kArray},
    {"lu", "a", "V",
     [](const Given& g) -> Made {
       const linalg::Lu f = linalg::lu(g.v(0));
       return std::vector<Value>{f.lu, f.pivots, f.order};
     },
     "The LU factorisation with partial pivoting, as JAX's: L and U in one matrix, the row "
     "exchanged with each row, and the order of a's rows.",
     ">>> lp.lu(lp.asarray([[0.0, 1.0], [2.0, 3.0]]))[2]\nlimpid.Array(i32[2] (1, 0))", kArrays},
    {"qr", "a", "V",
     [](const Given& g) -> Made {
       const linalg::Qr f = linalg::qr(g.v(0));
       return std::vector<Value>{f.q, f.r};
     },
     "Q (..., m, k) with orthonormal columns and upper triangular R (..., k, n), k = min(m, n).",
     ">>> lp.qr(lp.asarray([[3.0], [4.0]]))[1].tolist()\n[[-5.0]]", kArrays},
    {"svd", "a, full_matrices=True", "VB",
     [](const Given& g) -> Made {
       const linalg::Svd f = linalg::svd(g.v(0), g.b(1));
       return std::vector<Value>{f.u, f.s, f.vt};
     },
     "U, the singular values, falling, and V^T, with U diag(s) V^T = a, as NumPy's.",
     ">>> lp.svd(lp.asarray([[3.0, 0.0], [0.0, 4.0]]))[1]\nlimpid.Array(f32[2] (4.0, 3.0))",
     kArrays},
    {"_solve", "a, b", "VV", of_two<linalg::solve>},
    {"_inv", "a", "V", of_one<linalg::inv>},
    {"_det", "a", "V", of_one<linalg::det>},
    {"_slogdet", "a", "V",
     [](const Given& g) -> Made {
       const linalg::SignAndLog d = linalg::slogdet(g.v(0));
       return std::vector<Value>{d.sign, d.log_magnitude};
     }},
    {"_matrix_trace", "x, offset", "VI",
     [](const Given& g) -> Made { return linalg::trace(g.v(0), g.i(1)); }},

    // ---- random draws
    {"randint", "key, shape, minval, maxval, dtype='i32'", "VSIIT",
     [](const Given& g) -> Made {
       return randint(g.v(0), Shape(g.ints(1)), g.i(2), g.i(3), g.dtype(4));
     },
     "Integers in [minval, maxval), i32 or i64, each as probable as the others.",
     ">>> lp.randint(lp.Key(0), 3, 0, 10).shape\n(3,)", kArray},
    {"bernoulli", "key, p=0.5, shape=None", "VNA",
     [](const Given& g) -> Made {
       const Value p = cast(g.v(1), Dtype::kF32);
       return bernoulli(g.v(0), p, maybe_shape(g, 2).value_or(p.shape()));
     },
     "true with probability p, a number or an array, of a shape, by default that of p.",
     ">>> lp.bernoulli(lp.Key(0), 1.0, 2)\nlimpid.Array(bool[2] (1, 1))", kArray},
    {"gumbel", "key, shape", "VS",
     [](const Given& g) -> Made { return gumbel(g.v(0), Shape(g.ints(1))); },
     "The standard Gumbel distribution: -log(-log(u)).", ">>> lp.gumbel(lp.Key(0), 3).shape\n(3,)",
     kArray},
    {"categorical", "key, logits, axis=-1, shape=None", "VVIA",
     [](const Given& g) -> Made { return categorical(g.v(0), g.v(1), g.i(2), maybe_shape(g, 3)); },
     "Classes as i32, with the probabilities softmax(logits) along an axis. The shape, by default "
     "that of the other axes, ends with them.",
     ">>> lp.categorical(lp.Key(0), lp.asarray([0.0, 100.0]), shape=3)\n"
     "limpid.Array(i32[3] (1, 1, 1))",
     kArray},
    {"_permutation", "key, x, axis", "VNI",
     [](const Given& g) -> Made {
       if (!g.is_value(1)) return permutation(g.v(0), g.i(1));
       return permutation(g.v(0), g.v(1), g.i(2));
     }},
    {"choice", "key, a, shape=(), replace=True, p=None", "VNSBv",
     [](const Given& g) -> Made { return chosen_from(g); },
     "Random ones of the numbers 0, 1, ..., a - 1, or of the slices of an array along its first "
     "axis. `p` has the probability of each; without `replace` each is drawn at most once.",
     ">>> lp.choice(lp.Key(0), 5, (2, 3)).shape\n(2, 3)", kArray},
    {"truncated_normal", "key, lower, upper, shape=()", "VDDS",
     [](const Given& g) -> Made {
       return truncated_normal(g.v(0), g.d(1), g.d(2), Shape(g.ints(3)));
     },
     "The standard normal distribution between two numbers, f32.",
     ">>> x = lp.truncated_normal(lp.Key(0), -2, 2, 100)\n>>> bool((abs(x) <= 2).all())\nTrue",
     kArray},
};

}  // namespace

std::span<const FunctionRow> array_function_rows() { return kRows; }

}  // namespace limpid::python
