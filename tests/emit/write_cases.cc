// Writes every case as an emitted header, and a program that runs all of them and compares what
// they give with what interpret() and an Executable gave, bit for bit but for those of NaNs.
//
//   write_cases FOLDER
//
// leaves FOLDER/<case>.h, <case>.cc and main.cc to be compiled together, and numbers.bin, which the
// program reads: for each case and run the arguments, then the results that are expected.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/emit/emit.h"
#include "limpid/function/interpret.h"
#include "limpid/transforms/bind.h"
#include "tests/emit/cases.h"
#include "tests/laws/laws.h"

namespace limpid::emit_test {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw Error(ErrorCode::kIo, "cannot write " + path.string());
}

std::string_view cpp_type(Dtype dtype) {
  constexpr std::string_view kTypes[] = {"float",         "double",       "std::uint16_t",
                                         "std::uint16_t", "std::int32_t", "std::int64_t",
                                         "std::int8_t",   "std::uint8_t", "bool"};
  return kTypes[static_cast<std::size_t>(dtype)];
}

// Calls run() of one case through type-erased pointers, and describes the case. A program may
// include a header twice.
std::string caller_text(const Case& c, const Function& bound) {
  std::string arguments;
  std::string inputs;
  std::string outputs;
  const auto add = [&](const Type& type, std::string& table, std::string_view from, std::size_t i,
                       std::string_view constant) {
    arguments +=
        fmt::format("static_cast<{}{}*>({}[{}]), ", constant, cpp_type(type.dtype), from, i);
    table += fmt::format("{{{}, {}, \"{}\"}}, ", type.shape.elements(), size_of(type.dtype),
                         name(type.dtype));
  };
  for (std::size_t i = 0; i < bound.inputs().size(); ++i)
    add(bound.inputs()[i].type, inputs, "in", i, "const ");
  for (std::size_t o = 0; o < bound.outputs().size(); ++o)
    add(bound.type(bound.outputs()[o].value), outputs, "out", o, "");
  return fmt::format(
      "#include \"{0}.h\"\n#include \"{0}.h\"\n#include \"cases.h\"\n"
      "static_assert(alignof({0}::Workspace) == 64, \"buffers begin where cache lines do\");\n"
      "static {0}::Workspace workspace;\n"
      "static void run(const void* const* in, void* const* out) {{\n"
      "  static_cast<void>(in);\n  {0}::run({1}workspace);\n}}\n"
      "static const Array inputs[] = {{{2}{{}}}};\nstatic const Array outputs[] = {{{3}{{}}}};\n"
      "extern const EmittedCase case_{0};\nconst EmittedCase case_{0} = {{\"{0}\", run, inputs, "
      "{4}, outputs, {5}, {6}}};\n",
      c.name, arguments, inputs, outputs, bound.inputs().size(), bound.outputs().size(),
      c.inputs.size());
}

void append(std::string& numbers, const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    numbers.append(reinterpret_cast<const char*>(t.bytes().data()), t.bytes().size());
}

void write_cases(const fs::path& folder, const std::vector<Case>& cases) {
  std::string declarations;
  std::string list;
  std::string numbers;
  for (const Case& c : cases) {
    const Function f = bind(c.function, c.params);
    write(folder / (c.name + ".h"),
          emit_cpp(c.function, c.params,
                   {.namespace_name = c.name, .element_names = c.element_names}));
    write(folder / (c.name + ".cc"), caller_text(c, f));
    declarations += fmt::format("extern const EmittedCase case_{};\n", c.name);
    list += fmt::format("&case_{}, ", c.name);
    for (const std::vector<Tensor>& inputs : c.inputs) {
      const std::vector<Tensor> expected = interpret(f, inputs);
      if (const std::string d = laws::difference(compile(f)(inputs), expected); !d.empty())
        throw Error(ErrorCode::kInternal, c.name + ": compiled differs: " + d);
      append(numbers, inputs);
      append(numbers, expected);
    }
  }
  write(folder / "all_cases.h",
        fmt::format("#include \"cases.h\"\n{}static const EmittedCase* const "
                    "all_cases[] = {{{}}};\n",
                    declarations, list));
  write(folder / "numbers.bin", numbers);
}

}  // namespace
}  // namespace limpid::emit_test

int main(int argc, char** argv) {
  namespace test = limpid::emit_test;
  if (argc != 2) return 2;
  try {
    std::vector<test::Case> cases = test::op_cases();
    for (test::Case& c : test::network_cases()) cases.push_back(std::move(c));
    test::write_cases(argv[1], cases);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "write_cases: %s\n", e.what());
    return 1;
  }
}
