// The cost of messages that are sent while the ranks compute (SCALE.md, "Overlap"). A pause of
// fixed length stands for the computation, so that only the network and its software are measured:
//
//   mpirun -n 2 overlap_bench ELEMENTS SHARDS MILLISECONDS STEPS
//
// sums SHARDS vectors, each after a pause of MILLISECONDS, and then exchanges the parts of the
// result, as a training step does. It compares in turns:
//   * all messages after the last pause;
//   * each subtree as soon as it is complete, as training does;
//   * with one shard per rank, the limit of overlap with a backward pass: the backward pass takes
//     two thirds of the pause, and each eighth of the vector is sent after an eighth of it.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "limpid/distribute/launched_ranks.h"
#include "limpid/distribute/reduction.h"

namespace {

namespace ld = limpid::distribute;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::size_t kBuckets = 8;

double cpu_milliseconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) * 1e-3;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// Equal parts of `count` elements after `first`, by rank.
std::vector<ld::ElementRange> parts_of(std::size_t first, std::size_t count, int ranks) {
  std::vector<ld::ElementRange> parts;
  const auto size = static_cast<std::size_t>(ranks);
  for (std::size_t r = 0; r < size; ++r)
    parts.push_back({first + count * r / size, first + count * (r + 1) / size});
  return parts;
}

class Steps {
 public:
  Steps(ld::Communicator& ranks, std::size_t elements, std::int64_t shards, double milliseconds)
      : ranks_(ranks),
        pause_(milliseconds),
        parts_(parts_of(0, elements, ranks.size())),
        sum_(&ranks, {shards, parts_, elements, 1}),
        from_(elements),
        into_(elements * static_cast<std::size_t>(ranks.size())) {}

  bool has_one_shard() const { return sum_.shards().size() == 1; }

  void after() {
    for (std::int64_t i = 0; i < sum_.shards().size(); ++i) std::this_thread::sleep_for(pause_);
    sum_.begin();
    for (std::int64_t s = sum_.shards().end; s-- > sum_.shards().begin;) sum_.add(s, zeros());
    gather(sum_.finish().part);
  }

  void subtrees() {
    sum_.begin();
    for (std::int64_t s = sum_.shards().end; s-- > sum_.shards().begin;) {
      std::this_thread::sleep_for(pause_);
      sum_.add(s, zeros());
    }
    gather(sum_.finish().part);
  }

  // Without the additions.
  void backward() {
    for (std::size_t b = 0; b < kBuckets; ++b) start(b, false);
    std::this_thread::sleep_for(pause_ / 3);
    for (std::size_t b = 0; b < kBuckets; ++b) {
      std::this_thread::sleep_for(pause_ * 2 / 3 / kBuckets);
      start(b, true);
    }
    ranks_.exchange({}, {});
    gather(from_.data());
  }

 private:
  float* zeros() {
    float* const values = sum_.take();
    std::fill_n(values, from_.size() + 1, 0.0f);
    return values;
  }

  void start(std::size_t bucket, bool sends) {
    const std::size_t first = from_.size() * bucket / kBuckets;
    const std::size_t count = from_.size() * (bucket + 1) / kBuckets - first;
    const std::vector<ld::ElementRange> parts = parts_of(first, count, ranks_.size());
    const ld::ElementRange& mine = parts[static_cast<std::size_t>(ranks_.rank())];
    std::vector<ld::Communicator::Sent> sent;
    std::vector<ld::Communicator::Received> received;
    for (int r = 0; r < ranks_.size(); ++r) {
      const auto at = static_cast<std::size_t>(r);
      if (r == ranks_.rank()) continue;
      if (sends)
        sent.push_back(
            {r, std::as_bytes(std::span(from_.data() + parts[at].begin, parts[at].size()))});
      else
        received.push_back({r, std::as_writable_bytes(std::span(
                                   into_.data() + at * from_.size() + mine.begin, mine.size()))});
    }
    ranks_.start(sent, received, {});
  }

  void gather(const float* part) {
    std::vector<ld::Communicator::Sent> sent;
    std::vector<ld::Communicator::Received> received;
    for (int r = 0; r < ranks_.size(); ++r) {
      const ld::ElementRange& theirs = parts_[static_cast<std::size_t>(r)];
      if (r == ranks_.rank()) continue;
      sent.push_back({r, std::as_bytes(std::span(
                             part, parts_[static_cast<std::size_t>(ranks_.rank())].size()))});
      received.push_back(
          {r, std::as_writable_bytes(std::span(into_.data() + theirs.begin, theirs.size()))});
    }
    ranks_.exchange(sent, received);
  }

  ld::Communicator& ranks_;
  Milliseconds pause_;
  std::vector<ld::ElementRange> parts_;
  ld::Reduction sum_;
  std::vector<float> from_, into_;
};

struct Way {
  const char* name;
  std::function<void()> step;
  std::vector<double> took = {}, cpu = {};
};

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = ld::LaunchedRanks::join();
  if (!ranks || argc != 5) {
    std::fprintf(stderr,
                 "overlap_bench: expected mpirun -n 2 or more, and ELEMENTS SHARDS MILLISECONDS "
                 "STEPS\n");
    return 2;
  }
  Steps steps(*ranks, std::strtoull(argv[1], nullptr, 10), std::strtoll(argv[2], nullptr, 10),
              std::strtod(argv[3], nullptr));
  std::vector<Way> ways{{"after", [&] { steps.after(); }}, {"subtrees", [&] { steps.subtrees(); }}};
  if (steps.has_one_shard()) ways.push_back({"backward", [&] { steps.backward(); }});
  const int rounds = std::atoi(argv[4]);
  for (int round = 0; round < rounds; ++round)
    for (Way& way : ways) {
      ld::barrier(*ranks);
      const auto start = Clock::now();
      const double cpu = cpu_milliseconds();
      way.step();
      way.took.push_back(Milliseconds(Clock::now() - start).count());
      way.cpu.push_back(cpu_milliseconds() - cpu);
    }
  for (const Way& way : ways)
    if (ranks->rank() == 0)
      std::printf("| %s | %s | %s | %s | %.2f | %.2f | %.2f |\n", argv[1], argv[2], argv[3],
                  way.name, *std::min_element(way.took.begin(), way.took.end()), median(way.took),
                  median(way.cpu));
  ranks->end();
}
