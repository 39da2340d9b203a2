// Cnn: a convolutional network for pictures, in one of five well-known shapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "limpid/core/enum_names.h"
#include "limpid/core/params.h"
#include "limpid/core/shape.h"
#include "limpid/function/function.h"
#include "limpid/nn/activation.h"
#include "limpid/nn/init.h"

namespace limpid::nn {

// The shape of the network. f is Cnn::filters.
enum class CnnPreset : std::uint8_t {
  kLenet,    // two 5 x 5 convolutions of f and 8/3 f channels with pooling, three linear layers
             // (LeNet-5, LeCun et al. 1998, with max pooling)
  kSmall,    // f, pooling, 2f, 2f, pooling, 4f, 4f: 3 x 3 convolutions; the largest of each channel
  kResnet9,  // 1, 2, 4 and 8 f channels, residual blocks after the second and the fourth
  kResnet18,   // four stages of two residual blocks of f, 2f, 4f and 8f channels (He et al. 2016);
               // a first 3 x 3 convolution for sides up to 64, else 7 x 7 and pooling
  kMobilenet,  // MobileNetV2 (Sandler et al. 2018, table 2), f being its 32; pictures with sides up
               // to 64 keep their size in the first two strides
};

// Its names (core/enum_names.h).
constexpr EnumNames<5> enum_names(CnnPreset) {
  return {"preset", {"lenet", "small", "resnet9", "resnet18", "mobilenet"}};
}

// Normalisation after each convolution.
enum class CnnNorm : std::uint8_t { kNone, kBatch };

// Its names (core/enum_names.h).
constexpr EnumNames<2> enum_names(CnnNorm) { return {"norm", {"none", "batch"}}; }
using limpid::name;

struct Cnn {
  Shape picture;  // channels, height, width
  std::int64_t outputs = 0;
  CnnPreset preset = CnnPreset::kSmall;
  std::int64_t filters = 0;        // channels of the first convolutions; 0: usual_filters(preset)
  CnnNorm norm = CnnNorm::kBatch;  // with norm, convolutions have no bias
  Activation activation = activation_from_name("relu");
  double dropout = 0;  // rate before the last linear layer, in training only
  std::string init_name = "he";

  // 6, 32, 64, 64 and 32.
  static std::int64_t usual_filters(CnnPreset preset);

  // "blocks.0.0.conv.weight" and "blocks.0.0.norm.weight" of block 0's first convolution, ...,
  // "blocks.2.shortcut.conv.weight" where channels or size change, "head.0.weight", ... Throws
  // kInvalidArgument for numbers below 1, a dropout outside of [0, 1), and a picture that is too
  // small for the poolings of the preset.
  Params init(Key key) const;
  // The running statistics of batch norm; empty without.
  Params init_state() const;

  // The results of training().
  struct Training {
    Value logits;
    Args state;  // the new running statistics
  };
  // The forward pass in training, for x (N, channels, height, width): dropout is active, and batch
  // norm uses the statistics of the batch.
  Training training(const Args& params, const Args& state, Value x, Value key) const;
  // x (N, channels, height, width) to logits (N, outputs), with the running statistics, which
  // `params` must include. Dropout is active if a key (i64 scalar) is given. Throws kShape.
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;

  // The model of one example, without dropout. Inputs: the parameters, the running statistics, then
  // "x" f32[channels, height, width]. Output: "logits" f32[outputs].
  Function function() const;

  // The hyper-parameters as JSON, and from JSON. from_config throws kParse, kInvalidArgument, or
  // kNotFound for an unknown name.
  std::string config() const;
  static Cnn from_config(std::string_view json);
};

}  // namespace limpid::nn
