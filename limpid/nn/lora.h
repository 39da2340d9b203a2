// Lora: low-rank adapters of the matrices of a network (Hu et al. 2021, "LoRA: Low-Rank Adaptation
// of Large Language Models", section 4.1). The matrices stay as they are; the product of two small
// ones is added to each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/function.h"
#include "limpid/function/value.h"

namespace limpid::nn {

struct Lora {
  std::int64_t rank = 8;
  double alpha = 16;
  // Modules whose weights have an adapter: whole names, or the ends of names after a dot.
  std::vector<std::string> targets = {"q_proj", "v_proj"};

  // The factor of the product: alpha / rank.
  double scale() const { return alpha / static_cast<double>(rank); }

  // The modules M of the targets whose "M.weight" f32 (out, in) is among the parameters, in their
  // order; not the tables of an embedding. Throws kInvalidArgument for a rank below 1 or above a
  // matrix's sides, for an alpha that is not positive and finite, and for a target that is no
  // module of a matrix; the message lists the names.
  std::vector<std::string> modules(std::span<const Input> parameters) const;

  // Of each module M, whose weight is among `weights`: "M.lora_A.weight" (rank, in), uniform in [-1
  // / sqrt(in), 1 / sqrt(in)), as PEFT draws it, and "M.lora_B.weight" (out, rank), zeros.
  Params init(Key key, const std::vector<std::string>& modules, const Params& weights) const;
};

// weight + scale * (b a): weight (out, in), a (rank, in), b (out, rank), each f32, bf16 or f16,
// computed in f32 and rounded to the weight's dtype. Throws kShape, kDtype.
Value adapted_weight(Value weight, Value a, Value b, double scale);
Tensor adapted_weight(const Tensor& weight, const Tensor& a, const Tensor& b, double scale);

// The parameters without their adapters, which are merged into the weights.
Args merge_adapters(const Args& params, double scale);
Params merge_adapters(const Params& params, double scale);

}  // namespace limpid::nn
