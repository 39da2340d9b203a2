#include "limpid/inspect/bit_hashes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/data/augment.h"
#include "limpid/data/digits.h"
#include "limpid/distribute/shard_tree.h"
#include "limpid/function/builder.h"
#include "limpid/function/text.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/train/loop/batch_plan.h"
#include "limpid/train/loop/step.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/vmap.h"

namespace limpid {
namespace {

using Lines = std::vector<HashLine>;

// A hash of hashes, in their order.
std::uint64_t joined(std::uint64_t seed, std::uint64_t next) {
  return hash(std::as_bytes(std::span(&next, 1)), seed);
}
std::uint64_t hash_all(std::span<const Tensor> tensors) {
  std::uint64_t h = 0;
  for (const Tensor& t : tensors) h = joined(h, hash_of_numbers(t));
  return h;
}

bool in_f64(const Function& f) {
  return std::any_of(f.types().begin(), f.types().end(),
                     [](const Type& t) { return t.dtype == Dtype::kF64; });
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x != x;
  else
    return std::isnan(to_f32(x));
}

// The one NaN of the type of `x`.
template <class T>
T nan_of(T) {
  return std::numeric_limits<T>::quiet_NaN();
}
Bf16 nan_of(Bf16) { return to_bf16(std::numeric_limits<float>::quiet_NaN()); }
F16 nan_of(F16) { return to_f16(std::numeric_limits<float>::quiet_NaN()); }

// The tensor itself unless it has a NaN.
Tensor with_one_nan(const Tensor& tensor) {
  const auto canonical = [&]<class T>(T) {
    const std::span<const T> values = tensor.values<T>();
    bool any = false;
    for (const T x : values) any |= is_nan(x);
    if (!any) return tensor;
    return Tensor::generate<T>(tensor.shape(), [&](std::span<T> out) {
      std::transform(values.begin(), values.end(), out.begin(),
                     [](T x) { return is_nan(x) ? nan_of(x) : x; });
    });
  };
  if (tensor.dtype() == Dtype::kF32) return canonical(float{});
  if (tensor.dtype() == Dtype::kF64) return canonical(double{});
  if (tensor.dtype() == Dtype::kF16) return canonical(F16{});
  if (tensor.dtype() == Dtype::kBf16) return canonical(Bf16{});
  return tensor;
}

// ---- functions: 65,537 floats apart, so that every exponent comes with many mantissas

Tensor sample_of_all_floats() {
  return Tensor::generate<float>({1 << 16}, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 65537));
  });
}

// The state of one worker that computes floats and hashes them, four hashes at a time.
class FloatHasher {
 public:
  static constexpr std::size_t kHashes = 4, kFloats = kHashes * kFloatsInOneHash;

  explicit FloatHasher(const Executable& executable)
      : workspace_(executable), in_(kFloats), out_(kFloats) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(out_));
    const std::size_t size = bytes.size() / kHashes;
    for (std::size_t i = 0; i < kHashes; ++i)
      results_[i] =
          Tensor::borrow({Dtype::kF32, {kFloatsInOneHash}}, bytes.subspan(i * size, size), nullptr);
  }

  std::vector<std::uint64_t> hashes_from(std::uint64_t first) {
    for (std::size_t i = 0; i < kFloats; ++i)
      in_[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i));
    const void* const from = in_.data();
    void* const to = out_.data();
    workspace_.run(std::span(&from, 1), std::span(&to, 1));
    for (float& y : out_)
      if (std::isnan(y)) y = std::numeric_limits<float>::quiet_NaN();
    return hashes(results_);
  }

 private:
  Workspace workspace_;
  std::vector<float> in_, out_;
  std::array<Tensor, kHashes> results_;  // parts of out_
};

// ---- ops

// Whether there is a result with a cotangent.
bool has_numbers(const Function& f) {
  return std::any_of(f.outputs().begin(), f.outputs().end(),
                     [&](const Output& o) { return is_floating(f.type(o.value).dtype); });
}

