// Lowers a Function to a Program: which ops become views, which join which loop, and which are
// calls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/emit/detail/forms.h"
#include "limpid/emit/detail/program.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/scan.h"
#include "limpid/transforms/simplify.h"

namespace limpid::emit {
namespace {

using List = std::vector<std::int64_t>;

// The location of a value: memory, a local variable of a loop, or both.
struct Held {
  BufferId buffer = -1;
  View view;
  std::int32_t made_by = -1;  // the step that wrote the buffer
  std::int32_t loop = -1;     // the step that has it as a local
  std::int32_t local = -1;
};

class Lowering {
 public:
  Lowering(const Function& function, const Params& params)
      : whole_(without_compositions(bind(function, params))), params_(params) {
    held_.resize(f_->types().size());
  }

  Program run() {
    check();
    for (std::size_t i = 0; i < f_->inputs().size(); ++i) {
      const Input& input = f_->inputs()[i];
      program_.inputs.push_back(add_buffer(input.type, Place::kInput));
      held_[i] = in_memory(program_.inputs.back(), whole(input.type.shape), -1);
    }
    lower_nodes();
    for (std::size_t i = 0; i < f_->outputs().size(); ++i) write_output(f_->outputs()[i].value);
    return std::move(program_);
  }

 private:
  // ---- what there is

  // The ops that only move elements, and matmul, whose operands may be views.
  struct Row {
    const Op* op;
    void (Lowering::*lower)(const Node& node, const Call& call);
  };
  static const Row* find_row(const Op& op) {
    static constexpr Row kRows[] = {
        {&op::constant, &Lowering::make_constant},
        {&op::barrier, &Lowering::pass_on},
        {&op::stop_gradient, &Lowering::pass_on},
        {&op::reshape, &Lowering::change_shape},
        {&op::broadcast, &Lowering::repeat},
        {&op::transpose, &Lowering::permute},
        {&op::slice, &Lowering::cut},
        {&op::pad, &Lowering::pad},
        {&op::concatenate, &Lowering::concatenate},
        {&op::matmul, &Lowering::multiply},
        {&op::scan, &Lowering::run_steps},
    };
    const auto* row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == &op; });
    return row == std::end(kRows) ? nullptr : row;
  }

  // What is left are ops with a way to be written, and loops of more than one step.
  static Function without_compositions(const Function& f) {
    return simplify(expand(f, [](const Call& call) {
      if (call.op.cpp.call.given()) return false;
      return &call.op != &op::scan || call.attributes.integer("length") < 2;
    }));
  }
  static Function body_of(const Node& scan) {
    return without_compositions(scan.attributes.get<Nested>("body").function());
  }

  static void add_missing(const Function& f, std::set<std::string_view>& missing) {
    for (const Node& node : f.nodes())
      if (node.op == &op::scan)
        add_missing(body_of(node), missing);
      else if (node.op->cpp.by_emit && !find_row(*node.op))
        missing.insert(node.op->name);
  }
  void check() const {
    std::set<std::string_view> missing;
    add_missing(*f_, missing);
    if (!missing.empty())
      throw Error(ErrorCode::kUnsupported, fmt::format("emit of '{}': {} cannot be written as C++",
                                                       f_->name(), fmt::join(missing, ", ")));
  }

  // Values whose elements are read; if one result of a node is, all are. Of a barrier only those
  // operands are whose results are. A value without elements is not.
  std::vector<bool> needed_values() const {
    std::vector<bool> needed(f_->types().size(), false);
    const auto at = [&](ValueId id) { return needed.begin() + static_cast<std::ptrdiff_t>(id); };
    for (const Output& o : f_->outputs()) *at(o.value) = true;
    for (auto node = f_->nodes().rbegin(); node != f_->nodes().rend(); ++node) {
      const Function::CallTypes types = f_->call_types(*node);
      const auto first = at(node->first_output);
      const auto end = first + static_cast<std::ptrdiff_t>(types.outputs.size());
      if (std::find(first, end, true) == end) continue;
      if (node->op == &op::barrier)
        for (std::size_t i = 0; i < node->inputs.size(); ++i)
          if (first[static_cast<std::ptrdiff_t>(i)]) *at(node->inputs[i]) = true;
      std::fill(first, end, true);
      if (node->op == &op::barrier) continue;
      if (results_are_empty(
              {*node->op, types.inputs, types.outputs, node->attributes, node->scope}))
        continue;
      for (ValueId id : node->inputs) *at(id) = true;
    }
    return needed;
  }

