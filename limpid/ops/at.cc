#include "limpid/ops/at.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/rows.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

// An index of x taken apart. x is rows, numbered along its leading dimensions, of `width` elements
// of the dimensions at its end that are taken whole.
class Places {
 public:
  Places(const Value& x, const Index& index) : builder_(x.builder()), shape_(x.shape()) {
    read(index);
    find_dtype();
    for (const Part& part : parts_)
      if (part.numbers) common_ = common_shape(common_, part.numbers->shape(), "index");
    lay_out();
    count_rows();
  }

  Shape result;  // of x[index]
  Shape places;  // without new axes, and without the dimensions of a row
  std::int64_t rows = 1, width = 1;

  // The row of each place; `outside` where a number is out of range.
  Value row_numbers(std::int64_t outside) const {
    Value total = number(0), inside;
    total = broadcast(total, places);
    for (std::size_t d = 0; d < leading_; ++d) {
      const Part& part = parts_[d];
      const std::int64_t size = shape_[d];
      Value component;
      if (part.numbers) {
        const Value given = cast(*part.numbers, dtype_);
        component = from_either_end(given, size);
        const Value within = logical_and(component >= number_like(component, 0),
                                         component < number_like(component, double(size)));
        component = spread_common(component);
        const Value here = broadcast(spread_common(within), places);
        inside = inside ? logical_and(inside, here) : here;
      } else if (part.result_axis >= 0) {
        const Value steps = cast(iota(builder_, part.range.count), dtype_);
        const Value line = steps * double(part.range.step) + double(part.range.start);
        std::vector<std::int64_t> dims(places.rank(), 1);
        dims[static_cast<std::size_t>(part.result_axis)] = part.range.count;
        component = reshape(line, Shape(dims));
      } else {
        component = number(part.range.start);
      }
      total = total * double(size) + broadcast(component, places);
    }
    return inside ? select(inside, total, broadcast(number(outside), places)) : total;
  }

 private:
  // What a dimension of x is indexed by: an array, or a range, which of a number has no axis.
  struct Part {
    Range range;
    std::optional<Value> numbers;
    bool is_number = false;
    std::int64_t result_axis = -1;  // among `places`
  };

  Value number(std::int64_t n) const { return constant(builder_, double(n), dtype_); }

  void read(const Index& index) {
    std::size_t used = 0;
    for (const IndexPart& part : index) used += !std::holds_alternative<NewAxis>(part);
    if (used > shape_.rank())
      throw Error(ErrorCode::kShape,
                  fmt::format("index: expected at most {} parts, got {}", shape_.rank(), used));
    for (const IndexPart& part : index) {
      if (std::holds_alternative<NewAxis>(part)) {
        order_.push_back(kNew);
        continue;
      }
      const std::int64_t size = shape_[parts_.size()];
      order_.push_back(static_cast<std::int64_t>(parts_.size()));
      parts_.push_back(read_part(part, size));
    }
    while (parts_.size() < shape_.rank()) {
      order_.push_back(static_cast<std::int64_t>(parts_.size()));
      parts_.push_back({.range = {0, shape_[parts_.size()], 1}, .numbers = {}});
    }
    for (const Part& part : parts_) has_arrays_ = has_arrays_ || part.numbers;
  }

  Part read_part(const IndexPart& part, std::int64_t size) const {
    const std::size_t d = parts_.size();
    if (const auto* const n = std::get_if<std::int64_t>(&part)) {
      if (*n < -size || *n >= size)
        throw Error(ErrorCode::kShape, fmt::format("index: {} is outside of dimension {} of {}", *n,
                                                   d, to_string(shape_)));
      return {.range = {*n < 0 ? *n + size : *n, 1, 1}, .numbers = {}, .is_number = true};
    }
    if (const auto* const r = std::get_if<Range>(&part)) {
      std::int64_t reach = 0;
      const bool fits = r->count == 0 || (r->count > 0 && r->start >= 0 && r->start < size &&
                                          !__builtin_mul_overflow(r->count - 1, r->step, &reach) &&
                                          !__builtin_add_overflow(r->start, reach, &reach) &&
                                          reach >= 0 && reach < size);
      if (!fits)
        throw Error(ErrorCode::kShape,
                    fmt::format("index: the range of {} from {} by {} is outside of dimension {} "
                                "of {}",
                                r->count, r->start, r->step, d, to_string(shape_)));
      return {.range = *r, .numbers = {}};
    }
    if (const auto* const v = std::get_if<Value>(&part)) {
      if (is_floating(v->dtype()) || v->dtype() == Dtype::kBool)
        throw Error(ErrorCode::kDtype, fmt::format("index: expected an array of integers, got {}",
                                                   to_string(v->type())));
      return {.range = {}, .numbers = *v};
    }
    return {.range = {0, size, 1}, .numbers = {}};
  }

