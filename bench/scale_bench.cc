// Compares the sum by the tree over shards with MPI_Allreduce of the same bytes. After both, every
// rank has the whole sum:
//
//   mpirun -n 8 scale_bench [whole|parts] [elements...]
//
// Prints the time of each, and how many elements of MPI's sum differ from the tree's in their bits.
// With `whole` every rank adds all elements, with `parts` only its part; default: depends on the
// number of elements, as in training. Requires Open MPI.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/core/tensor.h"
#include "limpid/distribute/launched_ranks.h"
#include "limpid/distribute/reduction.h"

namespace {

namespace ld = limpid::distribute;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 15;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The median over rounds of the slowest rank's time. Both ways take turns.
double median(std::vector<double> times) {
  MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure(ld::Communicator& ranks, std::size_t elements, bool whole) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<ld::ElementRange> parts;
  for (std::size_t r = 0; r < size; ++r) {
    if (whole)
      parts.push_back({0, elements});
    else
      parts.push_back({elements * r / size, elements * (r + 1) / size});
  }
  ld::Reduction sum(&ranks, {ranks.size(), parts, elements, 1});
  const limpid::Key key(static_cast<std::uint64_t>(ranks.rank()));
  std::vector<float> gradient(elements);
  for (std::size_t i = 0; i < elements; ++i) gradient[i] = key.uniform(i) - 0.5f;
  std::vector<float> by_tree(elements), by_mpi(elements);
  std::vector<double> tree_times, mpi_times;
  for (int round = 0; round < kRounds; ++round) {
    sum.begin();
    float* const values = sum.take();
    std::copy(gradient.begin(), gradient.end(), values);
    values[elements] = 0;
    ld::barrier(ranks);
    auto start = Clock::now();
    sum.add(ranks.rank(), values);
    const ld::Reduction::Sum total = sum.finish();
    std::vector<ld::Communicator::Sent> sent;
    std::vector<ld::Communicator::Received> received;
    const ld::ElementRange& mine = parts[static_cast<std::size_t>(ranks.rank())];
    std::copy(total.part, total.part + mine.size(), by_tree.data() + mine.begin);
    for (int r = 0; r < ranks.size() && !whole; ++r) {
      const ld::ElementRange& part = parts[static_cast<std::size_t>(r)];
      if (r == ranks.rank()) continue;
      sent.push_back({r, std::as_bytes(std::span(total.part, mine.size()))});
      received.push_back(
          {r, std::as_writable_bytes(std::span(by_tree.data() + part.begin, part.size()))});
    }
    ranks.exchange(sent, received);
    tree_times.push_back(milliseconds_since(start));
    ld::barrier(ranks);
    start = Clock::now();
    MPI_Allreduce(gradient.data(), by_mpi.data(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    mpi_times.push_back(milliseconds_since(start));
  }
  const double tree = median(tree_times), mpi = median(mpi_times);
  std::size_t differing = 0;
  for (std::size_t i = 0; i < elements; ++i) differing += by_tree[i] != by_mpi[i];
  if (ranks.rank() == 0)
    std::printf("| %zu | %d | %.3f | %.3f | %.2f | %zu |\n", elements, ranks.size(), tree, mpi,
                tree / mpi, differing);
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = ld::LaunchedRanks::join();
  if (!ranks) {
    std::fprintf(stderr, "scale_bench: expected mpirun -n 2 or more, got a single process\n");
    return 2;
  }
  if (ranks->rank() == 0)
    std::printf(
        "| elements | ranks | tree, ms | MPI_Allreduce, ms | ratio | elements that differ |\n"
        "|---|---|---|---|---|---|\n");
  std::vector<std::size_t> sizes;
  const std::string_view way = argc > 1 ? argv[1] : "";
  const bool forced = way == "whole" || way == "parts";
  for (int i = forced ? 2 : 1; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {1000, 10'000, 235'146, 1'000'000, 4'000'000};
  for (const std::size_t elements : sizes)
    measure(*ranks, elements, forced ? way == "whole" : ld::sum_whole(elements, ranks->size()));
  ranks->end();
}
