#include "limpid/transforms/edit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/random.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/rewrite.h"

namespace limpid {
namespace {

// ---- which elements

void check_index(const Edit& edit, const Type& type) {
  const std::size_t rank = type.shape.rank();
  bool fits = edit.index.size() == rank;
  for (std::size_t d = 0; fits && d < rank; ++d)
    fits = edit.index[d] >= -1 && edit.index[d] < type.shape[d];
  if (!fits)
    throw Error(ErrorCode::kShape, fmt::format("edit of {}: index [{}] is outside of {}", edit.at,
                                               fmt::join(edit.index, ", "), to_string(type)));
}

// A mask of the edited elements; nothing if all are edited.
std::optional<Tensor> mask_of(const Edit& edit, const Type& type) {
  if (edit.index.empty()) return {};
  check_index(edit, type);
  const Shape& shape = type.shape;
  return Tensor::generate<bool>(shape, [&](std::span<bool> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::size_t rest = i;
      out[i] = true;
      for (std::size_t d = shape.rank(); d-- > 0;) {
        const auto size = static_cast<std::size_t>(shape[d]);
        const auto at = static_cast<std::int64_t>(rest % size);
        out[i] = out[i] && (edit.index[d] == -1 || edit.index[d] == at);
        rest /= size;
      }
    }
  });
}

// ---- what becomes of them

// What an edit writes, and the value as it was.
struct Writer {
  const Edit& edit;
  Builder& builder;
  Value value;

  [[noreturn]] void refuse_dtype() const {
    throw Error(ErrorCode::kDtype,
                fmt::format("edit of {}: a value of type {} does not support this change", edit.at,
                            to_string(value.type())));
  }
  void expect_floating() const {
    if (value.dtype() != Dtype::kF32 && value.dtype() != Dtype::kF64) refuse_dtype();
  }

