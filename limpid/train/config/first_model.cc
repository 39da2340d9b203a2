// Runs that begin with another model: its network, its weights, and what of them stays frozen.
#include "limpid/train/config/detail/first_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/tensor.h"
#include "limpid/formats/huggingface.h"
#include "limpid/models/open_model.h"

namespace limpid::train::detail {
namespace {

constexpr std::string_view kOutputScaling = "standardize.output.";

Json network_of(const Model& first) {
  const std::optional<Json> json = Json::try_parse(first.config);
  return json ? *json : Json::object();
}

std::string text_at(const Json& json, const char* key) {
  return json.contains(key) && json.at(key).is_string() ? json.at(key).as_string() : "";
}

const ModelFamily* family_named(const std::string& name) {
  for (const ModelFamily* family : model_families())
    if (family->go_on && family->name == name) return family;
  return nullptr;
}

// Of the names "layers.0.weight", "layers.0.bias" and "head": "layers", "head".
std::vector<std::string> groups_of(const Params& params) {
  std::vector<std::string> groups;
  for (const auto& [name, value] : params) {
    const std::string group = name.substr(0, name.find('.'));
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

// "a.b" names itself and all of "a.b.".
bool is_within(const std::string& name, std::string_view group) {
  return name.starts_with(group) && (name.size() == group.size() || name[group.size()] == '.');
}

std::vector<std::string> frozen_names(const std::string& list, const Problem& problem,
                                      const Params& known) {
  std::vector<std::string> frozen;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string group = list.substr(begin, end - begin);
    begin = end + 1;
    bool found = false;
    for (const Input& input : problem.parameters()) {
      if (!is_within(input.name, group)) continue;
      if (!known.find(input.name))
        refuse("freeze",
               fmt::format("{} begins anew: its shape is another", in_quotes(input.name)));
      found = true;
      if (std::find(frozen.begin(), frozen.end(), input.name) == frozen.end())
        frozen.push_back(input.name);
    }
    if (!found)
      refuse("freeze", fmt::format("there is no parameter {}; they begin with {}", in_quotes(group),
                                   fmt::join(groups_of(known), ", ")));
  }
  if (frozen.size() == problem.parameters().size())
    refuse("freeze", "no parameter is left to train");
  return frozen;
}

// Parameters become state that no step changes.
void freeze(Problem& problem, const std::vector<std::string>& names, const Params& values) {
  for (const std::string& name : names) problem.non_trainable.set(name, values.at(name));
  problem.init = [init = problem.init, names](Key key) {
    Params left;
    for (const auto& [name, value] : init(key))
      if (std::find(names.begin(), names.end(), name) == names.end()) left.set(name, value);
    return left;
  };
  problem.forward = [forward = problem.forward, names](const Args& params,
                                                       const Args& non_trainable, const Value& x,
                                                       const Value& key) {
    Args all = params;
    for (const std::string& name : names) all.set(name, non_trainable.at(name));
    return forward(all, non_trainable, x, key);
  };
}

}  // namespace

std::optional<Model> first_model(const TrainConfig& config) {
  if (!config.from) return {};
  try {
    return open_model(*config.from);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("config.from: {}", e.what()));
  }
}

TrainConfig with_first_network(TrainConfig c) {
  const std::optional<Model> first = first_model(c);
  if (!first) return c;
  const Json network = network_of(*first);
  const std::string name = text_at(network, "model");
  const ModelFamily* const family = family_named(name);
  if (!family)
    refuse("from", fmt::format("{} holds {}; expected a model of limpid train or a decoder of "
                               "Hugging Face",
                               in_quotes(*c.from),
                               name.empty() ? "no network that can be trained" : in_quotes(name)));
  // What a run writes into its configuration may come back.
  TrainConfig own;
  own.model = name;
  if (const std::string norm = text_at(network, "norm"); !norm.empty()) own.norm = norm;
  if (family->reads_text) own.context = network.at("context").as_integer();
  for (const ConfigKey& key : config_keys())
    if (key.path.starts_with("model.") && key.name() != "dropout" && is_chosen(c, key) &&
        !(key.name() == "name" && c.model == own.model) &&
        !(key.name() == "norm" && c.norm == own.norm) &&
        !(key.name() == "context" && c.context == own.context))
      refuse(key.path, "the model of --from has its own");
  if (c.recipe) refuse("recipe", "expected no recipe with --from: the model has its own network");
  c.model = own.model;
  c.norm = own.norm;
  c.context = own.context;
  if (!c.tokenizer && is_folder_path(*c.from) && is_huggingface(*c.from))
    c.tokenizer = "bpe:" + *c.from;
  return c;
}

FamilyModel go_on_with(const Model& first, const TrainConfig& c, Split& data) {
  FamilyModel model = family_named(*c.model)->go_on(first, c, data);
  Problem& problem = model.problem;
  Params known;
  std::vector<std::string> anew;
  for (const Input& input : problem.parameters()) {
    const Tensor* const value = first.params.find(input.name);
    if (!value || value->shape() != input.type.shape) {
      anew.push_back(input.name);
      continue;
    }
    if (value->dtype() != input.type.dtype)
      refuse("from", fmt::format("{} is {}, expected {}", in_quotes(input.name),
                                 to_string(value->type()), to_string(input.type)));
    known.set(input.name, *value);
  }
  data.train.notes.push_back(fmt::format("{} of {} parameters begin as in {}{}{}", known.size(),
                                         problem.parameters().size(), *c.from,
                                         anew.empty() ? "" : "; anew: ", fmt::join(anew, ", ")));
  problem.init = [init = problem.init, known](Key key) {
    Params params = init(key);
    for (const auto& [name, value] : known) params.set(name, value);
    return params;
  };
  // The statistics of norms, and the scaling of the inputs.
  for (const auto& [name, value] : Params(problem.non_trainable)) {
    const Tensor* const before = first.params.find(name);
    if (before && before->type() == value.type() && !name.starts_with(kOutputScaling))
      problem.non_trainable.set(name, *before);
  }
  if (c.freeze) freeze(problem, frozen_names(*c.freeze, problem, known), known);
  return model;
}

std::uint64_t hash_of(const Model& first) {
  std::uint64_t all = hash(std::as_bytes(std::span(first.config)));
  for (const auto& [name, value] : first.params)
    all = hash(value.bytes(), hash(std::as_bytes(std::span(name)), all));
  return all;
}

}  // namespace limpid::train::detail
