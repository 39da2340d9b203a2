// LaunchedRanks: the processes that mpirun, mpiexec or srun started, as a Communicator. What speaks
// MPI is a module for each kind of MPI, loaded only where a launcher's environment says that there
// are several ranks; without one a program depends on no MPI.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "limpid/distribute/communicator.h"

namespace limpid::distribute {

namespace detail {
struct MpiModule;
}

class LaunchedRanks : public Communicator {
 public:
  // nullptr where this process was started alone. LIMPID_MPI says which kind it is, where the
  // environment does not tell: "openmpi", "mpich", or "none". Throws kUnsupported where a launcher
  // started several processes and there is no module for its MPI; kIo where MPI does not begin.
  static std::unique_ptr<LaunchedRanks> join();

  ~LaunchedRanks() override;

  // Ends in good order: every rank calls it, after its last exchange.
  void end();
  // Ends the processes of all ranks, this one among them.
  [[noreturn]] void abort(int code);

  std::string name(int rank) const override;  // "rank 3 on node7"
  // The ranks of this host, this one among them, and its place in their order.
  int ranks_here() const { return here_; }
  int place_here() const { return place_here_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Heart;

  explicit LaunchedRanks(const detail::MpiModule& module);
  void transfer(std::span<const Sent> sent, std::span<const Received> received,
                const Arrived& arrived) override;
  void introduce();
  void beat();
  [[noreturn]] void lose(int rank) const;

  const detail::MpiModule& module_;
  std::vector<std::string> hosts_;
  int here_ = 1, place_here_ = 0;
  std::mutex mutex_;  // of the module, and of the heart
  std::unique_ptr<Heart> heart_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // keeps beating while this rank computes
};

// The kind of MPI whose launcher started this process as one of several, "openmpi" or "mpich";
// empty where it is alone. Throws kUnsupported where srun started several without any MPI.
std::string launcher_of_environment();

}  // namespace limpid::distribute
