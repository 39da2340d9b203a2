// Optimizer: any of the optimisers, by name; and its step as a Function of its own.
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

// Any optimiser, with its hyper-parameters. A new one needs its own two files and a place here.
using Optimizer = std::variant<Sgd, RmsProp, Adam, AdamW, Adagrad>;

// The first state, and one step: what the optimiser's own init and operator() give. All gradients
// are multiplied by the scale first, where one is given.
Params init(const Optimizer& optimizer, const Params& params);
Update update(const Optimizer& optimizer, const Args& params, const Args& gradients,
              const Args& state, Value rate, Value gradient_scale = {});

// The state of parameters of these types, as inputs of a Function.
std::vector<Input> state_inputs(const Optimizer& optimizer, const std::vector<Input>& params);

// A step as a Function. Inputs: the parameters, "gradient.<name>" for each, the state, "rate" (a
// scalar of the first parameter's dtype). Outputs: the new parameters and the new state under their
// names.
Function update_function(const Optimizer& optimizer, const std::vector<Input>& params);

// ---- by name

// "sgd", "rmsprop", "adam", "adamw", "adagrad".
std::string_view name(const Optimizer& optimizer);
std::vector<std::string> optimizer_names();
// With its usual hyper-parameters. Throws kNotFound, naming the optimisers there are.
Optimizer optimizer_from_name(std::string_view name);
// A learning rate to start from: PyTorch's default, and 0.05 for SGD, which has none.
double usual_rate(const Optimizer& optimizer);

// The hyper-parameters of an optimiser by name: "momentum", "beta1", "weight_decay", ...; a switch
// is 0 or 1.
std::vector<std::pair<std::string, double>> numbers(const Optimizer& optimizer);
// Throws kNotFound where the optimiser has no such number, naming those that it has;
// kInvalidArgument where the value makes no sense.
void set_number(Optimizer& optimizer, std::string_view number, double value);

// A hyper-parameter as one of the records has it.
struct Number {
  std::string_view name;
  std::string_view help;
  Range range;
  double usual;        // the struct's default
  double in_training;  // the default of `limpid train`
};
std::vector<Number> numbers_of(std::string_view optimizer);

}  // namespace limpid::optim
