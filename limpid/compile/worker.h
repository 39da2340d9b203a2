// One thread's view of a running plan. Steps and their programs access memory only through it.
#pragma once

#include <algorithm>

#include "limpid/compile/plan.h"

namespace limpid::detail {

using kernels::Range;

struct Worker {
  const Plan& plan;
  void* const* slots;         // the addresses that run() received
  std::byte* scratch;         // of this thread
  std::ptrdiff_t beyond = 0;  // bytes from the first thread's band memory to this thread's
  std::size_t band_row = 0;   // the first row in the band memory

  template <class T>
  T* at(SlotId id) const {
    auto* const address = static_cast<std::byte*>(slots[static_cast<std::size_t>(id)]);
    return reinterpret_cast<T*>(beyond == 0 && band_row == 0 ? address : moved(address, id));
  }

  float* floats() const { return reinterpret_cast<float*>(scratch); }
  // From this unit on.
  std::byte* buffer(std::int32_t unit) const {
    return scratch + static_cast<std::size_t>(unit) * kBufferUnit;
  }

 private:
  // For band memory: the address that row 0 would have.
  std::byte* moved(std::byte* address, SlotId id) const {
    const Slot& slot = plan.slots[static_cast<std::size_t>(id)];
    if (slot.place != Place::kBand) return address;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it may lie outside of the memory
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) +
                                        static_cast<std::uintptr_t>(beyond) -
                                        band_row * slot.row_bytes);
  }
};

// Part `piece` of [0, size), which is split at multiples of `unit`.
inline Range part(std::size_t size, std::size_t unit, std::size_t piece, std::size_t pieces) {
  const std::size_t units = (size + unit - 1) / unit;
  return {std::min(size, units * piece / pieces * unit),
          std::min(size, units * (piece + 1) / pieces * unit)};
}

// Runs a program on the elements [begin, end).
void run_program(const Program& program, const Worker& worker, std::size_t begin, std::size_t end);

// The part of a result to compute: rows x columns of matrix `item`. Passed by reference: two ranges
// on the stack would be written in halves and read whole, so that store forwarding fails, which
// costs a tenth of the time of a small network.
struct Area {
  std::size_t item;
  Range rows, columns;
};
// Runs the program of a step on an area of its result, whose matrices are `rows` x `width`.
void run_behind(const Step& step, const Worker& worker, const Area& area, std::size_t rows,
                std::size_t width);

// Runs a piece of a step, and of its program.
void run_piece(const Step& step, const Worker& worker, Piece piece);

// Runs the part of a step for `rows` of the `all_rows` of its band.
void run_rows(const Step& step, const Worker& worker, Range rows, std::size_t all_rows);

}  // namespace limpid::detail