  Value operator()(const Edit::Set& set) const {
    const Dtype dtype = value.dtype();
    const bool integer = dtype == Dtype::kI32 || dtype == Dtype::kI64;
    if (!integer) expect_floating();
    if (integer &&
        !(set.number >= -0x1p31 && set.number < 0x1p31 && set.number == std::trunc(set.number)))
      throw Error(
          ErrorCode::kDtype,
          fmt::format("edit of {}: expected an integer of 32 bits for a value of type {}, got {}",
                      edit.at, to_string(value.type()), set.number));
    return broadcast(constant(builder, set.number, dtype), value.shape());
  }
  Value operator()(const Edit::Scale& scale) const {
    expect_floating();
    return value * scale.factor;
  }
  Value operator()(const Edit::Add& add) const {
    expect_floating();
    return value + add.number;
  }
  Value operator()(const Edit::Noise& noise) const {
    expect_floating();
    const Value key = constant(builder, key_tensor(Key(noise.seed)));
    return value + cast(normal(key, value.shape()) * noise.std, value.dtype());
  }
  Value operator()(const Edit::Patch& patch) const {
    if (!(patch.tensor.type() == value.type()))
      throw Error(patch.tensor.dtype() == value.dtype() ? ErrorCode::kShape : ErrorCode::kDtype,
                  fmt::format("edit of {}: the patch is {}, expected {}", edit.at,
                              to_string(patch.tensor.type()), to_string(value.type())));
    return constant(builder, patch.tensor);
  }
};

Value edited(const Edit& edit, Builder& builder, const Value& value) {
  const std::optional<Tensor> mask = mask_of(edit, value.type());
  const Value changed = std::visit(Writer{edit, builder, value}, edit.change);
  return mask ? select(constant(builder, *mask), changed, value) : changed;
}

// ---- text

[[noreturn]] void throw_no_edit(std::string_view text) {
  throw Error(ErrorCode::kParse,
              fmt::format("{} is not an edit: expected VALUE = NUMBER, VALUE *= NUMBER, VALUE += "
                          "NUMBER or VALUE += noise(STD, SEED), where VALUE is %3 or %3[0, 5]",
                          in_quotes(text)));
}

std::string_view stripped(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

template <class T>
std::optional<T> whole_number(std::string_view text) {
  text = stripped(text);
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

// A name, optionally followed by an index such as "[0, -1]".
bool read_place(std::string_view text, Edit& edit) {
  if (text.size() < 2 || text.front() != '%') return false;
  if (text.back() == ']') {
    const std::size_t open = text.rfind('[');
    if (open == std::string_view::npos) return false;
    std::string_view list = text.substr(open + 1, text.size() - open - 2);
    for (;;) {
      const std::size_t comma = list.find(',');
      const auto number = whole_number<std::int64_t>(list.substr(0, comma));
      if (!number) return false;
      edit.index.push_back(*number);
      if (comma == std::string_view::npos) break;
      list.remove_prefix(comma + 1);
    }
    text = stripped(text.substr(0, open));
  }
  edit.at = text;
  return text.size() > 1 && text.find_first_of(" []") == std::string_view::npos;
}

bool read_noise(std::string_view text, Edit& edit) {
  constexpr std::string_view kNoise = "noise(";
  if (!text.starts_with(kNoise) || text.back() != ')') return false;
  text = text.substr(kNoise.size(), text.size() - kNoise.size() - 1);
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return false;
  const auto std = whole_number<double>(text.substr(0, comma));
  const auto seed = whole_number<std::uint64_t>(text.substr(comma + 1));
  if (!std || !seed) return false;
  edit.change = Edit::Noise{*std, *seed};
  return true;
}

std::string text_of(const Edit::Set& c) { return fmt::format("= {}", c.number); }
std::string text_of(const Edit::Scale& c) { return fmt::format("*= {}", c.factor); }
std::string text_of(const Edit::Add& c) { return fmt::format("+= {}", c.number); }
std::string text_of(const Edit::Noise& c) { return fmt::format("+= noise({}, {})", c.std, c.seed); }
std::string text_of(const Edit::Patch&) { return "= patch"; }

}  // namespace

ValueId value_of_name(const Function& function, std::string_view name) {
  for (std::size_t i = 0; i < function.types().size(); ++i)
    if (value_name(function, static_cast<ValueId>(i)) == name) return static_cast<ValueId>(i);
  throw Error(ErrorCode::kNotFound, fmt::format("there is no value {} in function {}",
                                                in_quotes(name), in_quotes(function.name())));
}

Edited edit(const Function& function, std::span<const Edit> edits) {
  std::vector<std::vector<const Edit*>> of_value(function.types().size());
  for (const Edit& e : edits)
    of_value[static_cast<std::size_t>(value_of_name(function, e.at))].push_back(&e);

  Builder builder(function.name());
  std::vector<Value> values;
  for (const Input& input : function.inputs())
    values.push_back(builder.input(input.name, input.type));
  const auto change = [&](std::size_t id, Value& value) {
    for (const Edit* e : of_value[id]) value = edited(*e, builder, value);
  };
  for (std::size_t i = 0; i < values.size(); ++i) change(i, values[i]);
  rewrite_nodes(builder, function, values,
                [&](Builder& b, const Node& node, std::span<const Value> inputs) {
                  std::vector<Value> results = b.call(*node.op, inputs, node.attributes);
                  for (std::size_t r = 0; r < results.size(); ++r)
                    change(static_cast<std::size_t>(node.first_output) + r, results[r]);
                  return results;
                });
  Edited result;
  for (const Value& value : values) result.values.push_back(value.id());
  result.function = builder.finish(outputs_of(function, values), output_names(function));
  return result;
}

Edit parse_edit(std::string_view text) {
  const DefaultFloatMode mode;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) throw_no_edit(text);
  const char before = text[equals - 1];
  const bool compound = before == '*' || before == '+';
  const std::string_view right = stripped(text.substr(equals + 1));
  Edit edit;
  if (!read_place(stripped(text.substr(0, equals - compound)), edit)) throw_no_edit(text);
  if (before == '+' && read_noise(right, edit)) return edit;
  const auto number = whole_number<double>(right);
  if (!number) throw_no_edit(text);
  if (before == '*')
    edit.change = Edit::Scale{*number};
  else if (before == '+')
    edit.change = Edit::Add{*number};
  else
    edit.change = Edit::Set{*number};
  return edit;
}

std::string to_text(const Edit& edit) {
  const std::string index =
      edit.index.empty() ? "" : fmt::format("[{}]", fmt::join(edit.index, ", "));
  return fmt::format("{}{} {}", edit.at, index,
                     std::visit([](const auto& change) { return text_of(change); }, edit.change));
}

}  // namespace limpid
