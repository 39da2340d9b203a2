#include "limpid/train/run/rank_check.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/json.h"
#include "limpid/core/key.h"
#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"
#include "limpid/train/run/environment.h"
#include "limpid/transforms/grad.h"

namespace limpid::train {
namespace {

// Of products, sums and elementary functions, and of their gradients, on this machine.
std::uint64_t hash_of_arithmetic() {
  const std::vector<Input> inputs{{"x", {Dtype::kF32, {33, 300}}}, {"w", {Dtype::kF32, {300, 17}}}};
  const Function f = trace("bits", inputs, [](std::span<const Value> in) {
    const Value y = softmax(gelu(matmul(in[0], in[1])), 1);
    return std::vector<Value>{sum(log(y + 0.5) * tanh(y) + sin(y) * sqrt(y))};
  });
  std::vector<Tensor> values;
  for (const Input& i : inputs)
    values.push_back(Tensor::generate<float>(i.type.shape, [&](std::span<float> out) {
      for (std::size_t n = 0; n < out.size(); ++n) out[n] = Key(n % 7).uniform(n) - 0.5f;
    }));
  std::uint64_t h = 0;
  for (const Tensor& t : compile(value_and_grad(f, {0, 1}))(values)) h = limpid::hash(t.bytes(), h);
  return h;
}

// Where two texts of one key a line differ first.
std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t line = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size() && a[i] == b[i]; ++i)
    if (a[i] == '\n') line = i + 1;
  const auto rest = [&](const std::string& text) {
    const std::size_t begin = std::min(text.find_first_not_of(' ', line), text.size());
    return text.substr(begin, std::min(text.find_first_of(",\n", begin), text.size()) - begin);
  };
  return fmt::format("{}, not {}", rest(b), rest(a));
}

}  // namespace

RankFacts rank_facts(std::string config, std::uint64_t data_hash) {
  return {library_version(), std::move(config), data_hash, hash_of_arithmetic()};
}

void require_alike(distribute::Communicator& ranks, const RankFacts& facts) {
  const auto hex = [](std::uint64_t hash) { return fmt::format("{:016x}", hash); };
  const Json mine{{"version", facts.version},
                  {"config", facts.config},
                  {"data", hex(facts.data_hash)},
                  {"bits", hex(facts.bits)}};
  const std::string text = mine.dump({.replace_invalid = true});
  const auto all = distribute::all_gather(ranks, std::as_bytes(std::span(text)));
  const auto of = [&](std::size_t rank) {
    return Json::parse(
        std::string(reinterpret_cast<const char*>(all[rank].data()), all[rank].size()));
  };
  const Json first = of(0);
  for (std::size_t r = 1; r < all.size(); ++r) {
    const Json other = of(r);
    const auto differs = [&](const char* key) { return !(other.at(key) == first.at(key)); };
    const auto text_of = [](const Json& json, const char* key) { return json.at(key).as_string(); };
    std::string what;
    if (differs("version"))
      what = fmt::format("is version {}, not {}", text_of(other, "version"),
                         text_of(first, "version"));
    else if (differs("config"))
      what = fmt::format("has another configuration: {}",
                         first_difference(text_of(first, "config"), text_of(other, "config")));
    else if (differs("data"))
      what = fmt::format("has other data: hash {}, not {}", text_of(other, "data"),
                         text_of(first, "data"));
    else if (differs("bits"))
      what = fmt::format("computes other bits: hash {}, not {} (`limpid selftest` says where)",
                         text_of(other, "bits"), text_of(first, "bits"));
    else
      continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} {} as {} has", ranks.name(static_cast<int>(r)), what, ranks.name(0)));
  }
}

}  // namespace limpid::train
