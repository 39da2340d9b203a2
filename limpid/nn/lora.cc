#include "limpid/nn/lora.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "limpid/compile/compiled.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/nn/init.h"
#include "limpid/ops/ops.h"

namespace limpid::nn {
namespace {

constexpr std::string_view kWeightEnd = ".weight", kA = ".lora_A.weight", kB = ".lora_B.weight";

[[noreturn]] void refuse_lora(const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "lora: " + why);
}

std::string without_end(const std::string& name, std::string_view end) {
  return name.substr(0, name.size() - end.size());
}

std::string last_part(const std::string& module) { return module.substr(module.rfind('.') + 1); }

// "q_proj" names "layers.0.self_attn.q_proj".
bool names_module(std::string_view target, std::string_view module) {
  return module == target || (module.size() > target.size() && module.ends_with(target) &&
                              module[module.size() - target.size() - 1] == '.');
}

// The last parts of names, each once: "q_proj".
std::vector<std::string> short_names(const std::vector<std::string>& modules) {
  std::vector<std::string> names;
  for (const std::string& module : modules) {
    const std::string name = last_part(module);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// `merged(weight, a, b)` of each weight that has an adapter.
template <class T, class Merged>
Named<T> merged_by(const Named<T>& params, const Merged& merged) {
  Named<T> plain;
  for (const auto& [name, value] : params)
    if (!name.ends_with(kA) && !name.ends_with(kB)) plain.set(name, value);
  for (const auto& [name, a] : params) {
    if (!name.ends_with(kA)) continue;
    const std::string module = without_end(name, kA), weight = module + std::string(kWeightEnd);
    plain.set(weight, merged(params.at(weight), a, params.at(module + std::string(kB))));
  }
  return plain;
}

}  // namespace

std::vector<std::string> Lora::modules(std::span<const Input> parameters) const {
  if (!(alpha > 0 && std::isfinite(alpha)))
    refuse_lora(fmt::format("expected a positive alpha, got {}", alpha));
  std::vector<std::string> matrices, chosen;
  for (const Input& parameter : parameters) {
    if (!parameter.name.ends_with(kWeightEnd) || parameter.type.shape.rank() != 2 ||
        parameter.type.dtype != Dtype::kF32)
      continue;
    const std::string module = without_end(parameter.name, kWeightEnd);
    if (last_part(module).starts_with("embed")) continue;  // a table
    matrices.push_back(module);
    const auto names = [&](const std::string& target) {
      return names_module(target, matrices.back());
    };
    if (std::none_of(targets.begin(), targets.end(), names)) continue;
    const std::int64_t most = std::min(parameter.type.shape[0], parameter.type.shape[1]);
    if (rank < 1 || rank > most)
      refuse_lora(fmt::format("{} is {}: expected a rank from 1 to {}, got {}",
                              in_quotes(parameter.name), to_string(parameter.type), most, rank));
    chosen.push_back(matrices.back());
  }
  for (const std::string& target : targets)
    if (std::none_of(matrices.begin(), matrices.end(),
                     [&](const std::string& module) { return names_module(target, module); }))
      refuse_lora(fmt::format("there is no matrix {}; expected names or ends of names, such as {}",
                              in_quotes(target), fmt::join(short_names(matrices), ", ")));
  if (chosen.empty()) refuse_lora("expected a target");
  return chosen;
}

Params Lora::init(Key key, const std::vector<std::string>& modules, const Params& weights) const {
  // Of PEFT's kaiming_uniform_(a=sqrt(5)).
  const Init uniform = kaiming_uniform(std::sqrt(1.0 / 3));
  Params params;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Shape shape = weights.at(modules[i] + std::string(kWeightEnd)).shape();
    params.set(modules[i] + std::string(kA), uniform(key.fold_in(i), {rank, shape[1]}));
    params.set(modules[i] + std::string(kB), zeros()(key, {shape[0], rank}));
  }
  return params;
}

Value adapted_weight(Value weight, Value a, Value b, double scale) {
  const auto wide = [](const Value& x) {
    return x.dtype() == Dtype::kF32 ? x : cast(x, Dtype::kF32);
  };
  const Value sum = wide(weight) + matmul(wide(b), wide(a)) * scale;
  return weight.dtype() == Dtype::kF32 ? sum : cast(sum, weight.dtype());
}

Tensor adapted_weight(const Tensor& weight, const Tensor& a, const Tensor& b, double scale) {
  return compile([scale](const Value& w, const Value& first, const Value& second) {
    return adapted_weight(w, first, second, scale);
  })(weight, a, b);
}

Args merge_adapters(const Args& params, double scale) {
  return merged_by(params, [&](const Value& weight, const Value& a, const Value& b) {
    return adapted_weight(weight, a, b, scale);
  });
}

Params merge_adapters(const Params& params, double scale) {
  return merged_by(params, [&](const Tensor& weight, const Tensor& a, const Tensor& b) {
    return adapted_weight(weight, a, b, scale);
  });
}

}  // namespace limpid::nn