// Nothing if no example is f32.
void add_op(Lines& lines, const Op& op, kernels::Isa isa) {
  std::uint64_t forward = 0;
  std::uint64_t backward = 0;
  bool any = false;
  bool any_backward = false;
  for (const Example& e : op.examples()) {
    const Function f = function_of(op, e);
    if (in_f64(f)) continue;
    any = true;
    const std::vector<Tensor> inputs = random_inputs(e, Key(1));
    forward = joined(forward, hash_all(compile(f, {isa})(inputs)));
    std::vector<std::size_t> wrt;
    for (std::size_t i = 0; i < e.inputs.size(); ++i)
      if (e.inputs[i].dtype == Dtype::kF32) wrt.push_back(i);
    if (wrt.empty() || !op.gradient.none_because.empty() || !has_numbers(f)) continue;
    any_backward = true;
    const Function gradient = vjp(f, wrt);
    backward = joined(backward, hash_all(compile(gradient, {isa})(
                                    random_inputs(gradient, Key(2), e.low, e.high, e.bound))));
  }
  if (any) lines.push_back({fmt::format("op {}", op.name), forward});
  if (any_backward) lines.push_back({fmt::format("gradient {}", op.name), backward});
}

// ---- networks

const nn::Mlp& digits_net() {
  static const nn::Mlp net = nn::mlp({784, 256, 128, 10}, relu, 0.2);
  return net;
}

Function digits_model() { return bind(digits_net().function(), digits_net().init(Key(1))); }

// x + attention(norm(x)) with heads, then a gated feed-forward part, as transformers have them.
Function block() {
  constexpr std::int64_t kTokens = 33, kHeads = 4, kWidth = 48;
  const Shape parted{kTokens, kHeads, kWidth / kHeads};
  return trace(
      "block",
      {{"x", {Dtype::kF32, {kTokens, kWidth}}},
       {"norm", {Dtype::kF32, {kWidth}}},
       {"qkv", {Dtype::kF32, {3 * kWidth, kWidth}}},
       {"gate", {Dtype::kF32, {2 * kWidth, kWidth}}},
       {"up", {Dtype::kF32, {2 * kWidth, kWidth}}},
       {"down", {Dtype::kF32, {kWidth, 2 * kWidth}}}},
      [&](std::span<const Value> in) {
        const auto heads = [&](const Value& v) { return transpose(reshape(v, parted), {1, 0, 2}); };
        const std::vector<Value> qkv = split(linear(rms_norm(in[0], in[1]), in[2]), 3, -1);
        const Value attended = scaled_dot_product_attention(heads(qkv[0]), heads(qkv[1]),
                                                            heads(qkv[2]), {.causal = true});
        const Value x = in[0] + reshape(transpose(attended, {1, 0, 2}), {kTokens, kWidth});
        const Value h = layer_norm(x, in[1]);
        return std::vector<Value>{x + linear(silu(linear(h, in[3])) * linear(h, in[4]), in[5])};
      });
}

// The outputs of a function and their gradients with respect to all inputs.
void add_network(Lines& lines, std::string_view name, const Function& f,
                 std::span<const Tensor> inputs, kernels::Isa isa, ThreadPool& pool) {
  lines.push_back(
      {fmt::format("network {} forward", name), hash_all(compile(f, {isa})(inputs, &pool))});
  std::vector<std::size_t> wrt(f.inputs().size());
  for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
  const Function gradient = vjp(f, wrt);
  std::vector<Tensor> with_cotangents(inputs.begin(), inputs.end());
  for (std::size_t i = f.inputs().size(); i < gradient.inputs().size(); ++i)
    with_cotangents.push_back(random_tensor(gradient.inputs()[i].type, Key(3).fold_in(i)));
  lines.push_back({fmt::format("network {} gradient", name),
                   hash_all(compile(gradient, {isa})(with_cotangents, &pool))});
}

