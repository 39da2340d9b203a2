#include "apps/limpid/support/column_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "limpid/core/number_text.h"
#include "limpid/data/data_config.h"
#include "limpid/formats/model.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

std::vector<std::string> if_as_many(std::vector<std::string> names, std::int64_t numbers) {
  if (static_cast<std::int64_t>(names.size()) != numbers) names.clear();
  return names;
}

}  // namespace

std::vector<std::string> feature_names(const Model& model) {
  const std::optional<DataConfig> config = data_config_of(model);
  if (!config || model.function.inputs().empty()) return {};
  return if_as_many(config->feature_names, data_input(model).type.shape.elements());
}

std::vector<std::string> output_names(const Model& model) {
  const std::optional<DataConfig> config = data_config_of(model);
  if (!config || model.function.outputs().size() != 1) return {};
  const Type& type = model.function.type(model.function.outputs().front().value);
  return if_as_many(config->class_names.empty() ? config->target_names : config->class_names,
                    type.shape.elements());
}

std::string named_numbers(const std::vector<std::string>& names, std::span<const float> numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < names.size(); ++i)
    parts.push_back(
        fmt::format("{} = {}", printable(names[i]), short_number(static_cast<double>(numbers[i]))));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace limpid::tool
