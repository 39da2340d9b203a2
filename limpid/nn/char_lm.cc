#include "limpid/nn/char_lm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "limpid/core/error.h"
#include "limpid/nn/detail/config.h"
#include "limpid/nn/embedding.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/shape.h"

namespace limpid::nn {
namespace {

constexpr const char* kEmbedding = "embedding";

void check(const CharLm& net) {
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, "charlm: " + why);
  };
  for (const std::int64_t size : {net.vocabulary, net.context, net.embedding})
    if (size < 1) refuse(fmt::format("size {} is below 1", size));
  const std::vector<std::int64_t>& sizes = net.mlp.sizes;
  if (sizes.size() < 2 || sizes.front() % net.embedding != 0 ||
      sizes.front() / net.embedding != net.context || sizes.back() != net.vocabulary)
    refuse(fmt::format("the layers are {}, expected {} embeddings of {} to {}",
                       fmt::join(sizes, "-"), net.context, net.embedding, net.vocabulary));
  if (net.mlp.norm == MlpNorm::kBatch) refuse("batch norm is not supported");
}

Embedding embedding_of(const CharLm& net) { return {net.vocabulary, net.embedding}; }

}  // namespace

Params CharLm::init(Key key) const {
  check(*this);
  Params params;
  params.merge(kEmbedding, embedding_of(*this).init(key.fold_in(0)));
  params.merge("", mlp.init(key.fold_in(1)));
  return params;
}

Value CharLm::operator()(const Args& params, Value ids, std::optional<Value> key) const {
  check(*this);
  if (ids.rank() < 1 || ids.shape().back() != context)
    throw Error(ErrorCode::kShape, fmt::format("charlm: expected tokens [..., {1}], got {0}",
                                               to_string(ids.type()), context));
  const Value vectors = apply_part(embedding_of(*this), kEmbedding, params, ids);
  const std::size_t last = ids.rank() - 1;
  return mlp(params, reshape(vectors, ids.shape().replace(last, context * embedding)), key);
}

Function CharLm::function() const {
  check(*this);
  const Function layers = mlp.function();
  std::vector<Input> inputs{
      {Params::join(kEmbedding, "weight"), {Dtype::kF32, {vocabulary, embedding}}}};
  inputs.insert(inputs.end(), layers.inputs().begin(), layers.inputs().end() - 1);
  inputs.push_back({"tokens", {Dtype::kI32, {context}}});
  return trace("charlm", inputs,
               [&](std::span<const Value> in) {
                 Args args;
                 for (std::size_t i = 0; i + 1 < in.size(); ++i) args.set(inputs[i].name, in[i]);
                 return std::vector<Value>{(*this)(args, in.back())};
               },
               {"logits"});
}

std::string CharLm::config() const {
  return Json{{"model", "charlm"},
              {"vocabulary", vocabulary},
              {"context", context},
              {"embedding", embedding},
              {"mlp", detail::to_json(mlp)}}
      .dump();
}

CharLm CharLm::from_config(std::string_view text) {
  return detail::read_config("charlm", text, [](const JsonView& config) {
    detail::check_kind(config.at("mlp"), "mlp");
    CharLm net{config.at("vocabulary").as_integer(), config.at("context").as_integer(),
               config.at("embedding").as_integer(), detail::mlp_of(config.at("mlp"))};
    check(net);
    return net;
  });
}

}  // namespace limpid::nn