// Twenty steps on generated digits, with dropout active.
std::uint64_t hash_of_training(kernels::Isa isa, ThreadPool& pool) {
  constexpr std::int64_t kBatch = 64, kSteps = 20;
  const Function step =
      train::step_function(train::mlp_problem(digits_net()), {optim::Sgd{.momentum = 0.9}}, kBatch);
  const Executable executable = compile(step, {isa});
  const Dataset data = digits(Key(4), kBatch);
  Params carried = digits_net().init(Key(5));
  carried.merge("", optim::Sgd{.momentum = 0.9}.init(carried));
  std::vector<Tensor> state;
  for (const auto& [name, value] : carried) state.push_back(value);
  for (std::int64_t i = 0; i < kSteps; ++i) {
    std::vector<Tensor> inputs = state;
    inputs.insert(inputs.end(), {data.inputs, data.targets,
                                 Tensor::scalar(static_cast<std::int64_t>(
                                     Key(6).fold_in(static_cast<std::uint64_t>(i)).bits())),
                                 Tensor::scalar(0.05f)});
    const std::vector<Tensor> outputs = executable(inputs, &pool);
    std::copy_n(outputs.begin(), state.size(), state.begin());
  }
  return hash_all(state);
}

// The same in five shards of 13 and 12 rows, their gradients added by the tree.
std::uint64_t hash_of_sharded_training(kernels::Isa isa, ThreadPool& pool) {
  constexpr std::int64_t kBatch = 64, kSteps = 20, kShards = 5;
  const optim::Sgd rule{.momentum = 0.9};
  const train::Problem problem = train::mlp_problem(digits_net());
  const Dataset data = digits(Key(4), kBatch);
  Params params = digits_net().init(Key(5)), state = rule.init(params);
  std::vector<distribute::ShardRange> shards;
  for (std::int64_t s = 0; s < kShards; ++s) shards.push_back({s, s + 1});
  const Executable update =
      compile(optim::update_function(rule, train::mlp_problem(digits_net()).parameters()), {isa});
  const auto replace = [](Params& group, std::span<const Tensor> values) {
    for (std::size_t i = 0; i < values.size(); ++i) group.set(group.names()[i], values[i]);
  };
  const train::BatchPlan plan{kBatch, kBatch, 1, kShards};
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const Key key = Key(6).fold_in(static_cast<std::uint64_t>(i));
    std::vector<std::vector<Tensor>> gradients;
    for (std::int64_t s = 0; s < kShards; ++s) {
      const train::RowRange rows = plan.shard(plan.update(0), s);
      std::vector<Tensor> inputs = params.values();
      for (const Input& sum : train::sum_inputs(problem)) inputs.push_back(Tensor::zeros(sum.type));
      inputs.insert(
          inputs.end(),
          {data.inputs.rows(rows.begin, rows.size()), data.targets.rows(rows.begin, rows.size()),
           Tensor::scalar(
               static_cast<std::int64_t>(key.fold_in(static_cast<std::uint64_t>(s)).bits())),
           Tensor::scalar(static_cast<float>(static_cast<double>(rows.size()) / kBatch))});
      gradients.push_back(
          compile(train::accumulate_function(problem, rows.size()), {isa})(inputs, &pool));
    }
    distribute::TreeSum tree({0, kShards}, shards);
    for (std::size_t s = 0; s < kShards; ++s)
      tree.arrived(s, [&](std::size_t into, std::size_t from) {
        for (std::size_t p = 0; p < params.size(); ++p) {
          Tensor& sum = gradients[into][p];
          const auto a = sum.values<float>(), b = gradients[from][p].values<float>();
          sum = Tensor::generate<float>(sum.shape(), [&](std::span<float> out) {
            std::transform(a.begin(), a.end(), b.begin(), out.begin(), std::plus<>());
          });
        }
      });
    std::vector<Tensor> inputs = params.values();
    inputs.insert(inputs.end(), gradients[0].begin(), gradients[0].begin() + params.size());
    for (const auto& [name, value] : state) inputs.push_back(value);
    inputs.push_back(Tensor::scalar(0.05f));
    const std::vector<Tensor> next = update(inputs, &pool);
    replace(params, std::span(next).first(params.size()));
    replace(state, std::span(next).subspan(params.size()));
  }
  std::vector<Tensor> all = params.values();
  for (const auto& [name, value] : state) all.push_back(value);
  return hash_all(all);
}

