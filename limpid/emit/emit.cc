#include "limpid/emit/emit.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/emit/detail/forms.h"
#include "limpid/emit/detail/names.h"
#include "limpid/emit/detail/parts.h"
#include "limpid/emit/detail/write.h"

namespace limpid {
namespace {

using emit::Buffer;
using emit::BufferId;
using emit::Program;

// Compiler settings that break the promise: an error if the compiler reports them.
constexpr std::string_view kChecks = R"(#if !defined(__GNUC__)
#error "this header is written for GCC and Clang"
#endif
#if defined(__FAST_MATH__) || __FINITE_MATH_ONLY__ || defined(__ASSOCIATIVE_MATH__) || \
    defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "-ffast-math and its parts change results; compile this header without them"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "float arithmetic has more than float's precision here (x87?); -mfpmath=sse helps"
#endif

// Below, only std::fma fuses a multiplication and an addition. Clang can restore its own
// setting after the header, on x86 only.
#if defined(__clang__)
#pragma clang diagnostic push
#if __cplusplus < 201703L
#pragma clang diagnostic ignored "-Wc++17-extensions"  // C++14 is enough but for inline variables
#endif
#if defined(__x86_64__) || defined(__i386__)
#pragma float_control(push)
#endif
#pragma clang fp contract(off)
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif
)";

constexpr std::string_view kAfter = R"(
#if defined(__clang__)
#if defined(__x86_64__) || defined(__i386__)
#pragma float_control(pop)
#endif
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif
)";

// The standard library's headers, and the words that require them.
constexpr std::pair<std::string_view, std::string_view> kHeaders[] = {
    {"algorithm", "std::copy("},
    {"algorithm", "std::fill("},
    {"algorithm", "std::max("},
    {"algorithm", "std::min("},
    {"algorithm", "std::sort("},
    {"algorithm", "std::swap_ranges("},
    {"algorithm", "std::copy("},
    {"algorithm", "std::copy("},
    {"algorithm", "std::fill("},
    {"array", "std::array<"},
    {"cfenv", "std::fegetround("},
    {"cmath", "std::"},
    {"cstddef", "std::size_t"},
    {"cstdint", "std::"},
    {"cstring", "std::memcpy("},
    {"limits", "std::numeric_limits<"},
    {"type_traits", "std::make_unsigned_t<"},
    {"type_traits", "std::is_"},
    {"utility", "std::swap("},
};

std::string includes_text(const std::string& code) {
  std::string text;
  std::string_view last;
  for (const auto& [header, word] : kHeaders) {
    if (header == last || code.find(word) == std::string::npos) continue;
    text += fmt::format("#include <{}>\n", header);
    last = header;
  }
  return text;
}

// An argument of run().
struct Parameter {
  std::string name;
  std::string called;  // in the Function
  Type type;
  bool is_output;

  std::string declaration() const {
    return fmt::format("{}{}* {}", is_output ? "" : "const ", emit::cpp_type(type.dtype), name);
  }
};

class Writer {
 public:
  Writer(const Function& function, const Params& params, const EmitOptions& options)
      : function_(function), options_(options), program_(emit::lower(function, params)) {
    emit::place(program_);
    name_buffers();
    find_parameters(params);
  }

  std::string text() const {
    const std::string steps = emit::steps_text(program_);
    const std::string parts = emit::parts_for("DefaultFloatMode " + steps);
    const std::string constants = emit::constants_text(program_);
    const std::string api = api_text();
    return comment() + "#pragma once\n\n" + includes_text(parts + steps + constants + api) + "\n" +
           std::string(kChecks) +
           fmt::format("\nnamespace {} {{\nnamespace detail {{\n\n", options_.namespace_name) +
           parts + constants + compute_text(steps) + "\n}  // namespace detail\n\n" + api +
           fmt::format("\n}}  // namespace {}\n", options_.namespace_name) + std::string(kAfter);
  }

 private:
  void name_buffers() {
    for (std::size_t b = 0; b < program_.buffers.size(); ++b)
      program_.buffers[b].name =
          fmt::format("{}{}", program_.buffers[b].place == emit::Place::kConstant ? "c" : "v", b);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      buffer(program_.inputs[i]).name = fmt::format("in{}", i);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      buffer(program_.outputs[i]).name = fmt::format("out{}", i);
  }
  Buffer& buffer(BufferId id) { return program_.buffers[static_cast<std::size_t>(id)]; }
  const Buffer& buffer(BufferId id) const { return program_.buffers[static_cast<std::size_t>(id)]; }