  // ---- buffers and views

  BufferId add_buffer(const Type& type, Place place) {
    program_.buffers.push_back({type, place, {}, {}, {}});
    return static_cast<BufferId>(program_.buffers.size()) - 1;
  }
  Buffer& buffer(BufferId id) { return program_.buffers[static_cast<std::size_t>(id)]; }
  Held& held(ValueId id) { return held_[static_cast<std::size_t>(id)]; }
  Loop& loop(std::int32_t step) {
    return std::get<Loop>(program_.steps[static_cast<std::size_t>(step)]);
  }
  std::int32_t last_step() const { return static_cast<std::int32_t>(program_.steps.size()) - 1; }

  static Held in_memory(BufferId buffer, View view, std::int32_t made_by) {
    return {buffer, std::move(view), made_by, -1, -1};
  }

  // A local gets a buffer as well, if it has none.
  const Held& memory(ValueId id) {
    Held& h = held(id);
    if (h.buffer >= 0) return h;
    auto& stores = loop(h.loop).stores;
    const auto stored = std::find_if(stores.begin(), stores.end(),
                                     [&](const Store& s) { return s.local == h.local; });
    if (stored != stores.end()) {
      h.buffer = stored->buffer;
    } else {
      h.buffer = add_buffer(f_->type(id), Place::kWorkspace);
      stores.push_back({h.local, h.buffer, whole(Shape(loop(h.loop).dims))});
    }
    h.view = whole(f_->type(id).shape);
    h.made_by = h.loop;
    return h;
  }

  // The elements as contiguous memory, copied if they are not.
  Argument contiguous(ValueId id) {
    const Held h = memory(id);
    if (is_contiguous(h.view)) return {h.buffer, h.view.offset, false};
    const BufferId to = copy(h, f_->type(id), Place::kWorkspace);
    return {to, 0, false};
  }

  BufferId copy(const Held& from, const Type& type, Place place) {
    const BufferId to = add_buffer(type, place);
    add_copy(from, {to, whole(type.shape)});
    return to;
  }

  // A copy as a value in memory; steps before the copy cannot read it.
  Held copied(const Held& from, const Type& type) {
    const BufferId to = copy(from, type, Place::kWorkspace);
    return in_memory(to, whole(type.shape), last_step());
  }

  void add_copy(const Held& from, const Load& to) {
    if (Shape(to.view.dims).elements() == 0) return;
    program_.steps.push_back(Loop{to.view.dims, {from_load(from)}, {{0, to.buffer, to.view}}});
  }
  static Load from_load(const Held& h) { return {h.buffer, h.view}; }

  // ---- nodes

  void lower_nodes() {
    const std::vector<bool> needed = needed_values();
    for (const Node& node : f_->nodes())
      if (needed[static_cast<std::size_t>(node.first_output)]) lower(node);
  }

  void lower(const Node& node) {
    const Function::CallTypes types = f_->call_types(node);
    const Call call{*node.op, types.inputs, types.outputs, node.attributes, node.scope};
    if (results_are_empty(call)) return make_empty(node, call);
    if (const Row* row = find_row(*node.op)) return (this->*row->lower)(node, call);
    if (node.op->cpp.call.given()) return add_call(node, call, node.op->cpp.call(call));
    add_element(node, call);
  }

  void make_empty(const Node& node, const Call& call) {
    for (std::size_t r = 0; r < call.outputs.size(); ++r)
      held(node.first_output + static_cast<ValueId>(r)) = in_memory(
          add_buffer(call.outputs[r], Place::kWorkspace), whole(call.outputs[r].shape), -1);
  }

  void make_constant(const Node& node, const Call&) {
    const Tensor& value = node.attributes.get<Tensor>("value");
    held(node.first_output) =
        in_memory(constant_buffer(value, name_of(value)), whole(value.shape()), -1);
  }

