// One thread's view of a plan at work. Steps and their programs reach memory through it alone.
#pragma once

#include <algorithm>

#include "limpid/compile/plan.h"

namespace limpid::detail {

using kernels::Range;

struct Worker {
  const Plan& plan;
  void* const* slots;         // as run() was given them
  std::byte* scratch;         // of this thread
  std::ptrdiff_t beyond = 0;  // from the first thread's memory of a band to this thread's
  std::size_t band_row = 0;   // the first row that the memory of a band holds

  template <class T>
  T* at(SlotId id) const {
    auto* const address = static_cast<std::byte*>(slots[static_cast<std::size_t>(id)]);
    return reinterpret_cast<T*>(beyond == 0 && band_row == 0 ? address : moved(address, id));
  }

  float* floats() const { return reinterpret_cast<float*>(scratch); }
  std::byte* buffer(std::int32_t b) const {
    return scratch + static_cast<std::size_t>(b) * kChunk * 4;
  }

 private:
  // In a band's memory: where row 0 would be, were it there.
  std::byte* moved(std::byte* address, SlotId id) const {
    const Slot& slot = plan.slots[static_cast<std::size_t>(id)];
    if (slot.place != Place::kBand) return address;
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) +
                                        static_cast<std::uintptr_t>(beyond) -
                                        band_row * slot.row_bytes);
  }
};

// Part `piece` of [0, size), cut at multiples of `unit`.
inline Range part(std::size_t size, std::size_t unit, std::size_t piece, std::size_t pieces) {
  const std::size_t units = (size + unit - 1) / unit;
  return {std::min(size, units * piece / pieces * unit),
          std::min(size, units * (piece + 1) / pieces * unit)};
}

// Elements [begin, end) of a program.
void run_program(const Program& program, const Worker& worker, std::size_t begin, std::size_t end);

// What is worked on: rows x columns of matrix `item` of a result. Passed by reference, since two
// ranges on the stack would be written in halves and read whole, which a CPU does not forward: that
// wait would be a tenth of the time of a small network.
struct Area {
  std::size_t item;
  Range rows, columns;
};
// The program behind an area of a result of matrices of `rows` x `width`.
void run_behind(const Step& step, const Worker& worker, const Area& area, std::size_t rows,
                std::size_t width);

// A piece of a step, and of its program.
void run_piece(const Step& step, const Worker& worker, Piece piece);

// The part of a step that belongs to `rows` of the `all_rows` of its band.
void run_rows(const Step& step, const Worker& worker, Range rows, std::size_t all_rows);

}  // namespace limpid::detail
