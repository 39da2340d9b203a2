// The families of kernels: each fills its part of the table, for the instruction set table.isa.
#pragma once

#include "limpid/kernels/kernels.h"

namespace limpid::kernels {

void fill_element(Kernels& table);
void fill_random(Kernels& table);
void fill_matmul(Kernels& table);
void fill_bf16(Kernels& table);
void fill_i8(Kernels& table);
void fill_rows(Kernels& table);
void fill_windows(Kernels& table);
void fill_norms(Kernels& table);
void fill_update(Kernels& table);
void fill_attention(Kernels& table);

}  // namespace limpid::kernels
