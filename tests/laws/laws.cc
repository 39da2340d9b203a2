#include "tests/laws/laws.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/formats/model.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/jvp.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/vmap.h"
#include "tests/guarded_memory.h"
#include "tests/laws/random_values.h"

namespace limpid::laws {
namespace {

double element(const Tensor& t, std::size_t i) {
  return t.dtype() == Dtype::kF64 ? t.values<double>()[i]
                                  : static_cast<double>(t.values<float>()[i]);
}
std::size_t count(const Tensor& t) { return static_cast<std::size_t>(t.elements()); }

struct Dot {
  double sum = 0;
  double size = 0;  // of the terms

  void add(const Tensor& a, const Tensor& b) {
    for (std::size_t i = 0; i < count(a); ++i) {
      const double term = element(a, i) * element(b, i);
      sum += term;
      size += std::fabs(term);
    }
  }
};

template <class T>
Tensor moved_as(const Tensor& x, const Tensor& direction, double step) {
  return Tensor::generate<T>(x.shape(), [&](std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<T>(element(x, i) + step * element(direction, i));
  });
}

Tensor moved(const Tensor& x, const Tensor& direction, double step) {
  return x.type().dtype == Dtype::kF64 ? moved_as<double>(x, direction, step)
                                       : moved_as<float>(x, direction, step);
}

std::string about(std::string_view what, std::string_view complaint) {
  return complaint.empty() ? "" : fmt::format("{}: {}", what, complaint);
}

// Row i of every batched tensor; the other tensors unchanged.
std::vector<Tensor> row_of(const std::vector<Tensor>& tensors,
                           const std::vector<std::optional<std::int64_t>>& axes, std::int64_t i) {
  std::vector<Tensor> row = tensors;
  for (std::size_t k = 0; k < row.size(); ++k)
    if (axes[k])
      row[k] = slice(
          tensors[k],
          *axes[k] < 0 ? tensors[k].shape().rank() - 1 : static_cast<std::size_t>(*axes[k]), i);
  return row;
}

// Row i of g's outputs is f of row i of the inputs, in bits.
std::string rows_are_single_calls(const Function& g, const Function& f, const Batch& batch,
                                  const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> stacked = interpret(g, inputs);
  for (std::int64_t i = 0; i < batch.size; ++i) {
    const std::vector<Tensor> expected = interpret(f, row_of(inputs, batch.axes, i));
    std::vector<Tensor> got;
    for (const Tensor& t : stacked) got.push_back(slice(t, 0, i));
    if (const std::string d = difference(got, expected); !d.empty())
      return fmt::format("row {} of {}: {}", i, batch.size, d);
  }
  return "";
}

// Tensors whose memory ends, or begins, at a protected page.
class AtEdge {
 public:
  explicit AtEdge(Edge edge) : edge_(edge) {}

  void add(const Type& type, const std::function<void(std::span<std::byte>)>& fill) {
    const std::size_t bytes = type.bytes();
    const std::shared_ptr<std::byte> memory(map_guarded(bytes, edge_),
                                            [bytes](std::byte* b) { unmap_guarded(b, bytes); });
    fill({memory.get(), bytes});
    tensors_.push_back(Tensor::borrow(type, {memory.get(), bytes}, memory));
    memory_.push_back(memory.get());
  }
  void add_copy(const Tensor& t) {
    add(t.type(), [&](std::span<std::byte> out) {
      std::copy(t.bytes().begin(), t.bytes().end(), out.begin());
    });
  }
  void add_filled(const Type& type, std::byte with) {
    add(type, [&](std::span<std::byte> out) { std::fill(out.begin(), out.end(), with); });
  }

  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::vector<const void*> to_read() const { return {memory_.begin(), memory_.end()}; }
  const std::vector<void*>& to_write() const { return memory_; }

