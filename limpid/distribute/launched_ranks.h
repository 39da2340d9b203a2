// LaunchedRanks: the processes started by mpirun, mpiexec or srun, as a Communicator. A separate
// module for each MPI implementation is loaded only if the launcher's environment shows several
// ranks, so the program itself does not depend on MPI.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
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
  // nullptr if this process was started alone. The environment variable LIMPID_MPI selects the MPI
  // implementation if it cannot be detected: "openmpi", "mpich", or "none". Throws kUnsupported if
  // a launcher started several processes and there is no module for its MPI, or if
  // LIMPID_RANK_TIMEOUT is no number of seconds; kIo if MPI fails to start.
  static std::unique_ptr<LaunchedRanks> join();

  ~LaunchedRanks() override;

  // Ends MPI normally. Every rank must call it after its last exchange. If MPI does not end within
  // the timeout, the process exits with `code`.
  void end(int code = 0);
  // Terminates the processes of all ranks, including this one.
  [[noreturn]] void abort(int code);

  std::string name(int rank) const override;  // "rank 3 on node7"

 private:
  using Clock = std::chrono::steady_clock;
  struct Heartbeat;
  struct Pending {
    void* request;
    int rank;
  };

  LaunchedRanks(const detail::MpiModule& module, std::chrono::seconds timeout);
  void post(std::span<const Sent> sent, std::span<const Received> received,
            bool meanwhile) override;
  void complete() override;
  void progress();
  void introduce();
  void beat();
  void stop_thread();
  [[noreturn]] void lose(int rank);

  const detail::MpiModule& module_;
  std::vector<std::string> hosts_;
  std::mutex mutex_;  // for the module and all below
  std::unique_ptr<Heartbeat> heartbeat_;
  std::vector<Pending> pending_;  // messages
  bool travelling_ = false;       // some of them, while this rank computes
  std::optional<int> lost_;       // a rank that MPI cannot reach
  bool stop_ = false;
  std::condition_variable changed_;  // travelling_ or stop_
  std::thread thread_;  // while this rank computes: sends heartbeats, lets messages travel
};

// The MPI implementation that started this process as one of several, "openmpi" or "mpich"; empty
// if it is alone. Throws kUnsupported if srun started several processes without MPI.
std::string launcher_of_environment();

}  // namespace limpid::distribute
