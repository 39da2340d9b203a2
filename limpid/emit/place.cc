// Placement of the intermediate buffers in the workspace.
#include <algorithm>
#include <limits>

#include "limpid/emit/detail/program.h"

namespace limpid::emit {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t room_of(const Buffer& buffer) {
  return (buffer.type.bytes() + kAlignment - 1) / kAlignment * kAlignment;
}

struct Life {
  std::size_t first = std::numeric_limits<std::size_t>::max();
  std::size_t last = 0;

  bool meets(const Life& other) const { return first <= other.last && other.first <= last; }
};

std::vector<Life> lives_of(const Program& program) {
  std::vector<Life> lives(program.buffers.size());
  std::vector<std::size_t> open;  // the repetitions around a step
  const auto life_of = [&](BufferId id) -> Life& { return lives[static_cast<std::size_t>(id)]; };
  for (std::size_t s = 0; s < program.steps.size(); ++s)
    for_each_buffer(program.steps[s], [&](BufferId id) {
      Life& life = life_of(id);
      life.first = std::min(life.first, s);
      life.last = s;
    });
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (std::holds_alternative<Repeat>(program.steps[s])) open.push_back(s);
    if (!std::holds_alternative<Until>(program.steps[s])) continue;
    // Inner repetitions come first. What a time leaves for another one, or for what is around the
    // repetition, lives throughout it; so does what has parts.
    const Life whole{open.back(), s};
    open.pop_back();
    for (Life& life : lives)
      if (life.meets(whole) && (life.first < whole.first || life.last > whole.last))
        life = {std::min(life.first, whole.first), std::max(life.last, whole.last)};
    for (const BufferId part : std::get<Repeat>(program.steps[whole.first]).parts) {
      Life& life = life_of(program.buffers[static_cast<std::size_t>(part)].whole);
      life = {std::min(life.first, whole.first), std::max(life.last, whole.last)};
    }
  }
  return lives;
}

}  // namespace

// Largest first, each at the lowest offset that overlaps no buffer alive at the same time.
void place(Program& program) {
  const std::vector<Life> lives = lives_of(program);
  std::vector<std::size_t> order;
  for (std::size_t b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].place == Place::kWorkspace) order.push_back(b);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return program.buffers[a].type.bytes() > program.buffers[b].type.bytes();
  });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t b : order) {
    Buffer& buffer = program.buffers[b];
    for (const std::size_t other : placed) {
      const Buffer& there = program.buffers[other];
      const std::size_t end = there.offset + room_of(there);
      if (lives[b].meets(lives[other]) && there.offset < buffer.offset + room_of(buffer) &&
          buffer.offset < end)
        buffer.offset = end;
    }
    const auto at = std::upper_bound(placed.begin(), placed.end(), buffer.offset,
                                     [&](std::size_t offset, std::size_t other) {
                                       return offset < program.buffers[other].offset;
                                     });
    placed.insert(at, b);
    program.workspace_bytes = std::max(program.workspace_bytes, buffer.offset + room_of(buffer));
  }
}

}  // namespace limpid::emit
