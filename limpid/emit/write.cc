// Steps and constants as text.
#include "limpid/emit/detail/write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "limpid/emit/detail/forms.h"
#include "limpid/emit/detail/names.h"

namespace limpid::emit {
namespace {

const Buffer& buffer_of(const Program& program, BufferId id) {
  return program.buffers[static_cast<std::size_t>(id)];
}

std::vector<bool> used_buffers(const Program& program) {
  std::vector<bool> used(program.buffers.size(), false);
  const auto use = [&](BufferId id) { used[static_cast<std::size_t>(id)] = true; };
  for (const Step& step : program.steps) for_each_buffer(step, use);
  // A part of a part comes after it.
  for (std::size_t b = program.buffers.size(); b-- > 0;)
    if (program.buffers[b].place == Place::kPart && used[b]) use(program.buffers[b].whole);
  return used;
}

// ---- loops

// The dimensions of a loop as they are written: adjacent dimensions are merged if all views can
// step through them as one.
struct Nest {
  std::vector<std::int64_t> dims;
  std::vector<std::size_t> last;  // of the loop's dimensions, whose stride counts
};

Nest nest_of(const Loop& loop) {
  std::vector<const View*> views;
  for (const auto& local : loop.locals)
    if (const auto* load = std::get_if<Load>(&local)) views.push_back(&load->view);
  for (const Store& store : loop.stores) views.push_back(&store.view);
  Nest nest;
  for (std::size_t d = 0; d < loop.dims.size(); ++d) {
    if (loop.dims[d] == 1) continue;
    const bool joins =
        !nest.dims.empty() && std::all_of(views.begin(), views.end(), [&](const View* v) {
          return v->strides[nest.last.back()] == v->strides[d] * v->dims[d];
        });
    if (joins) {
      nest.dims.back() *= loop.dims[d];
      nest.last.back() = d;
    } else {
      nest.dims.push_back(loop.dims[d]);
      nest.last.push_back(d);
    }
  }
  return nest;
}

constexpr std::string_view kIndices = "ijklmnop";
static_assert(kIndices.size() >= Shape::kMaxRank);

std::string element(const Program& program, BufferId id, const View& view, const Nest& nest) {
  std::string index;
  const auto add = [&](const std::string& term) { index += (index.empty() ? "" : " + ") + term; };
  for (std::size_t n = 0; n < nest.dims.size(); ++n) {
    const std::int64_t stride = view.strides[nest.last[n]];
    if (stride == 1) add(std::string(1, kIndices[n]));
    if (stride > 1) add(fmt::format("{} * {}", kIndices[n], stride));
  }
  if (view.offset != 0 || index.empty()) add(std::to_string(view.offset));
  return fmt::format("{}[{}]", buffer_of(program, id).name, index);
}

std::string loop_text(const Program& program, const Loop& loop) {
  const Nest nest = nest_of(loop);
  std::string text;
  std::string indent = "  ";
  for (std::size_t n = 0; n < nest.dims.size(); ++n) {
    text += fmt::format("{0}for (std::size_t {1} = 0; {1} < {2}; ++{1}){3}\n", indent, kIndices[n],
                        nest.dims[n], n + 1 == nest.dims.size() ? " {" : "");
    if (n + 1 < nest.dims.size()) indent += "  ";
  }
  if (nest.dims.empty()) text += "  {\n";
  for (std::size_t i = 0; i < loop.locals.size(); ++i) {
    const auto add = [&](Dtype dtype, const std::string& expression) {
      text += fmt::format("{}  const {} t{} = {};\n", indent, cpp_type(dtype), i, expression);
    };
    if (const auto* load = std::get_if<Load>(&loop.locals[i])) {
      add(buffer_of(program, load->buffer).type.dtype,
          element(program, load->buffer, load->view, nest));
    } else {
      const auto& statement = std::get<Statement>(loop.locals[i]);
      add(statement.dtype, statement.expression);
    }
  }
  for (const Store& store : loop.stores)
    text += fmt::format("{}  {} = t{};\n", indent, element(program, store.buffer, store.view, nest),
                        store.local);
  return text + indent + "}\n";
}

std::string call_text(const Program& program, const CallStep& call) {
  std::vector<std::string> arguments;
  for (const Argument& a : call.arguments) {
    if (a.buffer < 0)
      arguments.push_back(literal(Tensor::scalar(a.number), 0));
    else if (a.number == 0)
      arguments.push_back(buffer_of(program, a.buffer).name);
    else
      arguments.push_back(fmt::format("{} + {}", buffer_of(program, a.buffer).name, a.number));
  }
  return fmt::format("  {}({});\n", call.function, fmt::join(arguments, ", "));
}

// The beginning of a repetition, which is step number `step`, and the addresses of its parts.
std::string repeat_text(const Program& program, const Repeat& repeat, std::size_t step,
                        const std::vector<bool>& used) {
  const std::string time = fmt::format("s{}", step);
  std::string text =
      repeat.reverse
          ? fmt::format("  for (std::size_t {0} = {1}; {0}-- > 0;) {{\n", time, repeat.count)
          : fmt::format("  for (std::size_t {0} = 0; {0} < {1}; ++{0}) {{\n", time, repeat.count);
  for (const BufferId id : repeat.parts) {
    const Buffer& part = buffer_of(program, id);
    if (used[static_cast<std::size_t>(id)])
      text += fmt::format("    auto* const {} = {} + {} * {};\n", part.name,
                          buffer_of(program, part.whole).name, time, part.stride);
  }
  return text;
}

std::string indented(const std::string& text, std::size_t by) {
  if (by == 0) return text;
  std::string all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    all += std::string(by, ' ') + text.substr(at, end - at);
    at = end;
  }
  return all;
}

}  // namespace

