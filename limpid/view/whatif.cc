#include "limpid/view/whatif.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/function/text.h"
#include "limpid/view/runs.h"
#include "limpid/view/shell_quote.h"

namespace limpid::view {
namespace {

// Quotes a text for C++.
std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

template <class Numbers>
std::string values_option(const Numbers& numbers) {
  std::string list;
  for (const auto x : numbers)
    list += fmt::format("{}{}", list.empty() ? "" : ",", static_cast<float>(x));
  return fmt::format(" --values {}", shell_quote(list));
}

// The options of `limpid trace` for the input; nullopt if it has none for it.
std::optional<std::string> input_options(Session& session, const Subject& subject,
                                         const OpenModel& open) {
  if (!subject.input) return "";
  if (const auto* example = std::get_if<InputSpec::Example>(&subject.input->spec)) {
    const std::string& spec = example->data.empty() ? open.data : example->data;
    if (example->part == "test")
      return fmt::format(" --data {} --index {}", shell_quote(spec), example->index);
    // --data has the test set alone.
    const Tensor values = session.examples(open, spec, example->part)->inputs_of(example->index, 1);
    if (values.dtype() == Dtype::kF32) return values_option(values.values<float>());
  }
  if (const auto* text = std::get_if<InputSpec::Text>(&subject.input->spec))
    return fmt::format(" --prompt {}", shell_quote(text->text));
  if (const auto* numbers = std::get_if<InputSpec::Numbers>(&subject.input->spec))
    return values_option(numbers->values);
  return {};
}

// Whether the tool can open the model by its path.
bool has_path(const OpenModel& open) {
  return open.origin == Origin::kNamed || open.origin == Origin::kRun ||
         open.origin == Origin::kDropped;
}

// The path of the model in the copied text.
std::string path_of(Session& session, const OpenModel& open) {
  if (open.origin == Origin::kNamed) return open.path;
  if (open.origin == Origin::kRun) return session.runs().folder(open.id).string();
  return open.name;
}

// The edits of a request, for the model's own Function or for that of its input.
Edited edited_of(Session& session, const Subject& subject) {
  if (subject.input) {
    const Ready made = ready(session, subject);
    return edit(made.model.function, edits_of(session, made, subject.changes));
  }
  std::vector<Edit> edits;
  for (const Change& change : subject.changes) {
    if (change.patch)
      throw Error(ErrorCode::kInvalidArgument, "a patch needs an input, for its length");
    edits.push_back(change.edit);
  }
  return edit(session.model(subject.model)->model.function, edits);
}

}  // namespace

EditText edit_text(Session& session, const Subject& subject) {
  const auto open = session.model(subject.model);
  const Edited edited = edited_of(session, subject);
  const std::string path = path_of(session, *open);
  EditText text;
  text.cpp = fmt::format(
      "#include <limpid/limpid.h>\n\nnamespace lp = limpid;\nconst lp::Model model = "
      "lp::open_model({});\nconst lp::Edited what_if = lp::edit(model.function, {{\n",
      literal(path));
  std::string options;
  bool patched = false;
  for (const Change& change : subject.changes) {
    patched = patched || change.patch;
    if (change.patch)
      text.cpp += fmt::format(
          "    {{.at = {}, .change = lp::Edit::Patch{{value}}}},  // value: a Tensor, what {} is "
          "for "
          "another example\n",
          literal(change.edit.at), change.edit.at);
    else
      text.cpp += fmt::format("    lp::parse_edit({}),\n", literal(to_text(change.edit)));
    options += fmt::format(" --edit {}", shell_quote(to_text(change.edit)));
  }
  text.cpp += "});\n";
  const auto input = input_options(session, subject, *open);
  if (!patched && input && has_path(*open))
    text.command = fmt::format("limpid trace {}{}{}", shell_quote(path), *input, options);
  constexpr std::int64_t kShownElements = 16;
  text.function = limpid::to_text(edited.function, {.max_elements = kShownElements});
  return text;
}

Json to_json(const EditText& text) {
  return {{"cpp", text.cpp},
          {"command", text.command ? Json(*text.command) : Json()},
          {"function", text.function}};
}

std::shared_ptr<const OpenModel> keep(Session& session, const Subject& subject,
                                      const std::string& name) {
  constexpr std::size_t kLongest = 200;
  if (name.empty() || name.size() > kLongest)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("name: expected 1 to {} bytes, got {}", kLongest, name.size()));
  const auto open = session.model(subject.model);
  const bool patched = std::any_of(subject.changes.begin(), subject.changes.end(),
                                   [](const Change& c) { return c.patch.has_value(); });
  Subject of_model = subject;
  if (!patched) of_model.input.reset();
  OpenModel variant{.name = name, .origin = Origin::kVariant};
  variant.model = open->model;
  variant.model.function = edited_of(session, of_model).function;
  variant.data = open->data;
  variant.has_function = open->has_function;
  return session.add(std::move(variant));
}

}  // namespace limpid::view