 private:
  Edge edge_;
  std::vector<Tensor> tensors_;
  std::vector<void*> memory_;
};

// NaN in every floating dtype: it stays visible when a sum begins with it.
constexpr std::byte kNanBytes{0xff};
// A number in every dtype, which is no result by chance: it differs from a NaN that is expected.
constexpr std::byte kNumberBytes{0xa5};

// In memory that ends, or begins, with its inputs and outputs. Outputs are filled with one of the
// patterns, and the workspace holds what a run on NaNs has left: a plan writes all that it reads
// and gives.
std::vector<Tensor> run_at_edge(const Executable& executable, std::span<const Tensor> inputs,
                                Edge edge, ThreadPool* pool) {
  AtEdge given(edge), nans(edge), results(edge), results_of_nans(edge);
  for (const Tensor& t : inputs) {
    given.add_copy(t);
    if (is_floating(t.dtype()))
      nans.add_filled(t.type(), kNanBytes);
    else
      nans.add_copy(t);
  }
  for (const Type& type : executable.output_types()) {
    results.add_filled(type, edge == Edge::kBegin ? kNanBytes : kNumberBytes);
    results_of_nans.add_filled(type, kNanBytes);
  }
  Workspace workspace(executable, pool);
  workspace.run(nans.to_read(), results_of_nans.to_write());
  workspace.run(given.to_read(), results.to_write());
  return results.tensors();
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Tensor slice(const Tensor& batch, std::size_t axis, std::int64_t i) {
  std::int64_t outer = 1;
  std::size_t inner = size_of(batch.dtype());
  for (std::size_t d = 0; d < axis; ++d) outer *= batch.shape()[d];
  for (std::size_t d = axis + 1; d < batch.shape().rank(); ++d)
    inner *= static_cast<std::size_t>(batch.shape()[d]);
  const auto size = static_cast<std::size_t>(batch.shape()[axis]);
  return Tensor::generate_bytes(
      {batch.dtype(), batch.shape().erase(axis)}, [&](std::span<std::byte> out) {
        if (inner == 0) return;
        for (std::size_t o = 0; o < static_cast<std::size_t>(outer); ++o)
          std::memcpy(out.data() + o * inner,
                      batch.bytes().data() + (o * size + static_cast<std::size_t>(i)) * inner,
                      inner);
      });
}

std::string short_text(const Function& f) { return to_text(f, {.max_elements = 8}); }

std::string difference(std::span<const Tensor> got, std::span<const Tensor> expected) {
  if (got.size() != expected.size())
    return fmt::format("{} results, {} are expected", got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!same_numbers(got[i], expected[i])) return fmt::format("result {} differs", i);
  return "";
}

std::string compiled_is_interpreted(const Function& f, std::span<const Tensor> inputs) {
  static ThreadPool pools[] = {ThreadPool({.threads = 2}), ThreadPool({.threads = 3}),
                               ThreadPool({.threads = 5})};
  const std::vector<Tensor> expected = interpret(f, inputs);
  for (kernels::Isa isa : kernels::available_isas()) {
    const Executable executable = compile(f, {isa, 0});
    for (const Edge edge : {Edge::kBegin, Edge::kEnd})
      if (const std::string d =
              difference(run_at_edge(executable, inputs, edge, nullptr), expected);
          !d.empty())
        return fmt::format("{}, one thread: {}\n{}", name(isa), d, executable.plan());
    for (ThreadPool& pool : pools)
      if (const std::string d =
              difference(run_at_edge(executable, inputs, Edge::kEnd, &pool), expected);
          !d.empty())
        return fmt::format("{}, {} threads: {}\n{}", name(isa), pool.threads(), d,
                           executable.plan());
  }
  return "";
}

std::string bound_is_called(const Function& f, Key key) {
  const std::vector<Tensor> inputs = random_inputs(f, key);
  if (inputs.empty()) return "";
  Params values;
  for (std::size_t i = 0; i + 1 < inputs.size(); ++i) values.set(f.inputs()[i].name, inputs[i]);
  const Function bound = bind(f, values);
  verify(bound);
  const std::vector<Tensor> last(inputs.end() - 1, inputs.end());
  const std::vector<Tensor> expected = interpret(f, inputs);
  if (const std::string d = difference(interpret(bound, last), expected); !d.empty())
    return "bound: " + d;
  return about("bound and compiled", difference(compile(bound)(last), expected));
}

std::string donated_is_interpreted(const Function& f, std::span<const Tensor> inputs) {
  const std::vector<Tensor> expected = interpret(f, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t o = 0; o < expected.size(); ++o) {
      std::optional<Executable> executable;
      try {
        CompileOptions options;
        options.donations = {{i, o}};
        executable = compile(f, options);
      } catch (const Error&) {
        continue;  // of another type, or read later
      }
      AtEdge results(Edge::kEnd);
      for (std::size_t k = 0; k < expected.size(); ++k)
        if (k == o)
          results.add_copy(inputs[i]);
        else
          results.add_filled(expected[k].type(), kNumberBytes);
      std::vector<const void*> in;
      for (const Tensor& t : inputs) in.push_back(t.bytes().data());
      in[i] = results.to_write()[o];
      Workspace(*executable).run(in, results.to_write());
      if (const std::string d = difference(results.tensors(), expected); !d.empty())
        return fmt::format("input {} given for output {}: {}\n{}", i, o, d, executable->plan());
    }
  return "";
}

Batch all_batched(const Function& f, std::int64_t axis, std::int64_t size) {
  Batch batch{{}, size};
  for (const Input& i : f.inputs())
    batch.axes.emplace_back(std::min(axis, static_cast<std::int64_t>(i.type.shape.rank())));
  return batch;
}

std::string vmap_is_single_calls(const Function& f, const Batch& batch, const Domain& domain,
                                 Key key) {
  const Function g = vmap(f, batch.axes, batch.size);
  verify(g);
  return rows_are_single_calls(g, f, batch,
                               random_inputs(g, key, domain.low, domain.high, domain.bound));
}

std::string gradient_of_vmap_is_single_gradients(const Function& f, std::int64_t size,
                                                 const Domain& domain, Key key) {
  std::vector<std::size_t> wrt = inputs_of(f, Dtype::kF32);
  if (wrt.empty()) wrt = inputs_of(f, Dtype::kF64);
  const Function single = vjp(f, wrt);
  const Function g = vjp(vmap(f, all_batched(f, 0, size).axes, size), wrt);
  return rows_are_single_calls(g, single, all_batched(single, 0, size),
                               random_inputs(g, key, domain.low, domain.high, domain.bound));
}

std::string jvp_is_vjp_transposed(const Function& f, std::span<const Tensor> inputs,
                                  const std::vector<std::size_t>& wrt, Key key,
                                  NotFinite not_finite) {
  const Function backward = vjp(f, wrt);
  const Function forward = jvp(f, wrt);
  verify(forward);
  std::vector<Tensor> with_cotangents(inputs.begin(), inputs.end());
  std::vector<Tensor> with_tangents = with_cotangents;
  const auto has_tangent = [&](const Output& o) {
    const Dtype dtype = f.type(o.value).dtype;
    return dtype == Dtype::kF32 || dtype == Dtype::kF64;
  };
  for (const Output& o : f.outputs()) {
    const Type& type = f.type(o.value);
    with_cotangents.push_back(
        has_tangent(o) ? random_tensor(type, key.fold_in(with_cotangents.size()), -1, 1, 2)
                       : Tensor::zeros(type));
  }
  for (std::size_t i : wrt)
    with_tangents.push_back(random_tensor(f.inputs()[i].type, key.fold_in(1000 + i), -1, 1, 2));
  const std::vector<Tensor> gradients = interpret(backward, with_cotangents);
  const std::vector<Tensor> tangents = interpret(forward, with_tangents);

  Dot of_tangents;
  std::size_t next = f.outputs().size();
  bool wide = true;
  for (std::size_t o = 0; o < f.outputs().size(); ++o) {
    if (!has_tangent(f.outputs()[o])) continue;
    wide = wide && f.type(f.outputs()[o].value).dtype == Dtype::kF64;
    of_tangents.add(with_cotangents[inputs.size() + o], tangents[next++]);
  }
  Dot of_gradients;
  for (std::size_t k = 0; k < wrt.size(); ++k)
    of_gradients.add(gradients[f.outputs().size() + k], with_tangents[inputs.size() + k]);
  const double size = 1 + of_tangents.size + of_gradients.size;
  if (!std::isfinite(size) && not_finite == NotFinite::kMayBe) return "";
  const double off = std::fabs(of_tangents.sum - of_gradients.sum);
  if (std::isfinite(size) && off <= (wide ? 1e-10 : 1e-3) * size) return "";
  return fmt::format("<ct, J t> is {}, <J^T ct, t> {}\n{}", of_tangents.sum, of_gradients.sum,
                     short_text(forward));
}

std::string gradient_is_difference(const Function& loss, std::span<const Tensor> inputs,
                                   const std::vector<std::size_t>& wrt,
                                   const Differences& differences, Key key) {
  const std::vector<Tensor> gradients = interpret(grad(loss, wrt), inputs);
  std::vector<Tensor> ahead(inputs.begin(), inputs.end());
  std::vector<Tensor> behind = ahead;
  std::vector<Tensor> with_tangents = ahead;
  Dot by_gradient;
  for (std::size_t k = 0; k < wrt.size(); ++k) {
    const Tensor direction = random_tensor(inputs[wrt[k]].type(), key.fold_in(k), -1, 1, 2);
    by_gradient.add(gradients[k], direction);
    ahead[wrt[k]] = moved(inputs[wrt[k]], direction, differences.step);
    behind[wrt[k]] = moved(inputs[wrt[k]], direction, -differences.step);
    with_tangents.push_back(direction);
  }
  const double by_jvp = element(interpret(jvp(loss, wrt), with_tangents)[1], 0);
  const double by_difference =
      (element(interpret(loss, ahead)[0], 0) - element(interpret(loss, behind)[0], 0)) /
      (2 * differences.step);
  const double allowed = differences.tolerance * (1 + by_gradient.size);
  if (std::isfinite(allowed) && std::fabs(by_gradient.sum - by_difference) <= allowed &&
      std::fabs(by_jvp - by_difference) <= allowed)
    return "";
  return fmt::format("{} by grad, {} by jvp, {} by central differences", by_gradient.sum, by_jvp,
                     by_difference);
}

std::string text_is_kept(const Function& f) {
  const std::string text = to_text(f);
  const Function back = parse_function(text);
  if (!(back == f)) return "another function is read than was printed:\n" + text;
  return to_text(back) == text ? "" : "printed another way the second time:\n" + text;
}

std::string file_is_kept(const Function& f, Key key) {
  if (f.inputs().empty()) return "";
  Model model{trace(f.name(), f.inputs(),
                    [&](std::span<const Value> in) {
                      return std::vector<Value>{in[0].builder().inline_function(f, in)[0]};
                    }),
              {},
              "{}"};
  for (std::size_t i = 0; i + 1 < f.inputs().size(); ++i)
    model.params.set(f.inputs()[i].name,
                     random_tensor(f.inputs()[i].type, key.fold_in(i), -2, 2, 2));
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("limpid_law_{}_{}", ::getpid(), key.bits());
  save_model(path, model);
  const std::string first = bytes_of(path);
  const Model back = load_model(path);
  save_model(path, back);
  const std::string second = bytes_of(path);
  std::filesystem::remove(path);
  if (!(back.function == model.function)) return "another function was loaded than was saved";
  return first == second && !first.empty() ? "" : "other bytes were saved the second time";
}

std::string simplify_keeps_numbers(const Function& f, std::span<const Tensor> inputs) {
  const std::vector<Tensor> expected = interpret(f, inputs);
  const std::string opened = difference(interpret(expand(f), inputs), expected);
  if (!opened.empty()) return about("expand", opened);
  for (const Function& g : {f, expand(f)}) {
    const Function simple = simplify(g);
    verify(simple);
    if (simple.inputs() != g.inputs()) return "simplify: other inputs";
    if (const std::string d = difference(interpret(simple, inputs), expected); !d.empty())
      return about("simplify", d) + "\n" + short_text(simple);
    if (!(simplify(simple) == simple)) return "simplify finds more the second time";
  }
  return "";
}

std::vector<std::size_t> inputs_of(const Function& f, Dtype dtype) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < f.inputs().size(); ++i)
    if (f.inputs()[i].type.dtype == dtype) places.push_back(i);
  return places;
}

bool has_output_of(const Function& f, Dtype dtype) {
  for (const Output& o : f.outputs())
    if (f.type(o.value).dtype == dtype) return true;
  return false;
}

}  // namespace limpid::laws