// ---- pictures

// Digits after steps that move pixels; colours after each step; digits mixed with others, and their
// targets.
void add_pictures(Lines& lines) {
  constexpr std::int64_t kDigits = 64;
  const Dataset data = digits(Key(9), kDigits);
  lines.push_back(
      {"pictures of digits", hash(augment(parse_augmentation("digits,perspective=0.1@0.5,erase=6"),
                                          data.inputs.reshape({kDigits, 28, 28}), Key(10)))});
  std::uint64_t all = 0;
  const Tensor colours = random_tensor({Dtype::kF32, {16, 3, 17, 23}}, Key(11), 0, 1);
  for (const std::string& step : all_names<AugmentKind>()) {
    const Augmentation augmentation = parse_augmentation(step + "@0.9");
    if (!mixes(augmentation)) all = joined(all, hash(augment(augmentation, colours, Key(12))));
  }
  lines.push_back({"pictures of every step", all});
  RowAugmenter rows(parse_augmentation("crop=2,mixup=0.4@0.8,cutmix=1@0.8"), data, data.classes);
  std::vector<float> x(784), y(static_cast<std::size_t>(data.classes));
  std::uint64_t mixed = 0;
  for (std::int64_t row = 0; row < kDigits; ++row) {
    rows(Key(13), row, x, y);
    mixed = hash(std::as_bytes(std::span(y)), hash(std::as_bytes(std::span(x)), mixed));
  }
  lines.push_back({"pictures mixed", mixed});
}

}  // namespace

std::uint64_t hash_of_numbers(const Tensor& tensor) { return hash(with_one_nan(tensor)); }

std::uint64_t hash_of_numbers(std::span<const Tensor> tensors) {
  return hashes_of_numbers(std::span(&tensors, 1)).front();
}

std::vector<std::uint64_t> hashes_of_numbers(std::span<const std::span<const Tensor>> groups) {
  std::vector<Tensor> tensors;
  for (const std::span<const Tensor> group : groups)
    for (const Tensor& tensor : group) tensors.push_back(with_one_nan(tensor));
  const std::vector<std::uint64_t> each = hashes(tensors);
  std::vector<std::uint64_t> all;
  std::span<const std::uint64_t> rest = each;
  for (const std::span<const Tensor> group : groups) {
    const auto own = rest.first(group.size());
    rest = rest.subspan(group.size());
    all.push_back(own.size() == 1 ? own.front() : hash(std::as_bytes(own)));
  }
  return all;
}

std::uint64_t hash_of_model(const Model& model) {
  const std::string text = to_text(model.function);
  std::uint64_t h = hash(std::as_bytes(std::span(text)));
  for (const auto& [name, value] : model.params) h = joined(h, hash_of_numbers(value));
  return h;
}

std::vector<const Op*> elementary_functions() {
  std::vector<const Op*> functions;
  std::copy_if(all_ops().begin(), all_ops().end(), std::back_inserter(functions), [](const Op* op) {
    return op->min_inputs == 1 && op->max_inputs == 1 && op->attributes.empty() &&
           op->kernel.element != kNoElement;
  });
  return functions;
}

std::uint64_t hash_at_floats(const Op& function, std::uint64_t begin, std::uint64_t end,
                             kernels::Isa isa, ThreadPool& pool) {
  constexpr std::uint64_t kFloats = FloatHasher::kFloats;
  if (begin > end || begin % kFloats != 0 || end % kFloats != 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("hash_at_floats: expected multiples of {}, in order, got {} and {}",
                            kFloats, begin, end));
  const Type type{Dtype::kF32, {static_cast<std::int64_t>(kFloats)}};
  const Executable executable = compile(function_of(function, {{type}, {}}), {isa});
  struct Work {
    std::uint64_t begin;
    std::vector<FloatHasher> workers;
    std::vector<std::uint64_t> hashes;
  } work{begin,
         {},
         std::vector<std::uint64_t>(static_cast<std::size_t>((end - begin) / kFloatsInOneHash))};
  work.workers.reserve(static_cast<std::size_t>(pool.threads()));
  for (int i = 0; i < pool.threads(); ++i) work.workers.emplace_back(executable);
  pool.run(
      static_cast<std::size_t>((end - begin) / kFloats),
      [](void* context, std::size_t i, int worker) {
        Work& all = *static_cast<Work*>(context);
        const auto part = all.workers[static_cast<std::size_t>(worker)].hashes_from(
            all.begin + i * FloatHasher::kFloats);
        std::copy(part.begin(), part.end(), all.hashes.begin() + i * part.size());
      },
      &work);
  return hash(std::as_bytes(std::span(work.hashes)));
}

