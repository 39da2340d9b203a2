// Optimizer: any of the optimisers, by name, and its step as a Function.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limpid/function/function.h"
#include "limpid/optim/adagrad.h"
#include "limpid/optim/adam.h"
#include "limpid/optim/rmsprop.h"
#include "limpid/optim/sgd.h"

namespace limpid::optim {

// An optimiser with its hyper-parameters. To add one, write its two files and list it here.
using Optimizer = std::variant<Sgd, RmsProp, Adam, AdamW, Adagrad>;

// The initial state, and one step, by the optimiser's init and operator(). If gradient_scale is
// given, all gradients are first multiplied by it.
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

// A hyper-parameter, from an optimiser's record.
struct Number {
  std::string_view name;
  std::string_view help;
  Range range;
  double usual;        // the struct's default
  double in_training;  // the default of `limpid train`
};
std::vector<Number> numbers_of(std::string_view optimizer);

}  // namespace limpid::optim
