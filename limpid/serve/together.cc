#include "limpid/serve/together.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace limpid::serve {
namespace {

struct Receiver {
  const void* address = nullptr;
  Together::Post post = {};
  std::vector<Together::Task> tasks = {};
};

thread_local std::optional<std::vector<Receiver>> receivers;

}  // namespace

Together::Together() { receivers.emplace(); }

Together::~Together() {
  std::vector<Receiver> all = *std::exchange(receivers, std::nullopt);
  for (Receiver& receiver : all)
    receiver.post([tasks = std::move(receiver.tasks)] {
      for (const Task& task : tasks) task();
    });
}

void Together::hand_over(const void* receiver, const Post& post, Task task) {
  if (!receivers) return post(std::move(task));
  auto found = std::find_if(receivers->begin(), receivers->end(),
                            [&](const Receiver& r) { return r.address == receiver; });
  if (found == receivers->end()) found = receivers->insert(found, {receiver, post});
  found->tasks.push_back(std::move(task));
}

}  // namespace limpid::serve
