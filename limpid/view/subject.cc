#include "limpid/view/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/visit_dtype.h"
#include "limpid/function/text.h"
#include "limpid/models/prompt.h"
#include "limpid/view/numbers.h"

namespace limpid::view {
namespace {

// ---- requests

std::vector<double> numbers_from_json(const JsonView& json) {
  std::vector<double> numbers;
  for (const JsonView& element : json.elements()) numbers.push_back(number_from_json(element));
  return numbers;
}

Edit edit_from_json(const JsonView& json) {
  Edit edit{.at = json.at("at").as_string()};
  if (const auto index = json.find("index"))
    for (const JsonView& element : index->elements()) edit.index.push_back(element.as_integer());
  return edit;
}

Change change_from_json(const JsonView& json) {
  Change change{.edit = edit_from_json(json)};
  int kinds = 0;
  const auto given = [&](std::string_view key) {
    const auto found = json.find(key);
    kinds += found.has_value();
    return found;
  };
  if (const auto set = given("set")) change.edit.change = Edit::Set{number_from_json(*set)};
  if (const auto scale = given("scale")) change.edit.change = Edit::Scale{number_from_json(*scale)};
  if (const auto add = given("add")) change.edit.change = Edit::Add{number_from_json(*add)};
  if (const auto noise = given("noise")) {
    constexpr std::int64_t kMostSeed = std::int64_t{1} << 53;
    change.edit.change =
        Edit::Noise{number_from_json(noise->at("std")),
                    static_cast<std::uint64_t>(noise->at("seed").as_integer(0, kMostSeed))};
  }
  if (const auto patch = given("patch")) {
    change.patch = input_from_json(*patch);
    change.edit.change = Edit::Patch{};
  }
  if (kinds != 1) json.refuse("one of set, scale, add, noise and patch");
  return change;
}

// ---- inputs

template <class T>
Tensor integers_of(const Type& type, const std::vector<double>& numbers) {
  using Limits = std::numeric_limits<T>;
  // A double holds no larger i64 exactly.
  const double most = std::min(static_cast<double>(Limits::max()), 0x1p53);
  const double least = std::max(static_cast<double>(Limits::min()), -0x1p53);
  return Tensor::generate<T>(type.shape, [&](std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!(numbers[i] >= least && numbers[i] <= most) || numbers[i] != std::trunc(numbers[i]))
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("{} is not a number of {}", numbers[i], name(type.dtype)));
      out[i] = static_cast<T>(numbers[i]);
    }
  });
}

Tensor input_tensor(const Input& input, const std::vector<double>& numbers) {
  const Type& type = input.type;
  if (static_cast<std::int64_t>(numbers.size()) != type.shape.elements())
    throw Error(ErrorCode::kShape,
                fmt::format("input {}: expected {} numbers ({}), got {}", in_quotes(input.name),
                            type.shape.elements(), to_string(type), numbers.size()));
  return visit(type.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      return integers_of<T>(type, numbers);
    } else {
      return Tensor::generate<T>(type.shape, [&](std::span<T> out) {
        std::transform(numbers.begin(), numbers.end(), out.begin(), [](double x) {
          if constexpr (std::is_same_v<T, Bf16>)
            return to_bf16(x);
          else if constexpr (std::is_same_v<T, F16>)
            return to_f16(x);
          else
            return static_cast<T>(x);
        });
      });
    }
  });
}

// Fills in the data of a model while it is opened.
struct DataReader {
  Session& session;
  Ready& ready;

  Params operator()(const InputSpec::Numbers& given) const {
    const Input& input = data_input(ready.model);
    return {{input.name, input_tensor(input, given.values)}};
  }
  Params operator()(const InputSpec::Text& given) const {
    return of_tokens(prompt_tokens(tokenizer_of(ready.model), given.text));
  }
  Params operator()(const InputSpec::Tokens& given) const {
    const std::int64_t size = tokenizer_of(ready.model).size();
    for (const std::int32_t token : given.tokens)
      if (token < 0 || token >= size)
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("expected tokens from 0 to {}, got {}", size - 1, token));
    if (given.tokens.empty())
      throw Error(ErrorCode::kInvalidArgument, "expected at least one token");
    return of_tokens(given.tokens);
  }
  Params of_tokens(std::vector<std::int32_t> tokens) const {
    ready.tokens = std::move(tokens);
    ready.model = at_length(std::move(ready.model), static_cast<std::int64_t>(ready.tokens.size()));
    const Input& input = data_input(ready.model);
    return {{input.name, prompt_input(ready.model, ready.tokens).reshape(input.type.shape)}};
  }
  Params operator()(const InputSpec::Example& given) const {
    const std::string& spec = given.data.empty() ? ready.open->data : given.data;
    const auto data = session.examples(*ready.open, spec, given.part);
    if (given.index < 0 || given.index >= data->size())
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("example {}: the part {} of {} has {}", given.index, given.part,
                              in_quotes(spec), data->size()));
    const Input& input = data_input(ready.model);
    const Tensor example = data->inputs_of(given.index, 1);
    if (example.dtype() != input.type.dtype || example.elements() != input.type.shape.elements())
      throw Error(ErrorCode::kShape, fmt::format("the model takes {}, the examples of {} are {}",
                                                 to_string(input.type), in_quotes(spec),
                                                 to_string(data->input_type())));
    ready.known = Known{data, given.index};
    if (data->task == Task::kNextToken) {
      const auto tokens = example.values<std::int32_t>();
      ready.tokens.assign(tokens.begin(), tokens.end());
    }
    return {{input.name, example.reshape(input.type.shape)}};
  }
  Params operator()(const InputSpec::Named& given) const {
    Params inputs;
    for (const Input& input : data_inputs(ready.model)) {
      const auto found = given.inputs.find(input.name);
      if (found == given.inputs.end())
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("input {} is missing", in_quotes(input.name)));
      inputs.set(input.name, input_tensor(input, found->second));
    }
    return inputs;
  }
};

}  // namespace

