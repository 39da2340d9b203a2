// Data of the kind "text": windows of a text for language models.
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/data_config.h"
#include "limpid/data/kinds/detail/data_kind.h"

namespace limpid::detail {
namespace {

Split load_text(const DataSpec& spec, const LoadOptions& options) {
  return load_text_windows(spec.value, options.text);
}

// Windows of the last tenth, by the tokenizer of the model: as long as its context, with as many
// targets as it has logits for.
Dataset load_text_test(const DataSpec& spec, const Model& model, Targets, std::int64_t) {
  const std::optional<DataConfig> config = data_config_of(model);
  const std::optional<Tokenizer> tokenizer = config ? tokenizer_of(*config) : std::nullopt;
  if (!tokenizer)
    throw Error(ErrorCode::kInvalidArgument,
                "data " + in_quotes(to_text(spec)) + ": the model was not trained on a text");
  const Type& logits = model.function.type(model.function.outputs().front().value);
  Dataset data =
      load_test_windows(spec.value, *tokenizer,
                        {data_input(model).type.shape.elements(), logits.shape.rank() == 2, ""});
  data.class_names = config->class_names;
  return data;
}

}  // namespace

DataKind text_kind() {
  struct None {};
  return {.name = "text",
          .help = "text:FILE",
          .check = [](const DataSpec& spec) { settings_of<None>(spec, {}); },
          .load = load_text,
          .load_examples = load_text_test};
}

}  // namespace limpid::detail
