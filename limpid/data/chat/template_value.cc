// Values of chat templates.
#include "limpid/data/chat/detail/template_value.h"

#include <algorithm>

#include "limpid/core/error.h"

namespace limpid::detail {

TemplateValue::TemplateValue(TemplateSequence sequence)
    : value_(std::make_shared<const TemplateSequence>(std::move(sequence))) {}
TemplateValue::TemplateValue(TemplateDictionary dictionary)
    : value_(std::make_shared<const TemplateDictionary>(std::move(dictionary))) {}

const TemplateValue* TemplateMembers::find(std::string_view key) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& member) { return member.first == key; });
  return found == all.end() ? nullptr : &found->second;
}

void TemplateMembers::set(std::string_view key, TemplateValue value) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& member) { return member.first == key; });
  if (found == all.end())
    all.emplace_back(key, std::move(value));
  else
    found->second = std::move(value);
}

std::size_t depth_of(const TemplateValue& value) {
  if (value.sequence()) return value.sequence()->depth;
  if (value.dictionary()) return value.dictionary()->depth;
  return 0;
}

TemplateValue template_value(const Json& json) {
  if (json.is_null()) return TemplateValue::None{};
  if (json.is_bool()) return json.as_bool();
  if (json.is_small_integer()) return json.as_integer();
  if (json.is_number()) return TemplateValue::OtherNumber{.is_zero = json.as_number() == 0};
  if (json.is_string()) return json.as_string();
  const auto deeper = [](std::size_t depth, const TemplateValue& value) {
    if (depth_of(value) >= kDeepestValue)
      throw Error(ErrorCode::kUnsupported, "chat template: a variable is nested too deeply");
    return std::max(depth, depth_of(value) + 1);
  };
  if (json.is_array()) {
    TemplateSequence list;
    for (const Json& element : json.elements()) {
      list.elements.push_back(template_value(element));
      list.depth = deeper(list.depth, list.elements.back());
    }
    return list;
  }
  TemplateDictionary dictionary;
  for (const Json::Member& member : json.members()) {
    dictionary.members.all.emplace_back(member.key, template_value(member.value));
    dictionary.depth = deeper(dictionary.depth, dictionary.members.all.back().second);
  }
  return dictionary;
}

}  // namespace limpid::detail
