#include "limpid/serve/deferred_posts.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace limpid::serve {
namespace {

struct Kept {
  std::shared_ptr<Receiver> receiver;
  Receiver::Tasks tasks = {};
};

thread_local std::optional<std::vector<Kept>> kept_tasks;
thread_local std::uint64_t rounds = 0;

}  // namespace

DeferredPosts::DeferredPosts() {
  kept_tasks.emplace();
  ++rounds;
}

DeferredPosts::~DeferredPosts() {
  std::vector<Kept> all = *std::exchange(kept_tasks, std::nullopt);
  for (Kept& kept : all) kept.receiver->post(std::move(kept.tasks));
}

std::uint64_t DeferredPosts::round() { return kept_tasks ? rounds : 0; }

void DeferredPosts::post(const std::shared_ptr<Receiver>& receiver, std::function<void()> task) {
  Receiver::Tasks one;
  one.push_back(std::move(task));
  if (!kept_tasks) return receiver->post(std::move(one));
  auto found = std::find_if(kept_tasks->begin(), kept_tasks->end(),
                            [&](const Kept& kept) { return kept.receiver == receiver; });
  if (found == kept_tasks->end()) found = kept_tasks->insert(found, {receiver});
  found->tasks.splice(found->tasks.end(), one);
}

}  // namespace limpid::serve
