// Runs steps, and element-wise programs chunk after chunk.
#include <array>
#include <cstring>

#include "limpid/compile/worker.h"

namespace limpid::detail {
namespace {

// Loads four-byte lanes unchanged; booleans become masks.
struct Source {
  const std::byte* data;
  bool is_bool;

  std::uint32_t lane(std::size_t i) const {
    if (is_bool) return reinterpret_cast<const std::uint8_t*>(data)[i] ? ~0u : 0u;
    std::uint32_t bits;
    std::memcpy(&bits, data + i * 4, 4);
    return bits;
  }
};

// Lanes [begin, begin + n) of a repeated operand.
void fill_repeated(const Source& source, const LaneInput& input, std::size_t begin, std::size_t n,
                   std::uint32_t* out) {
  // Divided once: a run may have as few elements as a division takes cycles.
  std::size_t element = begin / input.inner % input.period;
  std::size_t done = 0;
  if (input.inner == 1) {
    while (done < n) {
      const std::size_t run = std::min(input.period - element, n - done);
      if (source.is_bool)
        for (std::size_t k = 0; k < run; ++k) out[done + k] = source.lane(element + k);
      else
        std::memcpy(out + done, source.data + element * 4, run * 4);
      done += run;
      element = 0;
    }
    return;
  }
  std::size_t left = input.inner - begin % input.inner;
  while (done < n) {
    const std::size_t run = std::min(left, n - done);
    std::fill_n(out + done, run, source.lane(element));
    done += run;
    left = input.inner;
    if (++element == input.period) element = 0;
  }
}

class ProgramRun {
 public:
  ProgramRun(const Program& program, const Worker& worker) : program_(program), worker_(worker) {}

  void run(std::size_t begin, std::size_t end) const {
    if (program_.is_one_call()) return chunk(begin, end - begin);
    for (const std::int32_t r : program_.filled_once)
      fill(static_cast<std::size_t>(r), begin, std::min(kChunk, end - begin));
    for (std::size_t i = begin; i < end; i += kChunk) {
      const std::size_t next = std::min(i + kChunk, end);
      if (next < end) fetch(next, std::min(kChunk, end - next));
      chunk(i, next - i);
    }
  }

 private:
  Source source(std::size_t r) const {
    const SlotId slot = program_.inputs[r].slot;
    const Dtype dtype = worker_.plan.slots[static_cast<std::size_t>(slot)].type.dtype;
    return {worker_.at<const std::byte>(slot), dtype == Dtype::kBool};
  }

  void fill(std::size_t r, std::size_t begin, std::size_t n) const {
    auto* out = reinterpret_cast<std::uint32_t*>(lanes(r, begin));
    const Source from = source(r);
    if (program_.inputs[r].is_full(program_.elements))
      worker_.plan.kernels->bool_to_mask(reinterpret_cast<const std::uint8_t*>(from.data) + begin,
                                         n, out);
    else
      fill_repeated(from, program_.inputs[r], begin, n, out);
  }

  // The lanes of a register for the chunk that begins at element `begin`.
  std::byte* lanes(std::size_t r, std::size_t begin) const {
    const std::int32_t place = program_.places[r];
    return place >= 0 ? worker_.at<std::byte>(place) + begin * 4 : worker_.buffer(~place);
  }

  // Prefetches what the chunk that begins at element `begin` reads from its slots: the hardware
  // prefetcher does not recognise short reads from many slots in turn.
  void fetch(std::size_t begin, std::size_t n) const {
    constexpr std::size_t kLine = 64;
    for (std::size_t r = 0; r < program_.inputs.size(); ++r) {
      if (program_.places[r] < 0) continue;
      const std::byte* const from = lanes(r, begin);
      for (std::size_t at = 0; at < n * 4; at += kLine) __builtin_prefetch(from + at, 0, 2);
    }
  }

  void chunk(std::size_t begin, std::size_t n) const {
    for (const std::int32_t r : program_.filled) fill(static_cast<std::size_t>(r), begin, n);
    std::size_t result = program_.inputs.size();
    for (const Instruction& in : program_.instructions) execute(in, result++, begin, n);
    for (const LaneOutput& o : program_.stored) store(o, begin, n);
  }

  void execute(const Instruction& in, std::size_t result, std::size_t begin, std::size_t n) const {
    std::byte* out = lanes(result, begin);
    if (!in.function) {
      std::uint64_t key;
      std::memcpy(&key, worker_.at<const std::byte>(in.key), sizeof key);
      worker_.plan.kernels->random_bits(key, begin, n, reinterpret_cast<std::int32_t*>(out));
      return;
    }
    const void* operands[3] = {nullptr, nullptr, nullptr};
    for (std::int32_t o = 0; o < in.count; ++o)
      operands[o] =
          lanes(static_cast<std::size_t>(in.operands[static_cast<std::size_t>(o)]), begin);
    in.function(out, operands[0], operands[1], operands[2], n);
  }

  void store(const LaneOutput& o, std::size_t begin, std::size_t n) const {
    const std::byte* from = lanes(static_cast<std::size_t>(o.reg), begin);
    auto* to = worker_.at<std::byte>(o.slot);
    if (worker_.plan.slots[static_cast<std::size_t>(o.slot)].type.dtype == Dtype::kBool)
      worker_.plan.kernels->mask_to_bool(reinterpret_cast<const std::uint32_t*>(from), n,
                                         reinterpret_cast<std::uint8_t*>(to) + begin);
    else
      std::memcpy(to + begin * 4, from, n * 4);
  }

  const Program& program_;
  const Worker& worker_;
};

}  // namespace

void run_program(const Program& program, const Worker& worker, std::size_t begin, std::size_t end) {
  ProgramRun(program, worker).run(begin, end);
}

void run_behind(const Step& step, const Worker& worker, const Area& area, std::size_t rows,
                std::size_t width) {
  if (step.program.empty()) return;
  const std::size_t first = area.item * rows * width;
  const auto run = [&](std::size_t begin, std::size_t end) {
    run_program(step.program, worker, first + begin, first + end);
  };
  if (area.columns.begin == 0 && area.columns.end == width)
    return run(area.rows.begin * width, area.rows.end * width);
  for (std::size_t r = area.rows.begin; r < area.rows.end; ++r)
    run(r * width + area.columns.begin, r * width + area.columns.end);
}

void run_piece(const Step& step, const Worker& worker, Piece piece) {
  if (step.root) return step.root->run(step, worker, piece);
  const Range lanes = part(step.program.elements, 64, piece.index, piece.count);
  run_program(step.program, worker, lanes.begin, lanes.end);
}

void run_rows(const Step& step, const Worker& worker, Range rows, std::size_t all_rows) {
  if (step.root) return step.root->run_rows(step, worker, rows, all_rows);
  const std::size_t width = step.program.elements / all_rows;
  run_program(step.program, worker, rows.begin * width, rows.end * width);
}

}  // namespace limpid::detail
