// The bits of every op and of small networks are those of docs/hashes.md: on every machine,
// whatever its compiler and its instruction sets.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/inspect/op_example.h"
#include "limpid/ops/arithmetic.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid::laws {
namespace {

std::map<std::string, std::uint64_t> published() {
  std::ifstream file(testing::source_folder() / "docs/hashes.md");
  std::stringstream text;
  text << file.rdbuf();
  std::map<std::string, std::uint64_t> hashes;
  for (const HashLine& line : parse_hashes(text.str())) hashes[line.name] = line.hash;
  return hashes;
}

// A line that is not published yet is left out: `limpid selftest` asks for it.
void expect_published(const std::vector<HashLine>& lines, kernels::Isa isa) {
  static const std::map<std::string, std::uint64_t> hashes = published();
  std::size_t found = 0;
  for (const HashLine& line : lines) {
    const auto at = hashes.find(line.name);
    if (at == hashes.end()) continue;
    ++found;
    EXPECT_EQ(at->second, line.hash) << line.name << " on " << name(isa);
  }
  EXPECT_GT(2 * found, lines.size()) << "most of docs/hashes.md is missing";
}

TEST(Promise, EveryOpHasThePublishedHash) {
  for (const kernels::Isa isa : kernels::available_isas()) {
    const std::vector<HashLine> lines = op_hashes(isa);
    expect_published(lines, isa);
    // None is left out.
    std::set<std::string> names;
    for (const HashLine& line : lines) names.insert(line.name);
    for (const auto& [name, hash] : published())
      for (const char* kind : {"op ", "gradient ", "function "})
        EXPECT_TRUE(!name.starts_with(kind) || names.contains(name)) << name;
  }
}

TEST(Promise, NetworksHaveThePublishedHashes) {
  const kernels::Isa isa = kernels::default_isa();
  for (const int threads : {1, 3}) {
    ThreadPool pool({.threads = threads});
    expect_published(network_hashes(isa, pool), isa);
  }
}

// A file that was cut would have other numbers.
TEST(Promise, HashesAreReadAsTheyAreWritten) {
  const std::vector<HashLine> lines{{"op add", 0x0123456789abcdef}, {"network a | b", 15}};
  const std::string text = to_markdown(lines);
  const std::vector<HashLine> read = parse_hashes(text);
  ASSERT_EQ(read.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read[i].name, lines[i].name);
    EXPECT_EQ(read[i].hash, lines[i].hash);
  }
  EXPECT_THROW(parse_hashes("| op add | 0123456789abcde"), Error);
  EXPECT_THROW(parse_hashes("| op add | 0123456789abcdeg |"), Error);
  expect_refused(ErrorCode::kParse, [&] { parse_hashes(text + "\n| op subtract | 0123 |\n"); });
}

// Which bits a NaN has is a matter of the machine.
TEST(Promise, TakesOneNanForAnother) {
  const auto hash_with = [](auto nan) {
    return hash_of_numbers(Tensor::from<decltype(nan)>({2}, {1, nan}));
  };
  EXPECT_EQ(hash_with(std::bit_cast<float>(0xffc00001)), hash_with(std::nanf("")));
  EXPECT_EQ(hash_with(std::bit_cast<double>(0xfff8000000000001)), hash_with(std::nan("")));
  const auto hash_of = [](auto number) {
    return hash_of_numbers(Tensor::from<decltype(number)>({1}, {number}));
  };
  EXPECT_EQ(hash_of(F16{0xfc01}), hash_of(F16{0x7e00}));
  EXPECT_EQ(hash_of(Bf16{0xff81}), hash_of(Bf16{0x7fc0}));
  EXPECT_NE(hash_of(F16{0x7c00}), hash_of(F16{0x7e00}));
}

TEST(Promise, AModelsHashIsOfItsFunctionAndEveryTensor) {
  const auto model = [](double factor, float first, float last) {
    const Type type{Dtype::kF32, {2}};
    const Function f =
        trace("f", {{"a", type}, {"b", type}, {"x", type}}, [&](std::span<const Value> in) {
          return std::vector<Value>{in[0] * in[2] * factor + in[1]};
        });
    return Model{
        f,
        {{"a", Tensor::from<float>({2}, {first, 1})}, {"b", Tensor::from<float>({2}, {1, last})}},
        ""};
  };
  const std::uint64_t hash = hash_of_model(model(2, 3, 4));
  EXPECT_EQ(hash_of_model(model(2, 3, 4)), hash);
  EXPECT_NE(hash_of_model(model(5, 3, 4)), hash);
  EXPECT_NE(hash_of_model(model(2, 5, 4)), hash);
  EXPECT_NE(hash_of_model(model(2, 3, 5)), hash);
}

TEST(Promise, FloatsThatAreHashedEndAfterTheyBegin) {
  ThreadPool pool({.threads = 1});
  for (const auto& [begin, end, got] : {std::tuple{4 * kFloatsInOneHash, 0, "262144 and 0"},
                                        {0, kFloatsInOneHash, "0 and 65536"},
                                        {1, 4 * kFloatsInOneHash, "1 and 262144"}})
    expect_refused(ErrorCode::kInvalidArgument, [&] {
      hash_at_floats(op::exp, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end),
                     kernels::available_isas().front(), pool);
    });
}

// All floats take minutes; these are around 1, and around infinity with NaN after it.
TEST(Promise, HashesAtFloatsAreThoseOfTheInterpreter) {
  constexpr std::uint64_t kBegins[] = {0x3f7c0000, 0x7f7c0000}, kSize = 0x80000;
  const Type type{Dtype::kF32, {kFloatsInOneHash}};
  ThreadPool pool({.threads = 3});
  for (const Op* op : elementary_functions())
    for (const std::uint64_t begin : kBegins) {
      const Function f = function_of(*op, {{type}, {}});
      std::vector<std::uint64_t> hashes;
      for (std::uint64_t first = begin; first < begin + kSize; first += kFloatsInOneHash) {
        const Tensor floats = Tensor::generate<float>(type.shape, [&](std::span<float> out) {
          for (std::uint64_t i = 0; i < out.size(); ++i)
            out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i));
        });
        hashes.push_back(hash_of_numbers(interpret(f, std::span(&floats, 1)).front()));
      }
      for (const kernels::Isa isa : kernels::available_isas())
        EXPECT_EQ(hash_at_floats(*op, begin, begin + kSize, isa, pool),
                  hash(std::as_bytes(std::span(hashes))))
            << op->name << " on " << name(isa);
    }
}

}  // namespace
}  // namespace limpid::laws
