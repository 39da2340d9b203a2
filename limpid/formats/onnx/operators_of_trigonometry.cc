// Circular and hyperbolic functions. Tanh stands with the activations.
#include "limpid/ops/trigonometric.h"

#include "limpid/formats/onnx/detail/operators.h"
#include "limpid/ops/elementary.h"

namespace limpid::onnx::detail {
namespace {

constexpr NodeOp kTable[] = {
    {.name = "Acos", .since = 7, .meaning = "acos", .import = import_unary<acos>},
    {.name = "Acosh", .since = 9, .meaning = "acosh", .import = import_unary<acosh>},
    {.name = "Asin", .since = 7, .meaning = "asin", .import = import_unary<asin>},
    {.name = "Asinh", .since = 9, .meaning = "asinh", .import = import_unary<asinh>},
    {.name = "Atan", .since = 7, .meaning = "atan", .import = import_unary<atan>},
    {.name = "Atanh", .since = 9, .meaning = "atanh", .import = import_unary<atanh>},
    {.name = "Cos", .since = 7, .meaning = "cos", .import = import_unary<cos>},
    {.name = "Cosh", .since = 9, .meaning = "cosh", .import = import_unary<cosh>},
    {.name = "Sin", .since = 7, .meaning = "sin", .import = import_unary<sin>},
    {.name = "Sinh", .since = 9, .meaning = "sinh", .import = import_unary<sinh>},
    {.name = "Tan", .since = 7, .meaning = "tan", .import = import_unary<tan>},
};

}  // namespace

constexpr std::span<const NodeOp> trigonometric_operators = kTable;

}  // namespace limpid::onnx::detail