  void find_dtype() {
    dtype_ =
        shape_.elements() > std::numeric_limits<std::int32_t>::max() ? Dtype::kI64 : Dtype::kI32;
    for (const Part& part : parts_)
      if (part.numbers && part.numbers->dtype() == Dtype::kI64) dtype_ = Dtype::kI64;
  }

  bool is_advanced(std::int64_t part) const {
    if (part == kNew || !has_arrays_) return false;
    const Part& p = parts_[static_cast<std::size_t>(part)];
    return p.numbers || p.is_number;
  }
  bool is_whole(const Part& part, std::size_t d) const {
    return !part.numbers && !part.is_number && part.range.start == 0 && part.range.step == 1 &&
           part.range.count == shape_[d];
  }

  // Which dimensions the result has, and where.
  void lay_out() {
    leading_ = shape_.rank();
    while (leading_ > 0 && is_whole(parts_[leading_ - 1], leading_ - 1))
      width *= shape_[--leading_];
    bool apart = false, ended = false, begun = false;
    for (const std::int64_t part : order_) {
      const bool here = is_advanced(part);
      apart = apart || (here && ended);
      begun = begun || here;
      ended = ended || (begun && !here);
    }
    std::vector<std::int64_t> all, inner;
    const auto add_common = [&] {
      common_axis_ = inner.size();
      all.insert(all.end(), common_.begin(), common_.end());
      inner.insert(inner.end(), common_.begin(), common_.end());
      placed_ = true;
    };
    if (apart) add_common();
    for (const std::int64_t number : order_) {
      if (number == kNew) {
        all.push_back(1);
        continue;
      }
      if (is_advanced(number)) {
        if (!placed_) add_common();
        continue;
      }
      Part& part = parts_[static_cast<std::size_t>(number)];
      if (part.is_number) continue;
      all.push_back(part.range.count);
      if (static_cast<std::size_t>(number) >= leading_) continue;
      part.result_axis = static_cast<std::int64_t>(inner.size());
      inner.push_back(part.range.count);
    }
    result = Shape(all);
    places = Shape(inner);
  }

  void count_rows() {
    for (std::size_t d = 0; d < leading_; ++d) rows *= shape_[d];
  }

  // A value that broadcasts to the common shape, at its place among `places`.
  Value spread_common(const Value& v) const {
    const Value full = broadcast(v, common_);
    std::vector<std::int64_t> dims(places.rank(), 1);
    std::copy(common_.begin(), common_.end(),
              dims.begin() + static_cast<std::ptrdiff_t>(common_axis_));
    return reshape(full, Shape(dims));
  }

  static constexpr std::int64_t kNew = -1;

  Builder& builder_;
  Shape shape_;
  std::vector<Part> parts_;          // one for each dimension of x
  std::vector<std::int64_t> order_;  // of the index: numbers of parts, or kNew
  bool has_arrays_ = false;
  Dtype dtype_ = Dtype::kI32;
  Shape common_;  // of all arrays
  std::size_t common_axis_ = 0, leading_ = 0;
  bool placed_ = false;
};

}  // namespace

Value at(Value x, const Index& index) {
  const Places p(x, index);
  const Value table = reshape(x, {p.rows, p.width});
  return reshape(take_rows(table, p.row_numbers(p.rows)), p.result);
}

Value set_at(Value x, const Index& index, Value updates, ScatterMode mode) {
  const Places p(x, index);
  const Value table = reshape(x, {p.rows, p.width});
  const Value given =
      reshape(broadcast(updates, p.result), p.places.insert(p.places.rank(), p.width));
  return reshape(scatter(table, p.row_numbers(-1), given, mode), x.shape());
}

}  // namespace limpid
