#include "limpid/view/data.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/data/picture.h"

namespace limpid::view {
namespace {

// The shape of pictures of one channel, as the page draws them.
Json picture_json(const Dataset& data) {
  const std::optional<PictureShape> shape = shown_shape(data);
  if (!shape || shape->channels != 1) return {};
  return Json{{"height", shape->height}, {"width", shape->width}};
}

Json names_or_null(const std::vector<std::string>& names) {
  return names.empty() ? Json() : Json(names);
}

}  // namespace

ShownExamples show_examples(Session& session, const ExamplesRequest& request) {
  constexpr std::int64_t kMostExamples = 1000;
  const auto open = session.model(request.model);
  const std::string& spec = request.data.empty() ? open->data : request.data;
  ShownExamples shown{session.examples(*open, spec, request.part), request.part, {}};
  const Dataset& data = *shown.data;
  if (request.first < 0 || request.first > data.size() || request.count < 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("data: {} examples from {} on, but there are {}", request.count,
                            request.first, data.size()));
  const std::int64_t size = std::max<std::int64_t>(1, data.input_type().shape.elements());
  const std::int64_t fit = std::max<std::int64_t>(1, session.limits().values / size);
  const std::int64_t count =
      std::min({request.count, data.size() - request.first, kMostExamples, fit});
  for (std::int64_t i = request.first; i < request.first + count; ++i) {
    ShownExample example{.index = i, .values = data.inputs_of(i, 1), .facts = facts_of(data, i)};
    if (data.tokenizer && data.task == Task::kNextToken) {
      const auto tokens = example.values.values<std::int32_t>();
      // With a target for each token, the last window may be padded.
      const bool padded = data.target_type().shape.rank() == 1;
      const auto length = padded ? static_cast<std::size_t>(data.counted(i)) : tokens.size();
      example.text = data.tokenizer->decode(tokens.first(length));
    }
    shown.examples.push_back(std::move(example));
  }
  return shown;
}

Json to_json(const ShownExamples& shown) {
  const Dataset& data = *shown.data;
  Json examples = Json::array();
  for (const ShownExample& e : shown.examples) {
    Json values = Json::array(), target = Json::array();
    for (std::int64_t i = 0; i < e.values.elements(); ++i) {
      const Exact number = exact_at(e.values, i);
      values.push_back(number_json(number.value, number.dtype));
    }
    for (const double t : e.facts.target) target.push_back(number_json(t));
    Json one{{"index", e.index},
             {"values", values},
             {"target", target},
             {"label", e.facts.label.empty() ? Json() : Json(e.facts.label)}};
    if (!e.text.empty()) one["text"] = e.text;
    examples.push_back(std::move(one));
  }
  return {{"name", data.name},
          {"part", shown.part},
          {"size", data.size()},
          {"task", name(data.task)},
          {"input",
           {{"dtype", name(data.input_type().dtype)}, {"shape", to_json(data.input_type().shape)}}},
          {"picture", picture_json(data)},
          {"classes", data.task == Task::kNextToken ? Json() : names_or_null(data.class_names)},
          {"features", names_or_null(data.feature_names)},
          {"examples", examples}};
}

}  // namespace limpid::view
