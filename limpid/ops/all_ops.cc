// The one list of every op. A record that is not here does not exist; one that is here is printed,
// parsed, verified, interpreted, differentiated, batched, compiled, documented and put under the
// laws.
#include <algorithm>

#include "limpid/ops/ops.h"

namespace limpid {
namespace {

constexpr const Op* kAllOps[] = {
    // values from nowhere
    &op::constant, &op::iota,
    // arithmetic
    &op::add, &op::subtract, &op::multiply, &op::divide, &op::remainder, &op::maximum, &op::minimum,
    &op::negate, &op::abs, &op::exp, &op::log, &op::tanh, &op::erf, &op::sigmoid, &op::ndtr,
    &op::sqrt,
    // elementary functions
    &op::log1p, &op::expm1, &op::sin, &op::cos, &op::rsqrt, &op::power, &op::floor, &op::ceil,
    &op::round, &op::truncate, &op::sign, &op::tan, &op::asin, &op::acos, &op::atan, &op::sinh,
    &op::cosh, &op::asinh, &op::acosh, &op::atanh,
    // comparison and choice
    &op::equal, &op::not_equal, &op::less, &op::less_equal, &op::logical_and, &op::logical_or,
    &op::logical_not, &op::select, &op::cast,
    // moving elements
    &op::reshape, &op::broadcast, &op::transpose, &op::slice, &op::pad, &op::concatenate,
    &op::gather, &op::scatter_add, &op::scatter, &op::scatter_multiply, &op::scatter_maximum,
    &op::scatter_minimum,
    // what keeps others apart
    &op::barrier,
    // reductions
    &op::sum, &op::prod, &op::max, &op::min, &op::argmax, &op::argsort, &op::cumulative_sum,
    // products
    &op::matmul, &op::linear, &op::quantized_linear,
    // random numbers
    &op::random_bits, &op::fold_in, &op::shift_right, &op::uniform, &op::normal, &op::dropout,
    // activations
    &op::relu, &op::leaky_relu, &op::prelu, &op::elu, &op::selu, &op::gelu, &op::gelu_gradient,
    &op::gelu_tanh, &op::silu, &op::swish, &op::mish, &op::softplus, &op::clamp, &op::hard_sigmoid,
    &op::hard_swish, &op::step, &op::glu, &op::swiglu, &op::geglu,
    // normalisation
    &op::layer_norm, &op::layer_norm_gradient, &op::rms_norm, &op::rms_norm_gradient,
    &op::group_norm, &op::batch_norm, &op::batch_norm_inference,
    // softmax and what is made of it
    &op::softmax, &op::log_softmax, &op::log_sum_exp, &op::softmax_cross_entropy,
    // attention
    &op::scaled_dot_product_attention, &op::rotary_embedding, &op::update_rows,
    &op::cached_attention,
    // losses
    &op::soft_cross_entropy, &op::binary_cross_entropy, &op::negative_log_likelihood,
    &op::kl_divergence, &op::squared_error, &op::absolute_error, &op::huber, &op::smooth_l1,
    &op::hinge, &op::info_nce, &op::triplet_margin, &op::cosine_embedding,
    // optimisers
    &op::adam_update};

}  // namespace

std::span<const Op* const> all_ops() { return kAllOps; }

const Op* find_op(std::string_view name) {
  const auto* found = std::find_if(std::begin(kAllOps), std::end(kAllOps),
                                   [&](const Op* op) { return op->name == name; });
  return found == std::end(kAllOps) ? nullptr : *found;
}

}  // namespace limpid