  void find_parameters(const Params& params) {
    emit::Names names({"run", "workspace", "Workspace", "detail", "mode", options_.namespace_name});
    for (const Input& input : function_.inputs())
      if (!params.find(input.name))
        parameters_.push_back({names.unique(input.name, "x"), input.name, input.type, false});
    for (const Output& output : function_.outputs())
      parameters_.push_back(
          {names.unique(output.name, "out"), output.name, function_.type(output.value), true});
  }

  std::string comment() const {
    std::string text =
        fmt::format("// {}: the function '{}' as C++17, written by `limpid emit`.\n//\n",
                    options_.namespace_name, emit::comment_text(function_.name()));
    std::string arguments;
    for (const Parameter& p : parameters_) {
      const bool is_called_so = p.called.empty() || p.called == p.name;
      text += fmt::format("//   {}  {}  {}{}\n", p.is_output ? "out" : "in ", to_string(p.type),
                          p.name, is_called_so ? "" : ", " + emit::comment_text(p.called));
      text += elements_text(p);
      arguments += (arguments.empty() ? "" : ", ") + p.name;
    }
    text +=
        fmt::format("//\n//   static {0}::Workspace workspace;\n//   {0}::run({1}, workspace);\n",
                    options_.namespace_name, arguments);
    if (fits_stack())
      text += fmt::format("//   {}::run({});  // or with the workspace on the stack\n",
                          options_.namespace_name, arguments);
    return text + fmt::format(R"(//
// Arrays are row-major; f32 is float, bf16 and f16 are their bits as std::uint16_t. Results must not
// overlap arguments. The workspace takes {} bytes. run() allocates nothing, locks nothing and does
// not throw; it may run in many threads at once, each with a workspace of its own.
//
// It gives the bits that Limpid gives (NaNs are NaNs), on every machine, at every level of
// optimization, whatever rounding or flushing to zero the thread has set. Compiled for a machine with
// fused multiply-add (-march=native, -mfma, AArch64) it is fast; elsewhere it is exact and slow.
// -ffast-math is refused. Clang's -ffp-contract=fast breaks the promise, unseen: leave its default.
)",
                              program_.workspace_bytes);
  }

  // Lines of "x[0] weight", where the elements of a parameter have names.
  std::string elements_text(const Parameter& p) const {
    const auto names = options_.element_names.find(p.called);
    if (names == options_.element_names.end()) return "";
    std::string text;
    for (std::size_t i = 0; i < names->second.size(); ++i)
      text +=
          fmt::format("//         {}[{}]  {}\n", p.name, i, emit::comment_text(names->second[i]));
    return text;
  }

  bool fits_stack() const { return program_.workspace_bytes <= options_.stack_bytes; }

  // `memory` is the workspace. Not inline: no arithmetic may move out of the default float mode.
  std::string compute_text(const std::string& steps) const {
    std::string arguments;
    for (BufferId id : program_.inputs)
      arguments += fmt::format("const {}* __restrict {}, ", emit::cpp_type(buffer(id).type.dtype),
                               buffer(id).name);
    for (BufferId id : program_.outputs)
      arguments += fmt::format("{}* __restrict {}, ", emit::cpp_type(buffer(id).type.dtype),
                               buffer(id).name);
    return fmt::format(
        "__attribute__((noinline)) inline void compute({}unsigned char* __restrict memory) "
        "noexcept {{\n{}}}\n",
        arguments, steps);
  }

  std::string api_text() const {
    std::string text = fmt::format(
        "// Memory for one run at a time.\nstruct alignas(64) Workspace {{\n"
        "  unsigned char memory[{}];\n}};\n\n",
        std::max<std::size_t>(1, program_.workspace_bytes));
    std::string declarations;
    std::string arguments;
    for (const Parameter& p : parameters_) {
      text += fmt::format("inline constexpr std::size_t {}_size = {};\n", p.name,
                          p.type.shape.elements());
      declarations += p.declaration() + ", ";
      arguments += p.name + ", ";
    }
    text += fmt::format(
        "\ninline void run({}Workspace& workspace) noexcept {{\n"
        "  const detail::DefaultFloatMode mode;\n  detail::compute({}workspace.memory);\n}}\n",
        declarations, arguments);
    if (fits_stack())
      text += fmt::format(
          "\ninline void run({}) noexcept {{\n  Workspace workspace;\n  run({}workspace);\n}}\n",
          declarations.substr(0, declarations.size() - 2), arguments);
    return text;
  }

  const Function& function_;
  const EmitOptions& options_;
  Program program_;
  std::vector<Parameter> parameters_;
};

}  // namespace

std::string emit_cpp(const Function& function, const Params& params, const EmitOptions& options) {
  const DefaultFloatMode mode;
  if (!emit::is_namespace(options.namespace_name))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("emit of '{}': {} is not a valid name of a C++ namespace",
                            function.name(), in_quotes(options.namespace_name)));
  return Writer(function, params, options).text();
}

}  // namespace limpid
