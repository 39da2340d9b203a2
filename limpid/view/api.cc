#include "limpid/view/api.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/view/compare.h"
#include "limpid/view/data.h"
#include "limpid/view/forward.h"
#include "limpid/view/gradient.h"
#include "limpid/view/graph.h"
#include "limpid/view/language.h"
#include "limpid/view/playground.h"
#include "limpid/view/runs.h"
#include "limpid/view/whatif.h"

namespace limpid::view {
namespace {

// ---- members of a request

std::int64_t integer_or(const JsonView& json, std::string_view key, std::int64_t otherwise,
                        std::int64_t low = 0, std::int64_t high = std::int64_t{1} << 53) {
  const auto found = json.find(key);
  return found && !found->value().is_null() ? found->as_integer(low, high) : otherwise;
}

std::string string_or(const JsonView& json, std::string_view key, std::string otherwise) {
  const auto found = json.find(key);
  return found && !found->value().is_null() ? found->as_string() : otherwise;
}

bool flag_of(const JsonView& json, std::string_view key) {
  const auto found = json.find(key);
  return found && found->as_bool();
}

std::vector<std::string> strings_of(const JsonView& json, std::string_view key) {
  const auto found = json.find(key);
  return found ? found->as_strings() : std::vector<std::string>{};
}

constexpr std::int64_t kBins = 30, kShownValues = 4096;

// ---- what is open

Json answer_session(Session& session, const JsonView&) { return session_json(session); }

Json answer_close(Session& session, const JsonView& json) {
  session.close(json.at("model").as_string());
  return Json::object();
}

// ---- the graph and its values

// The model with those edits of a request that need no input.
Function shown_function(Session& session, const OpenModel& open, const JsonView& json) {
  const auto edits = json.find("edits");
  if (!edits || edits->elements().empty()) return open.model.function;
  std::vector<Edit> list;
  for (const Change& change : changes_from_json(*edits, session.limits())) {
    if (change.patch)
      throw Error(ErrorCode::kInvalidArgument, "a graph cannot show patches from examples");
    list.push_back(change.edit);
  }
  return edit(open.model.function, list).function;
}

Json answer_graph(Session& session, const JsonView& json) {
  const auto open = session.model(json.at("model").as_string());
  const Function f = shown_function(session, *open, json);
  const std::int64_t node = integer_or(json, "node", -1);
  if (node >= 0) return to_json(graph_of_body(f, node, session.limits().nodes));
  return to_json(graph_of(f, open->model.params, session.limits().nodes));
}

Json answer_parameters(Session& session, const JsonView& json) {
  const auto open = session.model(json.at("model").as_string());
  Json list = Json::array();
  for (const Parameter& p : parameters_of(open->model.params, integer_or(json, "bins", kBins)))
    list.push_back(to_json(p));
  return {{"parameters", list}};
}

Json answer_tensor(Session& session, const JsonView& json) {
  Look request{.subject = subject_from_json(json, session.limits()),
               .value = json.at("value").as_string(),
               .bins = integer_or(json, "bins", kBins)};
  if (const auto box = json.find("box")) request.box = box_from_json(*box);
  const auto encoding = from_name<Encoding>(string_or(json, "as", "numbers"));
  const Looked looked = look(session, request);
  return {{"name", looked.name},
          {"statistics", to_json(looked.statistics)},
          {"histogram", to_json(looked.histogram)},
          {"values", to_json(looked.values, encoding)}};
}

Json answer_data(Session& session, const JsonView& json) {
  return to_json(show_examples(session, {.model = json.at("model").as_string(),
                                         .data = string_or(json, "data", ""),
                                         .part = string_or(json, "part", "test"),
                                         .first = integer_or(json, "first", 0),
                                         .count = integer_or(json, "count", 1)}));
}

// ---- forward and back

Json answer_forward(Session& session, const JsonView& json) {
  return to_json(forward(session, {.subject = subject_from_json(json, session.limits()),
                                   .values = integer_or(json, "values", kShownValues),
                                   .only = strings_of(json, "only"),
                                   .compare = flag_of(json, "compare")}));
}

Json answer_neuron(Session& session, const JsonView& json) {
  constexpr std::int64_t kTerms = 64;
  return to_json(neuron(session, {.subject = subject_from_json(json, session.limits()),
                                  .layer = json.at("layer").as_string(),
                                  .index = json.at("index").as_integer(),
                                  .row = integer_or(json, "row", -1, -1),
                                  .most = integer_or(json, "terms", kTerms)}));
}

Json answer_gradient(Session& session, const JsonView& json) {
  GradientRequest request{.subject = subject_from_json(json, session.limits()),
                          .values = integer_or(json, "values", kShownValues),
                          .only = strings_of(json, "only")};
  const JsonView of = json.at("of");
  if (const auto output = of.find("output")) {
    request.output = output->as_integer();
    request.name = string_or(of, "name", "");
  } else if (const auto target = of.at("loss").find("target");
             target && !target->value().is_null()) {
    request.target.emplace();
    if (target->value().is_array())
      for (const JsonView& t : target->elements()) request.target->push_back(number_from_json(t));
    else
      request.target->push_back(number_from_json(*target));
  }
  return to_json(gradient(session, request));
}

// ---- what if

Json answer_edit(Session& session, const JsonView& json) {
  return to_json(edit_text(session, subject_from_json(json, session.limits())));
}

Json answer_keep(Session& session, const JsonView& json) {
  return model_json(
      *keep(session, subject_from_json(json, session.limits()), json.at("name").as_string()));
}

// ---- comparing

Json answer_compare(Session& session, const JsonView& json) {
  constexpr std::int64_t kMost = 1000;
  return to_json(compare(session, subject_from_json(json.at("a"), session.limits()),
                         subject_from_json(json.at("b"), session.limits()),
                         integer_or(json, "most", kMost, 0, 100'000)));
}

Json answer_compare_runs(Session& session, const JsonView& json) {
  return to_json(compare_runs(session, json.at("a").as_string(), json.at("b").as_string(),
                              flag_of(json, "recompute")));
}

// ---- language models

nn::Sampling sampling_of(const JsonView& json) {
  nn::Sampling s;
  if (const auto t = json.find("temperature")) s.temperature = t->as_number();
  s.top_k = integer_or(json, "top_k", s.top_k);
  if (const auto p = json.find("top_p")) s.top_p = p->as_number();
  return s;
}

Json answer_tokens(Session& session, const JsonView& json) {
  const std::string model = json.at("model").as_string();
  Json list = Json::array();
  for (const ShownToken& t : tokens_of(session, model, json.at("text").as_string()))
    list.push_back({{"id", t.id}, {"text", t.text}});
  return {{"tokens", list}, {"context", context_of(session.model(model)->model)}};
}

Json answer_language(Session& session, const JsonView& json) {
  constexpr std::int64_t kNext = 20, kLens = 16;
  return to_json(language(session, {.subject = subject_from_json(json, session.limits()),
                                    .sampling = sampling_of(json),
                                    .most = integer_or(json, "most", kNext),
                                    .lens = integer_or(json, "lens", kLens, 0, 256)}));
}

Json answer_attention(Session& session, const JsonView& json) {
  const Tensor weights = attention_of(session, subject_from_json(json, session.limits()),
                                      json.at("layer").as_integer(), json.at("head").as_integer());
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  return {{"queries", weights.shape()[0]},
          {"keys", weights.shape()[1]},
          {"weights", to_json(values_of(weights, {}, kMost),
                              from_name<Encoding>(string_or(json, "as", "base64")))}};
}

Json answer_generate(Session& session, const JsonView& json) {
  GenerateRequest request{.model = json.at("model").as_string(),
                          .text = string_or(json, "text", ""),
                          .sampling = sampling_of(json),
                          .seed = static_cast<std::uint64_t>(integer_or(json, "seed", 0)),
                          .count = integer_or(json, "count", 1)};
  if (const auto tokens = json.find("tokens"))
    for (const JsonView& t : tokens->elements())
      request.tokens.push_back(static_cast<std::int32_t>(t.as_integer(0, 0x7fffffff)));
  const Generated g = generate(session, request, integer_or(json, "drawn", 0));
  Json all = Json::array(), added = Json::array();
  for (std::size_t i = 0; i < g.tokens.size(); ++i) {
    const Json token{{"id", g.tokens[i].id}, {"text", g.tokens[i].text}};
    if (i + g.added >= g.tokens.size()) added.push_back(token);
    all.push_back(token);
  }
  return {{"tokens", all},
          {"added", added},
          {"text", g.text},
          {"cache",
           {{"length", g.cache.length}, {"capacity", g.cache.capacity}, {"bytes", g.cache.bytes}}}};
}

// ---- the playground

Json answer_play_data(Session& session, const JsonView& json) {
  return to_json(session.playground().points(play_config_from_json(json.at("config"))));
}

Json answer_play(Session& session, const JsonView& json) {
  return to_json(session.playground().play(play_request_from_json(json)));
}

Json answer_play_export(Session& session, const JsonView& json) {
  return to_json(session.playground().take_away(play_config_from_json(json.at("config")),
                                                string_or(json, "state", ""),
                                                integer_or(json, "steps", 0)));
}

// ---- runs

Json answer_run_log(Session& session, const JsonView& json) {
  constexpr std::int64_t kSteps = 2000;
  return to_json(session.runs().log({.run = json.at("run").as_string(),
                                     .cursor = integer_or(json, "cursor", 0),
                                     .most = integer_or(json, "most", kSteps, 4, 100'000)}));
}

Json config_of(Session& session, const std::string& run) {
  return train::to_json(train::RunFolder(session.runs().folder(run)).read_config());
}

Json answer_run_config(Session& session, const JsonView& json) {
  const std::string run = json.at("run").as_string();
  const train::RunFolder folder(session.runs().folder(run));
  return {{"config", config_of(session, run)}, {"command", Json(folder.first_command())}};
}

Json answer_run_diff(Session& session, const JsonView& json) {
  std::vector<Json> configs;
  for (const std::string& run : json.at("runs").as_strings())
    configs.push_back(config_of(session, run));
  Json rows = Json::array();
  for (const ConfigRow& row : config_diff(configs))
    rows.push_back({{"key", row.key}, {"values", Json(row.values)}});
  return {{"rows", rows}};
}

Json answer_run_keys(Session&, const JsonView&) {
  constexpr const char* kKinds[] = {"text", "integer", "number", "switch", "integers"};
  Json keys = Json::array();
  for (const train::ConfigKey& key : train::config_keys())
    keys.push_back({{"path", key.path},
                    {"flag", key.flag},
                    {"help", key.help},
                    {"otherwise", key.otherwise},
                    {"kind", kKinds[static_cast<std::size_t>(key.kind())]},
                    {"choices", key.choices ? Json(key.choices()) : Json()}});
  return {{"keys", keys}};
}

Json answer_run_start(Session& session, const JsonView& json) {
  const JsonView config = json.at("config");
  config.members();  // an object
  return session.runs().info(session.runs().start(json.at("name").as_string(), config.value()));
}

Json answer_run_action(Session& session, const JsonView& json) {
  const std::string run = json.at("run").as_string();
  session.runs().act(run, from_name<Runs::Action>(json.at("action").as_string()));
  return session.runs().info(run);
}

Json answer_run_step(Session& session, const JsonView& json) {
  return to_json(session.runs().at(json.at("run").as_string(), json.at("step").as_integer()));
}

// In the order of docs/view-api.md.
constexpr Endpoint kEndpoints[] = {
    {"session", answer_session, Effort::kQuick},
    {"close", answer_close, Effort::kQuick},
    {"graph", answer_graph},
    {"parameters", answer_parameters},
    {"tensor", answer_tensor},
    {"data", answer_data},
    {"forward", answer_forward},
    {"neuron", answer_neuron},
    {"edit", answer_edit},
    {"keep", answer_keep},
    {"gradient", answer_gradient},
    {"run/log", answer_run_log},
    {"run/config", answer_run_config, Effort::kQuick},
    {"run/diff", answer_run_diff, Effort::kQuick},
    {"run/keys", answer_run_keys, Effort::kQuick},
    {"run/start", answer_run_start, Effort::kAction},
    {"run/action", answer_run_action, Effort::kAction},
    {"run/step", answer_run_step},
    {"compare", answer_compare},
    {"compare/runs", answer_compare_runs},
    {"tokens", answer_tokens},
    {"language", answer_language},
    {"attention", answer_attention},
    {"generate", answer_generate},
    {"play/data", answer_play_data},
    {"play", answer_play},
    {"play/export", answer_play_export},
};

}  // namespace

std::span<const Endpoint> endpoints() { return kEndpoints; }

const Endpoint* find_endpoint(std::span<const Endpoint> list, std::string_view name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Endpoint& e) { return e.name == name; });
  return found == list.end() ? nullptr : &*found;
}

std::string answer(Session& session, const Endpoint& endpoint, std::string_view request) {
  const Json json = Json::parse(request.empty() ? "{}" : request);
  if (!json.is_object())
    throw Error(ErrorCode::kFormat, fmt::format("{}: expected a JSON object", endpoint.name));
  return endpoint.answer(session, JsonView(json)).dump({.replace_invalid = true});
}

std::string answer(Session& session, std::string_view name, std::string_view request) {
  const Endpoint* const endpoint = find_endpoint(endpoints(), name);
  if (!endpoint)
    throw Error(ErrorCode::kNotFound, fmt::format("there is no request {}", in_quotes(name)));
  return answer(session, *endpoint, request);
}

std::string failure_json(std::string_view code, std::string_view message) {
  return Json{{"error", {{"code", code}, {"message", message}}}}.dump({.replace_invalid = true});
}

}  // namespace limpid::view
