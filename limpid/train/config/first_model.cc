// Runs that begin with another model: its network, its weights, and what of them stays frozen.
#include "limpid/train/config/detail/first_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <vector>

#include "limpid/compile/compiled.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/tensor.h"
#include "limpid/formats/huggingface.h"
#include "limpid/function/builder.h"
#include "limpid/models/open_model.h"
#include "limpid/nn/lora.h"
#include "limpid/ops/arithmetic.h"

namespace limpid::train::detail {
namespace {

constexpr std::string_view kOutputScaling = "standardize.output.";

Json network_of(const Model& first) {
  const std::optional<Json> json = Json::try_parse(first.config);
  return json ? *json : Json::object();
}

std::string text_member(const Json& json, const char* key) {
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

std::vector<std::string> frozen_names(const std::string& list, const Problem& problem,
                                      const Params& known) {
  std::vector<std::string> frozen;
  for (const std::string& group : names_in(list)) {
    bool found = false;
    for (const Input& input : problem.parameters()) {
      if (!is_at_or_below(input.name, group)) continue;
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

// Only adapters in the weights are trained, and the parameters that begin anew.
void adapt(Problem& problem, const nn::Lora& lora, const Params& known) {
  std::vector<Input> inputs;
  for (const auto& [name, value] : known) inputs.push_back({name, value.type()});
  std::vector<std::string> modules;
  try {
    modules = lora.modules(inputs);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("config.{}", e.what()));
  }
  const Function plain = problem.inference;
  const std::vector<std::string> names = known.names();
  const double scale = lora.scale();
  const auto forward = problem.forward;
  freeze(problem, names, known);
  problem.init = [init = problem.init, lora, modules, known](Key key) {
    Params params = init(key);
    params.merge("", lora.init(key, modules, known));
    return params;
  };
  problem.forward = [forward, names, scale](const Args& params, const Args& non_trainable,
                                            const Value& x, const Value& key) {
    Args all = params;
    for (const std::string& name : names) all.set(name, non_trainable.at(name));
    return forward(nn::merge_adapters(all, scale), non_trainable, x, key);
  };
  inputs.clear();
  for (const Input& input : plain.inputs())
    if (&input != &plain.inputs().back() && !problem.non_trainable.find(input.name))
      inputs.push_back(input);
  for (const auto& [name, value] : lora.init(Key(0), modules, known))
    inputs.push_back({name, value.type()});
  for (const auto& [name, value] : problem.non_trainable) inputs.push_back({name, value.type()});
  inputs.push_back(plain.inputs().back());
  problem.inference = trace(plain.name(), inputs,
                            [&](std::span<const Value> in) {
                              Args all;
                              for (std::size_t i = 0; i + 1 < in.size(); ++i)
                                all.set(inputs[i].name, in[i]);
                              all = nn::merge_adapters(all, scale);
                              std::vector<Value> arguments;
                              for (std::size_t i = 0; i + 1 < plain.inputs().size(); ++i)
                                arguments.push_back(all.at(plain.inputs()[i].name));
                              arguments.push_back(in.back());
                              return in.back().builder().inline_function(plain, arguments);
                            },
                            {plain.outputs().front().name});
  problem.kept = [plain, scale](const Params& params) {
    const Params merged = nn::merge_adapters(params, scale);
    Params kept;
    for (std::size_t i = 0; i + 1 < plain.inputs().size(); ++i)
      kept.set(plain.inputs()[i].name, merged.at(plain.inputs()[i].name));
    return std::pair(plain, kept);
  };
  if (problem.language_model)
    problem.language_model = [model = problem.language_model, scale](
                                 const Params& params, const nn::LanguageModel::Options& options) {
      return model(nn::merge_adapters(params, scale), options);
    };
}

// The weights of a published model may be bf16 or f16. They are trained in f32.
Tensor in_f32(const Tensor& value) {
  if (value.dtype() != Dtype::kBf16 && value.dtype() != Dtype::kF16) return value;
  return compile([](const Value& x) { return cast(x, Dtype::kF32); })(value);
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
  const std::string name = text_member(network, "model");
  const ModelFamily* const family = family_named(name);
  if (!family)
    refuse("from", fmt::format("{} holds {}; expected a model of limpid train or a decoder of "
                               "Hugging Face",
                               in_quotes(*c.from),
                               name.empty() ? "no network that can be trained" : in_quotes(name)));
  // What a run writes into its configuration may come back.
  TrainConfig own;
  own.model = name;
  if (const std::string norm = text_member(network, "norm"); !norm.empty()) own.norm = norm;
  if (const Json* const context = network.find("context")) own.context = context->as_integer();
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
    Tensor wide = in_f32(*value);
    if (wide.dtype() != input.type.dtype)
      refuse("from", fmt::format("{} is {}, expected {}", in_quotes(input.name),
                                 to_string(value->type()), to_string(input.type)));
    known.set(input.name, std::move(wide));
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
  if (const std::optional<nn::Lora> lora = lora_of(c)) adapt(problem, *lora, known);
  return model;
}

std::uint64_t hash_of(const Model& first) {
  std::uint64_t all = hash(std::as_bytes(std::span(first.config)));
  for (const auto& [name, value] : first.params)
    all = hash(value.bytes(), hash(std::as_bytes(std::span(name)), all));
  return all;
}

}  // namespace limpid::train::detail
