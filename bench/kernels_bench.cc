// Times of the kernels alone: matrix products compared with the peak of one core, other kernels in
// nanoseconds per element. LIMPID_ISA selects the instruction set. With an argument, only kernels
// whose line contains it are measured.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/kernels/kernels.h"

namespace limpid::kernels {
namespace {

std::string wanted;

// This thread's CPU time: it excludes the time of other programs.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The best time of one call in seconds.
double best_seconds(const std::function<void()>& f, double budget) {
  f();
  std::size_t calls = 1;
  double best = 1e30;
  const double start = thread_seconds();
  while (thread_seconds() - start < budget) {
    const double begin = thread_seconds();
    for (std::size_t i = 0; i < calls; ++i) f();
    const double spent = thread_seconds() - begin;
    best = std::min(best, spent / static_cast<double>(calls));
    if (spent < 1e-3) calls *= 2;
  }
  return best;
}

class Buffer {
 public:
  explicit Buffer(std::size_t n) : memory_(n + 16) {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = 2.0f * Key(n).uniform(i) - 1.0f;
  }
  float* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (64 - address % 64) % 64 / sizeof(float);
  }

 private:
  std::vector<float> memory_;
};

bool chosen(const std::string& name) { return name.find(wanted) != std::string::npos; }

enum class B { kPacked, kRowMajor, kTransposed };

void product(const Kernels& k, std::size_t m, std::size_t n, std::size_t depth, B layout,
             bool a_transposed = false) {
  static const char* const layouts[] = {"packed", "row-major", "transposed"};
  const std::string name = "matmul " + std::to_string(m) + " x " + std::to_string(depth) + " x " +
                           std::to_string(n) + (a_transposed ? " A^T" : "") + " " +
                           layouts[static_cast<int>(layout)];
  if (!chosen(name)) return;
  Buffer a(m * depth), b(depth * n), c(m * n), packed(k.packed_floats(depth, n));
  Buffer scratch(k.matmul_scratch_floats(m, n, depth));
  const Matrix a_matrix = a_transposed ? Matrix{a.data(), 1, m} : Matrix{a.data(), depth, 1};
  const Matrix b_matrix =
      layout == B::kRowMajor ? Matrix{b.data(), n, 1} : Matrix{b.data(), 1, depth};
  if (layout == B::kPacked) k.pack(b_matrix, depth, n, {0, n}, packed.data());
  const Matmul matmul = {.n = n,
                         .k = depth,
                         .a = a_matrix,
                         .b = b_matrix,
                         .packed_b = layout == B::kPacked ? packed.data() : nullptr,
                         .c = c.data(),
                         .c_row_stride = n,
                         .bias = nullptr,
                         .relu = false};
  const double s = best_seconds([&] { k.matmul(matmul, {0, m}, {0, n}, scratch.data()); }, 0.5);
  const double flop =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(depth);
  std::printf("%-46s %10.2f us %8.1f GFLOP/s\n", name.c_str(), s * 1e6, flop / s * 1e-9);
}

void per_element(const std::string& name, std::size_t n, const std::function<void()>& f) {
  if (!chosen(name)) return;
  const double s = best_seconds(f, 0.2);
  std::printf("%-46s %10.3f us %8.3f ns per element\n", name.c_str(), s * 1e6,
              s * 1e9 / static_cast<double>(n));
}

void products(const Kernels& k) {
  product(k, 48, 128, 128, B::kPacked);
  product(k, 256, 256, 256, B::kPacked);
  product(k, 256, 256, 256, B::kRowMajor);
  product(k, 256, 256, 256, B::kTransposed);
  product(k, 256, 256, 256, B::kRowMajor, true);
  product(k, 1024, 1024, 1024, B::kPacked);
  product(k, 1024, 1024, 1024, B::kRowMajor);
  product(k, 1024, 1024, 1024, B::kTransposed);
  product(k, 1024, 1024, 1024, B::kRowMajor, true);
  product(k, 1020, 1000, 1000, B::kPacked);
  product(k, 128, 256, 784, B::kPacked);
  product(k, 128, 256, 784, B::kTransposed);
  product(k, 128, 256, 784, B::kRowMajor);
  product(k, 784, 256, 128, B::kRowMajor, true);
  product(k, 128, 784, 256, B::kRowMajor);
  product(k, 128, 128, 256, B::kPacked);
  product(k, 128, 10, 128, B::kPacked);
  product(k, 128, 16384, 4096, B::kPacked);
  product(k, 128, 16384, 4096, B::kTransposed);
  product(k, 32, 4096, 4096, B::kPacked);
  product(k, 16, 4096, 4096, B::kPacked);
  product(k, 16, 16384, 4096, B::kPacked);
  product(k, 16, 4096, 16384, B::kPacked);
  product(k, 8, 1024, 1024, B::kPacked);
  product(k, 16, 1024, 1024, B::kPacked);
  product(k, 64, 64, 64, B::kPacked);
  product(k, 7, 1024, 1024, B::kPacked);
  product(k, 4, 1024, 1024, B::kPacked);
  product(k, 3, 1024, 1024, B::kPacked);
  product(k, 2, 1024, 1024, B::kPacked);
  product(k, 1, 4096, 4096, B::kPacked);
  for (const B layout : {B::kPacked, B::kRowMajor, B::kTransposed}) {
    product(k, 1, 1024, 1024, layout);
    product(k, 1, 256, 784, layout);
    product(k, 1, 128, 256, layout);
    product(k, 1, 10, 128, layout);
    product(k, 1, 1, 16384, layout);
    product(k, 256, 1, 1024, layout);
  }
}

void elements(const Kernels& k) {
  constexpr std::size_t n = 2048;
  Buffer a(n), b(n), c(n), out(n);
  static constexpr const char* names[] = {"negate",
                                          "abs",
                                          "exp",
                                          "log",
                                          "tanh",
                                          "erf",
                                          "sqrt",
                                          "relu",
                                          "sigmoid",
                                          "ndtr",
                                          "gelu",
                                          "gelu_tanh",
                                          "silu",
                                          "log1p",
                                          "expm1",
                                          "sin",
                                          "cos",
                                          "rsqrt",
                                          "floor",
                                          "ceil",
                                          "round",
                                          "truncate",
                                          "sign",
                                          "add",
                                          "subtract",
                                          "multiply",
                                          "divide",
                                          "maximum",
                                          "minimum",
                                          "power",
                                          "gelu_gradient",
                                          "equal",
                                          "not_equal",
                                          "less",
                                          "less_equal",
                                          "equal_i32",
                                          "not_equal_i32",
                                          "less_i32",
                                          "less_equal_i32",
                                          "negate_i32",
                                          "abs_i32",
                                          "add_i32",
                                          "subtract_i32",
                                          "multiply_i32",
                                          "maximum_i32",
                                          "minimum_i32",
                                          "shift_right_i32",
                                          "i32_to_f32",
                                          "mask_to_f32",
                                          "select"};
  static_assert(std::size(names) == kElementCount);
  for (std::size_t e = 0; e < kElementCount; ++e)
    per_element(names[e], n, [&] { k.element[e](out.data(), a.data(), b.data(), c.data(), n); });
  per_element("exp of 10", 10, [&] {
    k.element[static_cast<std::size_t>(Element::kExp)](out.data(), a.data(), nullptr, nullptr, 10);
  });
  per_element("random_bits", n,
              [&] { k.random_bits(7, 1, n, reinterpret_cast<std::int32_t*>(out.data())); });
  std::vector<std::uint8_t> flags(n, 1);
  std::vector<std::uint32_t> masks(n);
  per_element("bool_to_mask", n, [&] { k.bool_to_mask(flags.data(), n, masks.data()); });
  per_element("mask_to_bool", n, [&] { k.mask_to_bool(masks.data(), n, flags.data()); });
}

void rows(const Kernels& k) {
  struct Size {
    std::size_t rows, columns;
  };
  for (const Size s :
       {Size{8, 1000}, Size{128, 10}, Size{64, 64}, Size{784, 256}, Size{256, 4096}}) {
    const std::size_t n = s.rows * s.columns;
    Buffer in(n), out(n);
    const std::string size = " " + std::to_string(s.rows) + " x " + std::to_string(s.columns);
    const auto run = [&](const char* name, auto f) { per_element(name + size, n, f); };
    run("softmax", [&] { k.softmax(in.data(), s.rows, s.columns, out.data()); });
    run("log_softmax", [&] { k.log_softmax(in.data(), s.rows, s.columns, out.data()); });
    const auto* const gamma = in.data();
    run("layer_norm",
        [&] { k.layer_norm(in.data(), s.rows, s.columns, 1e-5f, gamma, gamma, out.data()); });
    run("rms_norm", [&] { k.rms_norm(in.data(), s.rows, s.columns, 1e-5f, gamma, out.data()); });
    run("sum_rows", [&] { k.sum_rows(in.data(), s.rows, s.columns, out.data()); });
    run("max_rows", [&] { k.max_rows(in.data(), s.rows, s.columns, out.data()); });
    run("sum_columns", [&] {
      k.sum_columns(in.data(), s.rows, s.columns, {0, s.columns}, out.data());
    });
    run("max_columns", [&] {
      k.max_columns(in.data(), s.rows, s.columns, {0, s.columns}, out.data());
    });
    run("transpose", [&] {
      k.transpose(in.data(), s.rows, s.columns, {0, s.columns}, out.data());
    });
  }
}

}  // namespace
}  // namespace limpid::kernels

int main(int argc, char** argv) {
  using namespace limpid::kernels;
  if (argc > 1) wanted = argv[1];
  const Kernels& k = kernels(default_isa());
  std::printf("%s\n", std::string(name(k.isa)).c_str());
  products(k);
  elements(k);
  rows(k);
}
