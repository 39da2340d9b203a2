// Numbers as readable text. Depends on dtype.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limpid/core/dtype.h"

namespace limpid {

// With thousands separators: "235,146".
std::string grouped(std::int64_t number);
// "1 example", "2 examples".
std::string counted(std::int64_t count, std::string_view noun);
// At most six significant digits: "1.94", "-0.000123457", "nan".
std::string short_number(double number);
// The number, a NaN without its sign: fmt would print it, and what has it differs between machines.
double unsigned_nan(double number);
// The fewest digits that read back as the same number of that dtype (f32 or f64).
std::string exact_number(double number, Dtype dtype);
// The f64 that prints with the same digits as a finite f32. Written as JSON it is short, and reads
// back as the same f32.
double as_printed(float number);
// The f64 with the fewest digits that rounds to the same finite 16-bit number.
double as_printed(Bf16 number);
double as_printed(F16 number);

}  // namespace limpid
