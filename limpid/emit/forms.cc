// The forms of all primitives, as tables.
#include "limpid/emit/detail/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "limpid/ops/ops.h"

namespace limpid::emit {
namespace {

// ---- element by element

struct ElementForm {
  const Op* op;
  std::string_view floating;
  std::string_view other = floating;  // integers and booleans
};

// Names with a capital are the reference arithmetic's own, from limpid/ops.
constexpr ElementForm kElementForms[] = {
    {&op::add, "{0} + {1}", "Add{{}}({0}, {1})"},
    {&op::subtract, "{0} - {1}", "Subtract{{}}({0}, {1})"},
    {&op::multiply, "{0} * {1}", "Multiply{{}}({0}, {1})"},
    {&op::divide, "{0} / {1}", "Divide{{}}({0}, {1})"},
    {&op::remainder, "std::fmod({0}, {1})", "Remainder{{}}({0}, {1})"},
    {&op::maximum, "maximum({0}, {1})", "Maximum{{}}({0}, {1})"},
    {&op::minimum, "minimum({0}, {1})", "Minimum{{}}({0}, {1})"},
    {&op::negate, "-{0}", "Negate{{}}({0})"},
    {&op::abs, "std::fabs({0})", "Abs{{}}({0})"},
    {&op::exp, "exp({0})"},
    {&op::log, "log({0})"},
    {&op::tanh, "tanh({0})"},
    {&op::erf, "erf({0})"},
    {&op::sigmoid, "sigmoid({0})"},
    {&op::ndtr, "ndtr({0})"},
    {&op::sqrt, "std::sqrt({0})"},
    {&op::log1p, "log1p({0})"},
    {&op::expm1, "expm1({0})"},
    {&op::sin, "sin({0})"},
    {&op::cos, "cos({0})"},
    {&op::tan, "tan({0})"},
    {&op::asin, "asin({0})"},
    {&op::acos, "acos({0})"},
    {&op::atan, "atan({0})"},
    {&op::sinh, "sinh({0})"},
    {&op::cosh, "cosh({0})"},
    {&op::asinh, "asinh({0})"},
    {&op::acosh, "acosh({0})"},
    {&op::atanh, "atanh({0})"},
    {&op::rsqrt, "Rsqrt{{}}({0})"},
    {&op::power, "power({0}, {1})"},
    {&op::floor, "std::floor({0})"},
    {&op::ceil, "std::ceil({0})"},
    {&op::round, "std::nearbyint({0})"},
    {&op::truncate, "std::trunc({0})"},
    {&op::sign, "Sign{{}}({0})"},
    {&op::equal, "{0} == {1}"},
    {&op::not_equal, "{0} != {1}"},
    {&op::less, "{0} < {1}"},
    {&op::less_equal, "{0} <= {1}"},
    {&op::logical_and, "{0} && {1}"},
    {&op::logical_or, "{0} || {1}"},
    {&op::logical_not, "!{0}"},
    {&op::select, "{0} ? {1} : {2}"},
    {&op::fold_in, "fold_in({0}, {1})"},
    {&op::shift_right, "shift_right({0}, {1})"},
};

std::string cast_form(const Call& call, const std::string& operand) {
  const auto converted = [](Dtype dtype) -> std::string_view {
    return dtype == Dtype::kBf16 ? "Bf16" : dtype == Dtype::kF16 ? "F16" : cpp_type(dtype);
  };
  const auto is_half = [](Dtype d) { return d == Dtype::kBf16 || d == Dtype::kF16; };
  const Dtype from = call.inputs[0].dtype;
  const Dtype to = call.attributes.get<Dtype>("dtype");
  const std::string value =
      is_half(from) ? fmt::format("{}{{{}}}", converted(from), operand) : operand;
  return fmt::format("convert<{}>({}){}", converted(to), value, is_half(to) ? ".bits" : "");
}

// ---- calls

using Write = CallForm (*)(const Call& call);
struct CallEntry {
  const Op* op;
  Write write;
};

// Elements before, along and behind an axis.
std::vector<std::int64_t> around(const Shape& shape, std::size_t axis) {
  return {Shape(shape.dims().first(axis)).elements(), shape[axis],
          Shape(shape.dims().subspan(axis + 1)).elements()};
}
std::vector<std::int64_t> around_axis(const Call& call) {
  return around(call.inputs[0].shape, static_cast<std::size_t>(call.attributes.integer("axis")));
}

CallForm sum_form(const Call& call) {
  const bool floating = is_floating(call.inputs[0].dtype);
  std::vector<std::int64_t> numbers = around_axis(call);
  const bool last =
      call.attributes.integer("axis") + 1 == static_cast<std::int64_t>(call.inputs[0].shape.rank());
  if (!floating) return {"sum_integers", numbers};
  if (!last) return {"sum_columns", numbers};
  numbers.pop_back();
  return {"sum_rows", numbers};
}
CallForm max_form(const Call& call) { return {"fold<Highest>", around_axis(call)}; }
CallForm min_form(const Call& call) { return {"fold<Lowest>", around_axis(call)}; }
CallForm argmax_form(const Call& call) { return {"argmax", around_axis(call)}; }

// Batches, numbers and rows in each, elements of a row.
std::vector<std::int64_t> rows_of(const Call& call, const Shape& indices, const Shape& table) {
  const auto batch = static_cast<std::size_t>(call.attributes.integer("batch"));
  return {Shape(indices.dims().first(batch)).elements(),
          Shape(indices.dims().subspan(batch)).elements(), table[batch],
          Shape(table.dims().subspan(batch + 1)).elements()};
}
CallForm gather_form(const Call& call) {
  return {"gather", rows_of(call, call.inputs[1].shape, call.inputs[0].shape)};
}
CallForm scatter_add_form(const Call& call) {
  return {"scatter_add", rows_of(call, call.inputs[0].shape, call.outputs[0].shape)};
}
CallForm scatter_form(const Call& call, std::string_view combine) {
  return {fmt::format("scatter<{}>", combine),
          rows_of(call, call.inputs[1].shape, call.inputs[0].shape)};
}
CallForm replace_form(const Call& call) { return scatter_form(call, "Replace"); }
CallForm multiply_form(const Call& call) { return scatter_form(call, "Multiply"); }
CallForm maximum_form(const Call& call) { return scatter_form(call, "Maximum"); }
CallForm minimum_form(const Call& call) { return scatter_form(call, "Minimum"); }

CallForm argsort_form(const Call& call) {
  const Shape& x = call.inputs[0].shape;
  return {fmt::format("argsort<{}>", call.attributes.get<bool>("descending")),
          {x.erase(x.rank() - 1).elements(), x.back()}};
}

CallForm random_bits_form(const Call& call) {
  return {"random_bits",
          {call.inputs[0].shape.elements(), call.attributes.shape("shape").elements()}};
}
std::int64_t number(std::size_t n) { return static_cast<std::int64_t>(n); }

CallForm attention_form(const Call& call) {
  const arithmetic::AttentionSizes s = attention_sizes(call);
  return {"attention",
          {number(s.heads), number(s.group), number(s.queries), number(s.keys), number(s.size),
           number(s.value_size), s.ahead, std::bit_cast<std::int64_t>(s.scale)},
          number(s.size + s.keys)};
}

CallForm cached_attention_form(const Call& call) {
  const auto [sequences, s] = cached_attention_sizes(call);
  return {"cached_attention",
          {number(sequences), number(s.heads), number(s.group), number(s.queries), number(s.keys),
           number(s.size), number(s.value_size), std::bit_cast<std::int64_t>(s.scale)},
          number(s.size + s.keys)};
}
CallForm update_rows_form(const Call& call) {
  const UpdateSizes s = update_sizes(call);
  return {
      "update_rows",
      {number(s.sequences), number(s.outer), number(s.rows), number(s.places), number(s.inner)}};
}

CallForm iota_form(const Call& call) { return {"iota", {call.attributes.integer("size")}}; }

constexpr CallEntry kCallForms[] = {
    {&op::sum, sum_form},
    {&op::max, max_form},
    {&op::min, min_form},
    {&op::argmax, argmax_form},
    {&op::argsort, argsort_form},
    {&op::gather, gather_form},
    {&op::scatter_add, scatter_add_form},
    {&op::scatter, replace_form},
    {&op::scatter_multiply, multiply_form},
    {&op::scatter_maximum, maximum_form},
    {&op::scatter_minimum, minimum_form},
    {&op::scaled_dot_product_attention, attention_form},
    {&op::cached_attention, cached_attention_form},
    {&op::update_rows, update_rows_form},
    {&op::iota, iota_form},
    {&op::random_bits, random_bits_form},
};

}  // namespace

std::optional<std::string> element_form(const Call& call, std::span<const std::string> operands) {
  if (&call.op == &op::cast) return cast_form(call, operands[0]);
  const auto* found = std::find_if(std::begin(kElementForms), std::end(kElementForms),
                                   [&](const ElementForm& f) { return f.op == &call.op; });
  if (found == std::end(kElementForms)) return {};
  std::array<std::string_view, 3> words;
  std::copy(operands.begin(), operands.end(), words.begin());
  return fmt::format(
      fmt::runtime(is_floating(call.inputs.back().dtype) ? found->floating : found->other),
      words[0], words[1], words[2]);
}

std::optional<CallForm> call_form(const Call& call) {
  const auto* found = std::find_if(std::begin(kCallForms), std::end(kCallForms),
                                   [&](const CallEntry& f) { return f.op == &call.op; });
  if (found == std::end(kCallForms)) return {};
  return found->write(call);
}

}  // namespace limpid::emit
