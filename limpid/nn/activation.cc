#include "limpid/nn/activation.h"

#include "limpid/core/enum_names.h"
#include "limpid/core/error.h"

namespace limpid::nn {

const Activation& activation_from_name(std::string_view name) {
  for (const Activation& a : activations())
    if (a.name == name) return a;
  refuse_name("activation", activation_names(), name);
}

const Activation& activation_of(Value (*apply)(Value)) {
  for (const Activation& a : activations())
    if (a.apply == apply) return a;
  throw Error(ErrorCode::kNotFound,
              "mlp: expected an activation of limpid/ops/activation.h, such as relu; for another "
              "function write nn::sequential(nn::Linear{...}, function, nn::Linear{...})");
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const Activation& a : activations()) names.emplace_back(a.name);
  return names;
}

}  // namespace limpid::nn
