#include "limpid/nn/embedding.h"

#include "limpid/ops/indexing.h"

namespace limpid::nn {

Params Embedding::init(Key key) const { return {{"weight", weight_init(key, {count, features})}}; }

Value Embedding::operator()(const Args& params, Value ids) const {
  return embedding(ids, params.at("weight"));
}

}  // namespace limpid::nn
