// The tables, one for every instruction set that this CPU runs.
#include "limpid/kernels/kernels.h"

#include "limpid/kernels/cache_sizes.h"
#include "limpid/kernels/families.h"

namespace limpid::kernels {
namespace {

Kernels make_table(Isa isa) {
  Kernels table{};
  table.isa = isa;
  fill_element(table);
  fill_random(table);
  fill_matmul(table);
  fill_bf16(table);
  fill_i8(table);
  fill_rows(table);
  fill_windows(table);
  fill_norms(table);
  fill_update(table);
  fill_attention(table);
  return table;
}

}  // namespace

const Kernels& kernels(Isa isa) {
  // Only for instruction sets of this CPU: even the code that fills a table is compiled for its
  // set.
  static const std::array<Kernels, 4> tables = [] {
    // Asked here once, so that no kernel makes a system call or takes a lock later.
    second_level_cache_bytes();
    std::array<Kernels, 4> all{};
    for (const Isa available : available_isas())
      all[static_cast<std::size_t>(available)] = make_table(available);
    return all;
  }();
  return tables[static_cast<std::size_t>(isa)];
}

}  // namespace limpid::kernels
