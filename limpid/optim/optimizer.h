// Optimizer: any of the optimisers, by name, and its step as a Function.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/function/function.h"
#include "limpid/optim/adagrad.h"
#include "limpid/optim/adam.h"
#include "limpid/optim/record.h"
#include "limpid/optim/rmsprop.h"
#include "limpid/optim/sgd.h"

namespace limpid::optim {

// An optimiser with its hyper-parameters.
class Optimizer {
 public:
  // Of one of the structs of this folder, such as Adam{.beta2 = 0.99}.
  template <class T>
  requires requires { T::record.numbers; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  Optimizer(const T& rule) : record_(&T::record), values_(T::record.values(&rule)) {}
  // With the default hyper-parameters.
  explicit Optimizer(const OptimizerRecord& record);

  const OptimizerRecord& record() const { return *record_; }
  // In the order of record().numbers.
  std::span<const double> values() const { return values_; }

  // Sets one of them. Throws kInvalidArgument if the value is out of range.
  void set(std::size_t number, double value);

  bool operator==(const Optimizer&) const = default;

 private:
  const OptimizerRecord* record_;
  std::vector<double> values_;
};

// The initial state, and one step. If gradient_scale is given, all gradients are first multiplied
// by it. `update` throws as update.h has it, whatever the optimiser.
Params init(const Optimizer& optimizer, const Params& params);
Update update(const Optimizer& optimizer, const Args& params, const Args& gradients,
              const Args& state, Value rate, Value gradient_scale = {});

// The optimiser state for these parameters, as inputs of a Function.
std::vector<Input> state_inputs(const Optimizer& optimizer, const std::vector<Input>& params);

// One step as a Function. Inputs: the parameters, "gradient.<name>" for each, the state, "rate" (a
// scalar of the first parameter's dtype). Outputs: the new parameters and the new state, with the
// same names.
Function update_function(const Optimizer& optimizer, const std::vector<Input>& params);

// ---- by name

// "sgd", "rmsprop", "adam", "adamw", "adagrad".
std::string_view name(const Optimizer& optimizer);
std::vector<std::string> optimizer_names();
// The optimiser with this name and default hyper-parameters. Throws kNotFound; the message lists
// the names that exist.
Optimizer optimizer_from_name(std::string_view name);
// The default learning rate: PyTorch's, or 0.05 for SGD, for which PyTorch has none.
double usual_rate(const Optimizer& optimizer);

// The hyper-parameters of an optimiser by name: "momentum", "beta1", "weight_decay", ... A switch
// is 0 or 1.
std::vector<std::pair<std::string, double>> numbers(const Optimizer& optimizer);
// Sets a hyper-parameter. Throws kNotFound if the optimiser has none of this name (the message
// lists those it has), kInvalidArgument if the value is out of range.
void set_number(Optimizer& optimizer, std::string_view number, double value);

// The hyper-parameters of the optimiser with this name, from its record.
std::span<const Number> numbers_of(std::string_view optimizer);

}  // namespace limpid::optim
