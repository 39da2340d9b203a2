// An optimiser's step, in one pass over what it reads and writes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/update.cc"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

struct Adam {
  V parameter, mean, square;
};

HWY_INLINE Adam adam(const AdamUpdate& u, V parameter, V gradient, V mean, V square) {
  const V g = hn::Mul(gradient, set(u.gradient_scale));
  mean = hn::Add(hn::Mul(mean, set(u.beta1)), hn::Mul(g, set(u.rest1)));
  square = hn::Add(hn::Mul(square, set(u.beta2)), hn::Mul(hn::Mul(g, g), set(u.rest2)));
  const V size = hn::Add(hn::Div(hn::Sqrt(square), set(u.root)), set(u.eps));
  const V step = hn::Mul(set(u.step_size), hn::Div(mean, size));
  return {hn::Sub(hn::Mul(parameter, set(u.decay)), step), mean, square};
}

void adam_update(const AdamUpdate& update, Range elements) {
  const AdamUpdate u = update;  // a copy: the compiler knows that no result overwrites it
  std::size_t i = elements.begin;
  for (; i + kLanes <= elements.end; i += kLanes) {
    const Adam next =
        adam(u, load(u.parameter + i), load(u.gradient + i), load(u.mean + i), load(u.square + i));
    store(next.parameter, u.new_parameter + i);
    store(next.mean, u.new_mean + i);
    store(next.square, u.new_square + i);
  }
  const std::size_t n = elements.end - i;
  if (n == 0) return;
  const Adam next = adam(u, load_n(u.parameter + i, n), load_n(u.gradient + i, n),
                         load_n(u.mean + i, n), load_n(u.square + i, n));
  store_n(next.parameter, u.new_parameter + i, n);
  store_n(next.mean, u.new_mean + i, n);
  store_n(next.square, u.new_square + i, n);
}

void fill_update(Kernels& table) { table.adam_update = adam_update; }

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_update(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_update(table)) }

}  // namespace limpid::kernels
#endif
