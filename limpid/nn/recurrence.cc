// The steps of recurrent layers, and a scan over them.
#include "limpid/nn/detail/recurrence.h"

#include "limpid/ops/ops.h"
#include "limpid/transforms/scan.h"

namespace limpid::nn::detail {
namespace {

Value clipped(const Recurrence& r, const Value& x) {
  return r.clip > 0 ? clamp(x, -r.clip, r.clip) : x;
}
Value gate(const Recurrence& r, const Value& x) {
  return r.activations[0] ? r.activations[0](clipped(r, x)) : sigmoid(clipped(r, x));
}
Value candidate(const Recurrence& r, const Value& x) {
  return r.activations[1] ? r.activations[1](clipped(r, x)) : tanh(clipped(r, x));
}

// Part i of `parts` along the last dimension.
Value part(const Value& x, std::int64_t i, std::int64_t parts) {
  const std::int64_t size = x.shape().back() / parts;
  return slice(x, static_cast<std::int64_t>(x.rank()) - 1, i * size, (i + 1) * size);
}
// Rows [begin, end) of a weight or bias, in parts of H.
Value rows(const Value& w, std::int64_t begin, std::int64_t end, std::int64_t parts) {
  const std::int64_t size = w.shape()[0] / parts;
  return slice(w, 0, begin * size, end * size);
}

RecurrentState lstm_step(const Recurrence& r, const Value& gates, const RecurrentState& s) {
  const Value all = gates + linear(s.h, r.w_hh, r.b_hh);
  const auto peep = [&](std::int64_t i, const Value& c) {
    const Value from_x = part(all, i == 2 ? 3 : i, 4);
    return r.peepholes ? from_x + broadcast(rows(r.peepholes, i, i + 1, 3), c.shape()) * c : from_x;
  };
  const Value i = gate(r, peep(0, s.c));
  const Value f = r.input_forget ? 1.0 - i : gate(r, peep(1, s.c));
  const Value c = f * s.c + i * candidate(r, part(all, 2, 4));
  const Value o = gate(r, peep(2, c));
  return {o * (r.activations[2] ? r.activations[2](c) : tanh(c)), c};
}

// Named, as compilers differ in which operand of a sum they make first, and a hash has the order.
Value sum_of_parts(const Value& gates, const Value& from_h, std::int64_t i, std::int64_t count) {
  const Value right = part(from_h, i, count);
  return part(gates, i, 3) + right;
}

RecurrentState gru_step(const Recurrence& r, const Value& gates, const RecurrentState& s) {
  const Value n_x = part(gates, 2, 3);
  if (r.reset_after) {
    const Value from_h = linear(s.h, r.w_hh, r.b_hh);
    const Value reset = gate(r, sum_of_parts(gates, from_h, 0, 3));
    const Value z = gate(r, sum_of_parts(gates, from_h, 1, 3));
    const Value n = candidate(r, n_x + reset * part(from_h, 2, 3));
    return {(1.0 - z) * n + z * s.h, {}};
  }
  const auto bias = [&](std::int64_t begin, std::int64_t end) {
    return r.b_hh ? rows(r.b_hh, begin, end, 3) : Value();
  };
  const Value from_h = linear(s.h, rows(r.w_hh, 0, 2, 3), bias(0, 2));
  const Value reset = gate(r, sum_of_parts(gates, from_h, 0, 2));
  const Value z = gate(r, sum_of_parts(gates, from_h, 1, 2));
  const Value n = candidate(r, n_x + linear(reset * s.h, rows(r.w_hh, 2, 3, 3), bias(2, 3)));
  return {(1.0 - z) * n + z * s.h, {}};
}

// For each example, whether its step t is within its length, in the shape of its state.
Value is_within(const Value& t, const Value& lengths, const Shape& state) {
  const Value within = broadcast(t, lengths.shape()) < lengths;
  return broadcast(reshape(within, lengths.shape().insert(lengths.rank(), 1)), state);
}

}  // namespace

std::int64_t gates_of(Recurrent kind) {
  return kind == Recurrent::kLstm ? 4 : kind == Recurrent::kGru ? 3 : 1;
}

RecurrentState step_of(const Recurrence& r, const Value& gates, const RecurrentState& state) {
  switch (r.kind) {
    case Recurrent::kLstm:
      return lstm_step(r, gates, state);
    case Recurrent::kGru:
      return gru_step(r, gates, state);
    case Recurrent::kRnn:
      break;
  }
  return {candidate(r, gates + linear(state.h, r.w_hh, r.b_hh)), {}};
}

RecurrentRun run_recurrence(const Recurrence& r, const Value& x, const RecurrentState& first,
                            const Value& lengths) {
  const Value gates = linear(x, r.w_ih, r.b_ih);
  const bool lstm = r.kind == Recurrent::kLstm;
  std::vector<Value> carry{first.h}, parts{gates};
  if (lstm) carry.push_back(first.c);
  if (lengths) parts.push_back(iota(x.builder(), x.shape()[0]));
  Builder builder("step", innermost(parts, "recurrence"));
  std::vector<Value> in;
  for (const Type& type : limpid::detail::step_types(carry, parts))
    in.push_back(builder.input(std::to_string(in.size()), type));
  const RecurrentState before{in[0], lstm ? in[1] : Value()};
  RecurrentState after = step_of(r, in[carry.size()], before);
  Value y = after.h;
  if (lengths) {
    const Value within = is_within(in.back(), lengths, y.shape());
    y = select(within, y, number_like(y, 0));
    after.h = select(within, after.h, before.h);
    if (lstm) after.c = select(within, after.c, before.c);
  }
  std::vector<Value> out{after.h};
  if (lstm) out.push_back(after.c);
  out.push_back(y);
  const Function step = builder.finish(out);
  const Scanned all = scan(step, carry, parts, builder.captured(), {.reverse = r.reverse});
  return {all.stacked[0], {all.carry[0], lstm ? all.carry[1] : Value()}};
}

}  // namespace limpid::nn::detail