std::string constants_text(const Program& program) {
  constexpr std::size_t kWidth = 100;
  const std::vector<bool> used = used_buffers(program);
  std::string text;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.place != Place::kConstant || !used[b]) continue;
    const std::int64_t elements = buffer.type.shape.elements();
    text += fmt::format("// {}{}{}\nalignas(64) inline constexpr {} {}[{}] = {{",
                        comment_text(buffer.comment), buffer.comment.empty() ? "" : ": ",
                        to_string(buffer.type), cpp_type(buffer.type.dtype), buffer.name,
                        std::max<std::int64_t>(1, elements));
    std::size_t column = kWidth;
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::string number = literal(buffer.constant, i);
      const bool breaks = column + number.size() + 2 > kWidth;
      text += breaks ? "\n    " : " ";
      text += number;
      text += ",";
      column = (breaks ? 4 : column + 1) + number.size() + 1;
    }
    text += "};\n\n";
  }
  return text;
}

std::string steps_text(const Program& program) {
  const std::vector<bool> used = used_buffers(program);
  std::string text;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.place == Place::kWorkspace && used[b])
      text += fmt::format("  {0}* const {1} = reinterpret_cast<{0}*>(memory + {2});\n",
                          cpp_type(buffer.type.dtype), buffer.name, buffer.offset);
    else if ((buffer.place == Place::kInput || buffer.place == Place::kOutput) && !used[b])
      text += fmt::format("  static_cast<void>({});\n", buffer.name);
  }
  if (program.workspace_bytes == 0) text += "  static_cast<void>(memory);\n";
  std::size_t indent = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (const auto* loop = std::get_if<Loop>(&step)) {
      text += indented(loop_text(program, *loop), indent);
    } else if (const auto* call = std::get_if<CallStep>(&step)) {
      text += indented(call_text(program, *call), indent);
    } else if (const auto* repeat = std::get_if<Repeat>(&step)) {
      text += indented(repeat_text(program, *repeat, i, used), indent);
      indent += 2;
    } else {
      indent -= 2;
      text += indented("  }\n", indent);
    }
  }
  return text;
}

}  // namespace limpid::emit