  // Bound parameters keep their buffer, and so can be identified.
  std::string name_of(const Tensor& value) const {
    for (const auto& [name, tensor] : params_)
      if (tensor.bytes().data() == value.bytes().data()) return name;
    return {};
  }

  // A copy: the name may belong to a buffer, which moves when another one is added.
  BufferId constant_buffer(const Tensor& value, std::string name) {
    const BufferId id = add_buffer(value.type(), Place::kConstant);
    buffer(id).constant = value;
    buffer(id).comment = std::move(name);
    return id;
  }

  void pass_on(const Node& node, const Call&) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      held(node.first_output + static_cast<ValueId>(i)) = held(node.inputs[i]);
  }

  // The result is another view of the operand in memory.
  void show_as(const Node& node, const Held& operand, View view) {
    held(node.first_output) = in_memory(operand.buffer, std::move(view), operand.made_by);
  }

  void repeat(const Node& node, const Call& call) {
    const Held x = memory(node.inputs[0]);
    show_as(node, x, broadcast(x.view, call.outputs[0].shape));
  }

  void permute(const Node& node, const Call& call) {
    const Held x = memory(node.inputs[0]);
    show_as(node, x, transpose(x.view, call.attributes.get<List>("permutation")));
  }

  void cut(const Node& node, const Call& call) {
    const Held x = memory(node.inputs[0]);
    show_as(node, x,
            slice(x.view, call.attributes.get<List>("starts"), call.attributes.get<List>("strides"),
                  call.outputs[0].shape));
  }

  void change_shape(const Node& node, const Call& call) {
    Held& result = held(node.first_output);
    result = held(node.inputs[0]);
    if (result.buffer < 0) return;  // a local has no shape
    const Shape& to = call.outputs[0].shape;
    std::optional<View> view = reshape(result.view, to.dims());
    if (!view) {
      result = copied(result, call.inputs[0]);
      view = whole(to);
    }
    result.view = std::move(*view);
  }

  // ---- loops

  // The expression for a value in the loop at `step`, where it is readable.
  std::string operand(std::int32_t step, ValueId id) {
    if (held(id).loop == step) return fmt::format("t{}", held(id).local);
    const Held& h = memory(id);
    const Buffer& b = buffer(h.buffer);
    if (b.place == Place::kConstant && b.constant.elements() == 1) return literal_of(b.constant);
    Loop& l = loop(step);
    const Load wanted{h.buffer, *reshape(h.view, l.dims)};
    for (std::size_t i = 0; i < l.locals.size(); ++i)
      if (const auto* load = std::get_if<Load>(&l.locals[i]); load && *load == wanted)
        return fmt::format("t{}", i);
    l.locals.emplace_back(wanted);
    return fmt::format("t{}", l.locals.size() - 1);
  }

  // As an operand: with its own type, in parentheses if it has a sign.
  static std::string literal_of(const Tensor& value) {
    const std::string number = literal(value, 0);
    const Dtype d = value.dtype();
    if (d != Dtype::kF32 && d != Dtype::kF64 && d != Dtype::kBool)
      return fmt::format("{}{{{}}}", cpp_type(d), number);
    return number.front() == '-' ? "(" + number + ")" : number;
  }

  // Whether a value can be read in the loop at `step`.
  bool is_readable(std::int32_t step, const Held& h) {
    if (h.loop == step) return true;
    if (h.buffer < 0) return h.loop < step;
    return h.made_by < step && reshape(h.view, loop(step).dims);
  }

  // The latest loop that can compute the call, or a new one.
  std::int32_t loop_for(const Node& node, const Shape& shape) {
    for (std::int32_t step = last_step(); step >= 0; --step) {
      const Step& there = program_.steps[static_cast<std::size_t>(step)];
      // Neither out of a repetition nor into one.
      if (std::holds_alternative<Repeat>(there) || std::holds_alternative<Until>(there)) break;
      if (!std::holds_alternative<Loop>(there)) continue;
      const Loop& l = loop(step);
      if (Shape(l.dims).elements() != shape.elements()) continue;
      const bool fits = std::all_of(node.inputs.begin(), node.inputs.end(),
                                    [&](ValueId id) { return is_readable(step, held(id)); });
      if (fits) return step;
    }
    for (ValueId id : node.inputs) memory(id);
    program_.steps.push_back(Loop{{shape.begin(), shape.end()}, {}, {}});
    return last_step();
  }

  void add_element(const Node& node, const Call& call) {
    const std::int32_t step = loop_for(node, call.outputs[0].shape);
    std::vector<std::string> operands;
    for (ValueId id : node.inputs) operands.push_back(operand(step, id));
    Loop& l = loop(step);
    l.locals.emplace_back(Statement{call.outputs[0].dtype, *element_form(call, operands)});
    Held& h = held(node.first_output);
    h.loop = step;
    h.local = static_cast<std::int32_t>(l.locals.size()) - 1;
  }

  // ---- calls

  // Result r, which the next step writes.
  Argument result(const Node& node, const Call& call, std::size_t r = 0) {
    const BufferId id = add_buffer(call.outputs[r], Place::kWorkspace);
    held(node.first_output + static_cast<ValueId>(r)) =
        in_memory(id, whole(call.outputs[r].shape), last_step() + 1);
    return {id, 0, true};
  }

  void add_call(const Node& node, const Call& call, const CppCall& form) {
    CallStep step{form.function, {}};
    for (std::int64_t n : form.numbers) step.arguments.push_back({-1, n, false});
    for (ValueId id : node.inputs) step.arguments.push_back(contiguous(id));
    if (form.scratch > 0)
      step.arguments.push_back(
          {add_buffer({call.inputs[0].dtype, {form.scratch}}, Place::kWorkspace), 0, true});
    for (std::size_t r = 0; r < call.outputs.size(); ++r)
      step.arguments.push_back(result(node, call, r));
    program_.steps.push_back(std::move(step));
  }

  // The leading dimensions merged to one, if strides allow it.
  std::optional<View> as_matrices(const View& view, std::int64_t batch) {
    const std::size_t rank = view.dims.size();
    return reshape(view, List{batch, view.dims[rank - 2], view.dims[rank - 1]});
  }
  View matrices(ValueId id, Held& h, std::int64_t batch) {
    if (const std::optional<View> view = as_matrices(h.view, batch)) return *view;
    const Type& type = f_->type(id);
    h = copied(h, type);
    return *as_matrices(h.view, batch);
  }

  void multiply(const Node& node, const Call& call) {
    const Shape& c = call.outputs[0].shape;
    const std::size_t rank = c.rank();
    const std::int64_t batch = Shape(c.dims().first(rank - 2)).elements();
    Held a = memory(node.inputs[0]);
    Held b = memory(node.inputs[1]);
    View x = matrices(node.inputs[0], a, batch);
    View w = matrices(node.inputs[1], b, batch);
    const List swapped{0, 2, 1};
    if (call.attributes.get<bool>("transpose_a")) x = transpose(x, swapped);
    if (call.attributes.get<bool>("transpose_b")) w = transpose(w, swapped);
    // The inner loop runs over outputs, which should be contiguous.
    if (w.dims[2] > 1 && w.strides[2] != 1) pack(call.inputs[1].dtype, b, w);
    // Of up to so many terms a product is a function of its own.
    constexpr std::int64_t kSmall = std::int64_t{1} << 16;
    const bool small = product_or_most(c.elements(), x.dims[2]) <= kSmall;
    CallStep step{fmt::format("{}<{}>", small ? "multiply_here" : "multiply", terms_of(call)), {}};
    const auto number = [&](std::int64_t n) { step.arguments.push_back({-1, n, false}); };
    for (std::int64_t n : {batch, x.dims[1], x.dims[2], w.dims[2]}) number(n);
    step.arguments.push_back({a.buffer, x.offset, false});
    for (std::int64_t n : x.strides) number(n);
    step.arguments.push_back({b.buffer, w.offset, false});
    for (std::size_t d = 0; d < 2; ++d) number(w.strides[d]);
    step.arguments.push_back(result(node, call));
    program_.steps.push_back(std::move(step));
  }

  static std::string_view terms_of(const Call& call) {
    const Dtype w = call.inputs[1].dtype;
    return w == Dtype::kF32    ? "FusedF32"
           : w == Dtype::kF64  ? "FusedF64"
           : w == Dtype::kBf16 ? "FusedBf16"
                               : "WrappingI8";
  }

  // The matrices in row-major order: a constant is copied once, others in every run.
  void pack(Dtype dtype, Held& b, View& w) {
    const Type type{dtype, Shape(w.dims)};
    if (buffer(b.buffer).place != Place::kConstant) {
      b.view = w;
      b = copied(b, type);
    } else {
      const auto [found, fresh] = packed_.try_emplace({b.buffer, w.offset, w.dims, w.strides}, -1);
      if (fresh) found->second = packed_constant(type, b.buffer, w);
      b = in_memory(found->second, whole(type.shape), -1);
    }
    w = b.view;
  }

  BufferId packed_constant(const Type& type, BufferId from, const View& w) {
    const Tensor source = buffer(from).constant;
    const std::size_t size = size_of(type.dtype);
    const Tensor packed = Tensor::generate_bytes(type, [&](std::span<std::byte> out) {
      std::byte* to = out.data();
      for (std::int64_t m = 0; m < w.dims[0]; ++m)
        for (std::int64_t i = 0; i < w.dims[1]; ++i)
          for (std::int64_t j = 0; j < w.dims[2]; ++j, to += size)
            std::memcpy(to,
                        source.bytes().data() +
                            static_cast<std::size_t>(w.offset + m * w.strides[0] +
                                                     i * w.strides[1] + j * w.strides[2]) *
                                size,
                        size);
    });
    return constant_buffer(packed, buffer(from).comment);
  }

  // ---- copies into a part of the result

  void concatenate(const Node& node, const Call& call) {
    const auto axis = static_cast<std::size_t>(call.attributes.integer("axis"));
    const View all = whole(call.outputs[0].shape);
    std::vector<Held> parts;
    for (ValueId id : node.inputs) parts.push_back(memory(id));
    const Argument out = result(node, call);
    View part = all;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      part.dims = parts[i].view.dims;
      add_copy(parts[i], {out.buffer, part});
      part.offset += part.dims[axis] * part.strides[axis];
    }
    held(node.first_output).made_by = last_step();
  }

  void pad(const Node& node, const Call& call) {
    const Held x = memory(node.inputs[0]);
    const Argument out = result(node, call);
    View part = whole(call.outputs[0].shape);
    const std::string value = literal_of(pad_value(call));
    program_.steps.push_back(
        Loop{part.dims, {Statement{call.outputs[0].dtype, value}}, {{0, out.buffer, part}}});
    for (std::size_t d = 0; d < part.dims.size(); ++d) {
      part.offset += call.attributes.get<List>("low")[d] * part.strides[d];
      if (x.view.dims[d] > 1) part.strides[d] *= call.attributes.get<List>("interior")[d] + 1;
    }
    part.dims = x.view.dims;
    add_copy(x, {out.buffer, part});
    held(node.first_output).made_by = last_step();
  }

  static Tensor pad_value(const Call& call) {
    const Type scalar{call.outputs[0].dtype, {}};
    const Type nothing{scalar.dtype, {0}};
    const List one{1}, none{0};
    const Attributes attributes{{"high", one},
                                {"interior", none},
                                {"low", none},
                                {"value", call.attributes.get<double>("value")}};
    const Type result{scalar.dtype, {1}};
    const Tensor empty = Tensor::zeros(nothing);
    return interpret_call({op::pad, {&nothing, 1}, {&result, 1}, attributes, {}}, {&empty, 1})[0];
  }

  // ---- loops over time

  // A part of the value for each time: its elements along the first dimension.
  Held part_of(const Held& value, const Type& type) {
    const BufferId id = add_buffer({type.dtype, type.shape.erase(0)}, Place::kPart);
    buffer(id).whole = value.buffer;
    buffer(id).stride = value.view.strides[0];
    View view = value.view;
    view.dims.erase(view.dims.begin());
    view.strides.erase(view.strides.begin());
    return in_memory(id, std::move(view), last_step());
  }

  // A scan becomes a loop. The carry has buffers of its own; the last steps of the loop write it.
  void run_steps(const Node& node, const Call& call) {
    const Function body = body_of(node);
    const auto carries = static_cast<std::size_t>(node.attributes.integer("carries"));
    const auto scanned = static_cast<std::size_t>(node.attributes.integer("scanned"));
    std::vector<Held> inside;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Held h = memory(node.inputs[i]);
      inside.push_back(i < carries ? copied(h, call.inputs[i]) : h);
    }
    const std::vector<Held> carry(inside.begin(),
                                  inside.begin() + static_cast<std::ptrdiff_t>(carries));
    std::vector<Held> stacked;
    for (std::size_t r = carries; r < call.outputs.size(); ++r)
      stacked.push_back(in_memory(add_buffer(call.outputs[r], Place::kWorkspace),
                                  whole(call.outputs[r].shape), last_step()));

    program_.steps.push_back(
        Repeat{node.attributes.integer("length"), node.attributes.get<bool>("reverse"), {}});
    const std::int32_t begin = last_step();
    std::vector<BufferId> parts;
    const auto part = [&](const Held& h, const Type& type) {
      const Held made = part_of(h, type);
      parts.push_back(made.buffer);
      return made;
    };
    for (std::size_t i = carries; i < carries + scanned; ++i)
      inside[i] = part(inside[i], call.inputs[i]);
    for (Held& h : inside) h.made_by = begin;
    std::vector<Held> results;
    for (std::size_t r = 0; r < stacked.size(); ++r)
      results.push_back(part(stacked[r], call.outputs[carries + r]));
    std::get<Repeat>(program_.steps[static_cast<std::size_t>(begin)]).parts = parts;
    lower_body(body, inside, carry, results);
    program_.steps.push_back(Until{});

    for (std::size_t r = 0; r < call.outputs.size(); ++r) {
      Held& h = held(node.first_output + static_cast<ValueId>(r));
      h = r < carries ? carry[r] : stacked[r - carries];
      h.made_by = last_step();
    }
  }

  // The steps of a body, with copies of its outputs at their end.
  void lower_body(const Function& body, const std::vector<Held>& inputs,
                  const std::vector<Held>& carry, const std::vector<Held>& results) {
    const Function* const outer = std::exchange(f_, &body);
    std::vector<Held> outer_held = std::exchange(held_, inputs);
    held_.resize(f_->types().size());
    lower_nodes();
    const auto output = [&](std::size_t i) { return f_->outputs()[i].value; };
    const auto copy_to = [&](const Held& from, const Held& to) {
      add_copy(from, {to.buffer, to.view});
    };
    for (std::size_t r = 0; r < results.size(); ++r)
      copy_to(memory(output(carry.size() + r)), results[r]);
    // A part of the carry may be made of another one, which must not be written before.
    std::vector<Held> next;
    for (std::size_t i = 0; i < carry.size(); ++i) {
      Held h = memory(output(i));
      const bool stays = h.buffer == carry[i].buffer && h.view == carry[i].view;
      const bool is_carry = std::any_of(carry.begin(), carry.end(),
                                        [&](const Held& c) { return c.buffer == h.buffer; });
      if (is_carry && !stays) h = copied(h, f_->type(output(i)));
      next.push_back(std::move(h));
    }
    for (std::size_t i = 0; i < carry.size(); ++i)
      if (next[i].buffer != carry[i].buffer) copy_to(next[i], carry[i]);
    f_ = outer;
    held_ = std::move(outer_held);
  }

  // ---- outputs

  void write_output(ValueId id) {
    const Held h = memory(id);
    const Buffer& b = buffer(h.buffer);
    const bool all_of_it = is_contiguous(h.view) && h.view.offset == 0 &&
                           b.type.shape.elements() == f_->type(id).shape.elements();
    if (b.place == Place::kWorkspace && all_of_it) {
      buffer(h.buffer).place = Place::kOutput;
      program_.outputs.push_back(h.buffer);
    } else {
      program_.outputs.push_back(copy(h, f_->type(id), Place::kOutput));
    }
  }

  Function whole_;
  const Function* f_ = &whole_;  // it, or a body in it
  const Params& params_;
  Program program_;
  std::vector<Held> held_;
  std::map<std::tuple<BufferId, std::int64_t, List, List>, BufferId> packed_;
};

}  // namespace

Program lower(const Function& function, const Params& params) {
  return Lowering(function, params).run();
}

}  // namespace limpid::emit
