#include "limpid/serve/check_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "limpid/compile/predictor.h"
#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/visit_dtype.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/serve/http_error.h"

namespace limpid::serve {
namespace {

// An element as text, for a message.
std::string shown(const Tensor& tensor, std::size_t i) {
  return visit(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    const T x = tensor.values<T>()[i];
    if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, Bf16>)
      return fmt::format("{}", to_f32(x));
    else
      return fmt::format("{}", x);
  });
}

template <class F>
auto as_format_error(const F& f) {
  try {
    return f();
  } catch (const HttpError& error) {
    throw Error(ErrorCode::kFormat, error.what());
  }
}

void compare(const std::string& name, const Tensor& here, const Tensor& there) {
  if (here.type() != there.type())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("no: the output {} is {} here, the answer has {}", in_quotes(name),
                            to_string(here.type()), to_string(there.type())));
  const std::size_t size = size_of(here.dtype());
  for (std::size_t i = 0; i < static_cast<std::size_t>(here.elements()); ++i) {
    if (std::memcmp(here.bytes().data() + i * size, there.bytes().data() + i * size, size) == 0)
      continue;
    const std::string ours = shown(here, i), theirs = shown(there, i);
    const auto is_nan = [](const std::string& number) { return number.ends_with("nan"); };
    if (is_nan(ours) && is_nan(theirs)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("no: element {} of the output {} is {} here, the answer has {}", i,
                            in_quotes(name), ours, theirs));
  }
}

}  // namespace

Recomputed recompute(const Model& model, std::string_view body,
                     std::optional<std::size_t> json_bytes, ThreadPool* pool) {
  Recomputed again{.signature = signature_of(model), .outputs = {}, .wanted = {}, .receipt = {}};
  constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  const Limits limits{.answer = kAny, .rows = std::numeric_limits<std::int64_t>::max()};
  const InferRequest request =
      as_format_error([&] { return parse_infer(again.signature, body, json_bytes, limits); });
  const Predictor predictor(model.function, model.params, {.pool = pool});
  again.outputs = predictor(request.inputs);
  again.wanted = request.outputs;
  again.receipt = {.model = again.signature.hash,
                   .input = hash_of_numbers(request.inputs),
                   .output = hash_of_numbers(again.outputs)};
  return again;
}

void check_answer(const Recomputed& again, std::string_view body,
                  std::optional<std::size_t> json_bytes) {
  const std::vector<std::optional<Tensor>> outputs =
      as_format_error([&] { return parse_outputs(again.signature, body, json_bytes); });
  for (const InferRequest::Wanted& wanted : again.wanted)
    if (!outputs[wanted.output])
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("no: the answer has no output {}",
                              in_quotes(again.signature.outputs[wanted.output].name)));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) compare(again.signature.outputs[i].name, again.outputs[i], *outputs[i]);
}

}  // namespace limpid::serve