InputSpec input_from_json(const JsonView& json) {
  if (const auto values = json.find("values"))
    return {InputSpec::Numbers{numbers_from_json(*values)}};
  if (const auto text = json.find("text")) return {InputSpec::Text{text->as_string()}};
  if (const auto tokens = json.find("tokens")) {
    InputSpec::Tokens list;
    for (const JsonView& t : tokens->elements())
      list.tokens.push_back(static_cast<std::int32_t>(t.as_integer(0, 0x7fffffff)));
    return {list};
  }
  if (const auto tensors = json.find("tensors")) {
    InputSpec::Named named;
    for (const auto& [name, value] : tensors->members())
      named.inputs[name] = numbers_from_json(value.at("values"));
    return {named};
  }
  if (const auto index = json.find("index")) {
    InputSpec::Example example{.index = index->as_integer()};
    if (const auto data = json.find("data")) example.data = data->as_string();
    if (const auto part = json.find("part")) example.part = part->as_string();
    return {example};
  }
  json.refuse("an input: values, text, tokens, index or tensors");
}

std::vector<Change> changes_from_json(const JsonView& json, const Limits& limits) {
  const std::vector<JsonView> elements = json.elements();
  if (elements.size() > limits.edits)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("at most {} edits are taken, got {}", limits.edits, elements.size()));
  std::vector<Change> changes;
  for (const JsonView& element : elements) changes.push_back(change_from_json(element));
  return changes;
}

Subject subject_from_json(const JsonView& json, const Limits& limits) {
  Subject subject{.model = json.at("model").as_string()};
  if (const auto input = json.find("input"); input && !input->value().is_null())
    subject.input = input_from_json(*input);
  if (const auto edits = json.find("edits")) subject.changes = changes_from_json(*edits, limits);
  return subject;
}

Ready ready(Session& session, const Subject& subject) {
  Ready ready{.open = session.model(subject.model)};
  if (!ready.open->has_function)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} has tensors but no function", in_quotes(ready.open->name)));
  if (!subject.input)
    throw Error(ErrorCode::kInvalidArgument,
                "expected an input: values, text, tokens, index or tensors");
  ready.model = ready.open->model;
  Params inputs = std::visit(DataReader{session, ready}, subject.input->spec);
  for (const Input& input : ready.model.function.inputs()) {
    const Tensor* const data = inputs.find(input.name);
    ready.inputs.push_back(data ? *data : ready.model.params.at(input.name));
  }
  return ready;
}

std::int64_t counted_rows(const Ready& ready, std::int64_t rows) {
  if (!ready.known) return rows;
  const Dataset& data = *ready.known->data;
  const bool of_tokens =
      data.task == Task::kNextToken && data.target_type().shape.elements() == rows;
  return of_tokens ? data.counted(ready.known->index) : rows;
}

std::vector<Edit> edits_of(Session& session, const Ready& to, const std::vector<Change>& changes) {
  std::vector<Edit> edits;
  for (const Change& change : changes) {
    edits.push_back(change.edit);
    if (!change.patch) continue;
    const Ready other = ready(session, {.model = to.open->id, .input = change.patch});
    const ValueId at = value_of_name(to.model.function, change.edit.at);
    const std::vector<Tensor> values = session.values(other.model.function, other.inputs);
    edits.back().change = Edit::Patch{values.at(static_cast<std::size_t>(at))};
  }
  return edits;
}

Prepared prepare(Session& session, const Subject& subject) {
  Prepared prepared{.ready = ready(session, subject)};
  const Function& f = prepared.ready.model.function;
  if (!subject.changes.empty()) {
    prepared.edited = edit(f, edits_of(session, prepared.ready, subject.changes));
    return prepared;
  }
  prepared.edited.function = f;
  for (std::size_t i = 0; i < f.types().size(); ++i)
    prepared.edited.values.push_back(static_cast<ValueId>(i));
  return prepared;
}

Computed compute(Session& session, const Subject& subject) {
  Prepared prepared = prepare(session, subject);
  Computed computed{.ready = std::move(prepared.ready), .edited = std::move(prepared.edited)};
  computed.run.function = computed.ready.model.function;
  const std::vector<Tensor> all = session.values(computed.edited.function, computed.ready.inputs);
  for (const ValueId id : computed.edited.values)
    computed.run.values.push_back(all[static_cast<std::size_t>(id)]);
  return computed;
}

Tensor parameter_value(const OpenModel& open, const std::string& value) {
  for (const auto& [name, tensor] : open.model.params)
    if (value == "%" + quoted_name(name) || value == "%" + name) return tensor;
  throw Error(ErrorCode::kNotFound,
              fmt::format("model {} has no parameter {}; other values need an input",
                          in_quotes(open.id), in_quotes(value)));
}

}  // namespace limpid::view