std::vector<HashLine> op_hashes(kernels::Isa isa) {
  Lines lines;
  const std::vector<Tensor> sample{sample_of_all_floats()};
  for (const Op* op : elementary_functions()) {
    const Function f = function_of(*op, {{sample[0].type()}, {}});
    lines.push_back({fmt::format("function {}", op->name), hash_all(compile(f, {isa})(sample))});
  }
  for (const Op* op : all_ops()) add_op(lines, *op, isa);
  return lines;
}

std::vector<HashLine> network_hashes(kernels::Isa isa, ThreadPool& pool) {
  Lines lines;
  const Function mlp = vmap(digits_model(), {0}, 70);
  const std::vector<Tensor> rows{random_tensor({Dtype::kF32, {70, 784}}, Key(2), 0, 1)};
  add_network(lines, "mlp", mlp, rows, isa, pool);
  const Function transformer = block();
  add_network(lines, "block", transformer, random_inputs(transformer, Key(7), -0.5, 0.5), isa,
              pool);
  lines.push_back({"network mlp training", hash_of_training(isa, pool)});
  lines.push_back({"network mlp training in 5 shards", hash_of_sharded_training(isa, pool)});
  add_pictures(lines);
  return lines;
}

std::int64_t rows_that_differ_in_batches(kernels::Isa isa) {
  constexpr std::int64_t kMost = 70;
  const Function model = digits_model();
  const Tensor rows = random_tensor({Dtype::kF32, {kMost, 784}}, Key(8), 0, 1);
  const Executable one = compile(model, {isa});
  std::vector<Tensor> alone;
  for (std::int64_t i = 0; i < kMost; ++i)
    alone.push_back(one(std::vector<Tensor>{rows.rows(i, 1).reshape({784})})[0]);
  std::int64_t differing = 0;
  for (std::int64_t n = 1; n <= kMost; ++n) {
    const Tensor batch =
        compile(vmap(model, {0}, n), {isa})(std::vector<Tensor>{rows.rows(0, n)})[0];
    for (std::int64_t i = 0; i < n; ++i)
      differing += !batch.rows(i, 1).reshape({10}).same_bits(alone[static_cast<std::size_t>(i)]);
  }
  return differing;
}

std::vector<HashLine> parse_hashes(std::string_view markdown) {
  Lines lines;
  int number = 0;
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    ++number;
    // "| name | hash |"; the heading and the rule below it have no hash.
    constexpr std::size_t kDigits = 16;
    const std::size_t bar = line.rfind(" | ");
    if (!line.starts_with("| ") || line.starts_with("| what ") || bar == std::string_view::npos)
      continue;
    const std::string_view digits = line.substr(bar + 3, kDigits);
    HashLine entry{std::string(line.substr(2, bar - 2)), 0};
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), entry.hash, 16);
    if (error != std::errc() || stop != digits.data() + digits.size() || digits.size() != kDigits)
      throw Error(ErrorCode::kParse,
                  fmt::format("line {}: expected a hash of 16 digits, got '{}'", number, digits));
    lines.push_back(std::move(entry));
  }
  return lines;
}

std::string to_markdown(const std::vector<HashLine>& lines) {
  std::string text = "| what | hash |\n|---|---|\n";
  for (const HashLine& line : lines)
    text += fmt::format("| {} | {:016x} |\n", line.name, line.hash);
  return text;
}

}  // namespace limpid
