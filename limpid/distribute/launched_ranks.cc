#include "limpid/distribute/launched_ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "limpid/core/detail/blocked_signals.h"
#include "limpid/core/error.h"
#include "limpid/distribute/detail/mpi_module.h"

namespace limpid::distribute {
namespace {

using detail::MpiModule;

constexpr int kContent = 1, kBeat = 2;  // tags

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kUnsupported, message);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

// The variable as a number; 0 without one.
long number(const char* name) { return std::strtol(variable(name).c_str(), nullptr, 10); }

// How many processes the launcher started; 0 if it does not say. Inside of an allocation srun may
// have started mpirun's daemons, so mpirun's own number counts.
long processes_of_environment() {
  const long by_mpirun = std::max(number("OMPI_COMM_WORLD_SIZE"), number("PMI_SIZE"));
  return by_mpirun > 0 ? by_mpirun : number("SLURM_STEP_NUM_TASKS");
}

// Where to look for modules: in LIMPID_MPI_MODULES if it is set; else in the folder of the program,
// and then in the module folders of an installation (the one beside the program, if it was moved).
std::vector<std::filesystem::path> module_folders() {
  std::vector<std::filesystem::path> folders;
  if (const std::string own = variable("LIMPID_MPI_MODULES"); !own.empty()) return {own};
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    folders.push_back(program.parent_path());
    folders.push_back(program.parent_path() / LIMPID_MODULES_FROM_PROGRAM);
  }
  folders.emplace_back(LIMPID_MODULES);
  return folders;
}

const MpiModule& load(const std::string& kind) {
  const std::string file = fmt::format("limpid-mpi-{}.so", kind);
  std::string why = "it is not installed";
  for (const auto& folder : module_folders()) {
    const std::filesystem::path path = folder / file;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    // RTLD_GLOBAL, because Open MPI loads plugins that use the symbols of its library.
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    const void* const table = library ? ::dlsym(library, detail::kMpiModuleSymbol) : nullptr;
    if (!table) {
      why = ::dlerror();
      continue;
    }
    const auto& module = *static_cast<const MpiModule*>(table);
    if (module.version == detail::kMpiModuleVersion) return module;
    why = fmt::format("expected version {}, got {}", detail::kMpiModuleVersion, module.version);
  }
  refuse(fmt::format("this process is one of several, but the module {} cannot be loaded: {}", file,
                     why));
}

std::chrono::seconds patience() {
  constexpr int kDefault = 10, kMost = 86400;
  const std::string text = variable("LIMPID_RANK_TIMEOUT");
  if (text.empty()) return std::chrono::seconds(kDefault);
  int seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || rest != end || seconds < 1 || seconds > kMost)
    refuse(fmt::format("LIMPID_RANK_TIMEOUT: expected 1 to {} seconds, got {}", kMost, text));
  return std::chrono::seconds(seconds);
}

long long in_seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

std::string launcher_of_environment() {
  std::string kind = variable("LIMPID_MPI");
  if (kind == "openmpi" || kind == "mpich") return kind;
  if (kind == "none") return "";
  if (!kind.empty())
    refuse(fmt::format("LIMPID_MPI: expected openmpi, mpich or none, got {}", kind));
  if (number("OMPI_COMM_WORLD_SIZE") > 1) return "openmpi";
  if (number("PMI_SIZE") > 1) return "mpich";
  if (number("SLURM_STEP_NUM_TASKS") <= 1) return "";
  if (!variable("PMIX_RANK").empty()) return "openmpi";
  if (!variable("PMI_RANK").empty()) return "mpich";
  refuse(
      fmt::format("srun started {} processes without MPI; expected srun --mpi=pmix (Open MPI) or "
                  "--mpi=pmi2 (MPICH)",
                  variable("SLURM_STEP_NUM_TASKS")));
}

// ---- heartbeats

// Heartbeats go around a ring: each rank sends them to the next rank. A rank ends the job if the
// heartbeats of the previous rank stop.
struct LaunchedRanks::Heartbeat {
  enum Sign : unsigned char { kAlive = 1, kGoodbye = 2 };

  unsigned char out = kAlive, in = 0;
  void* sending = nullptr;
  void* receiving = nullptr;
  bool leaving = false, said_goodbye = false, heard_goodbye = false;
  Clock::time_point sent{}, heard = Clock::now(), beaten = Clock::now();
  Clock::duration patience{};  // finer than seconds: parts of it are used
};

// Sends and receives the heartbeats that are due. The caller must hold mutex_.
void LaunchedRanks::beat() {
  Heartbeat& heart = *heartbeat_;
  const auto now = Clock::now();
  // This process was suspended, so it does not know whether the other rank was silent.
  if (now - heart.beaten > heart.patience / 2) heart.heard = now;
  heart.beaten = now;
  const int before = (rank() + size() - 1) % size(), after = (rank() + 1) % size();
  if (!heart.receiving && !heart.heard_goodbye)
    heart.receiving = module_.receive(&heart.in, 1, before, kBeat);
  const int received = heart.receiving ? module_.test(heart.receiving) : 0;
  if (received != 0) heart.receiving = nullptr;
  if (received > 0) {  // a failed receive is no sign of life
    heart.heard = now;
    heart.heard_goodbye = heart.in == Heartbeat::kGoodbye;
  }
  if (heart.sending && module_.test(heart.sending) != 0) heart.sending = nullptr;
  const bool due = now - heart.sent > heart.patience / 10;
  if (!heart.sending && !heart.said_goodbye && (due || heart.leaving)) {
    heart.out = heart.leaving ? Heartbeat::kGoodbye : Heartbeat::kAlive;
    heart.said_goodbye = heart.leaving;
    heart.sending = module_.send(&heart.out, 1, after, kBeat);
    heart.sent = now;
  }
  if (!heart.heard_goodbye && now - heart.heard > heart.patience) {
    std::fprintf(stderr, "limpid: %s has given no sign of life for %lld s; the job ends\n",
                 name(before).c_str(), in_seconds(heart.patience));
    abort(1);
  }
}

// ---- beginning and end

std::unique_ptr<LaunchedRanks> LaunchedRanks::join() {
  const std::string kind = launcher_of_environment();
  if (kind.empty()) return nullptr;
  const std::chrono::seconds timeout = patience();
  const MpiModule& module = load(kind);
  const long processes = processes_of_environment();  // MPI_Init may set these variables
  if (module.start() != 0) throw Error(ErrorCode::kIo, fmt::format("MPI_Init of {} failed", kind));
  // An MPI that another one's launcher started runs alone, in each of the processes.
  if (module.size() == 1 && processes > 1) {
    module.end();
    refuse(
        fmt::format("the launcher started {} processes, but {} finds only this one; expected "
                    "the launcher's own MPI (LIMPID_MPI: openmpi or mpich)",
                    processes, kind));
  }
  return std::unique_ptr<LaunchedRanks>(new LaunchedRanks(module, timeout));
}

LaunchedRanks::LaunchedRanks(const MpiModule& module, std::chrono::seconds timeout)
    : Communicator(module.rank(), module.size()), module_(module) {
  introduce();
  // The first rank's timeout, since launchers do not pass variables on to all hosts: a rank with
  // more patience than the next one would send its heartbeats too seldom.
  std::int64_t seconds = timeout.count();
  const auto of_first = from_first(*this, std::as_bytes(std::span(&seconds, 1)));
  std::memcpy(&seconds, of_first.data(), sizeof seconds);
  heartbeat_ = std::make_unique<Heartbeat>();
  heartbeat_->patience = std::chrono::seconds(seconds);
  if (size() == 1) return;
  const limpid::detail::BlockedSignals blocked;
  thread_ = std::thread([this] {
    // Between beats, lets the messages travel that were started: MPI sends only when it is called.
    constexpr std::chrono::microseconds kBetweenBeats{100'000}, kBetweenPolls{2000};
    std::unique_lock lock(mutex_);
    // A lost rank is an error, which frees the memory of messages: MPI is not called any more.
    for (Clock::time_point next{}; !stop_ && !lost_;) {
      if (Clock::now() >= next) {
        beat();
        next = Clock::now() + kBetweenBeats;
      }
      if (travelling_) {
        progress();
        travelling_ = !pending_.empty() && !lost_;
      }
      if (travelling_)
        changed_.wait_for(lock, kBetweenPolls, [this] { return stop_; });
      else
        changed_.wait_until(lock, next, [this] { return stop_ || travelling_; });
    }
  });
}

LaunchedRanks::~LaunchedRanks() { stop_thread(); }

void LaunchedRanks::stop_thread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void LaunchedRanks::introduce() {
  const std::string host = host_name();
  for (const auto& theirs : all_gather(*this, std::as_bytes(std::span(host))))
    hosts_.emplace_back(reinterpret_cast<const char*>(theirs.data()), theirs.size());
}

std::string LaunchedRanks::name(int rank) const {
  if (hosts_.empty()) return Communicator::name(rank);
  return fmt::format("rank {} on {}", rank, hosts_[static_cast<std::size_t>(rank)]);
}

void LaunchedRanks::end(int code) {
  stop_thread();
  const auto gone = [&] {
    return heartbeat_->said_goodbye && !heartbeat_->sending && heartbeat_->heard_goodbye;
  };
  heartbeat_->leaving = true;
  while (size() > 1 && !gone()) {
    {
      const std::lock_guard lock(mutex_);
      beat();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  // MPI_Finalize of MPICH over TCP does not always return (docs/scale.md).
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  const limpid::detail::BlockedSignals blocked;
  std::thread watch([&] {
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, heartbeat_->patience, [&] { return ended; })) return;
    std::fprintf(stderr, "limpid: %s is done, but its MPI has not ended within %lld s; it exits\n",
                 name(rank()).c_str(), in_seconds(heartbeat_->patience));
    std::fflush(nullptr);
    std::_Exit(code);
  });
  module_.end();
  {
    const std::lock_guard lock(mutex);
    ended = true;
  }
  changed.notify_one();
  watch.join();
}

void LaunchedRanks::abort(int code) {
  std::fflush(stdout);
  std::fflush(stderr);
  // Gives the launcher time to read what was printed: MPICH's ends the job at once.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  // MPI_Abort waits for the launcher, which may be out of reach: exit after 2 s in any case.
  std::thread([code] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::_Exit(code);
  }).detach();
  module_.abort(code);
  std::_Exit(code);
}

void LaunchedRanks::lose(int rank) {
  lost_ = rank;
  throw Error(ErrorCode::kIo, fmt::format("{} is lost: MPI cannot reach it", name(rank)));
}

// ---- messages

void LaunchedRanks::post(std::span<const Sent> sent, std::span<const Received> received,
                         bool meanwhile) {
  const std::lock_guard lock(mutex_);
  const auto add = [&](void* request, int rank) {
    if (!request) lose(rank);
    pending_.push_back({request, rank});
  };
  for (const Received& r : received)
    add(module_.receive(r.bytes.data(), static_cast<int>(r.bytes.size()), r.from, kContent),
        r.from);
  for (const Sent& s : sent)
    add(module_.send(s.bytes.data(), static_cast<int>(s.bytes.size()), s.to, kContent), s.to);
  if (!meanwhile || pending_.empty()) return;
  travelling_ = true;
  changed_.notify_one();
}

// Lets MPI work, and forgets the requests that are complete. The caller must hold mutex_.
void LaunchedRanks::progress() {
  std::erase_if(pending_, [&](const Pending& p) {
    const int state = module_.test(p.request);
    if (state < 0) lost_ = p.rank;
    return state != 0;
  });
}

// Polls all requests. The pauses between polls grow, so that a waiting rank leaves the CPU to
// others.
void LaunchedRanks::complete() {
  constexpr int kEager = 200, kBeats = 64;
  for (int idle = 0;;) {
    {
      const std::lock_guard lock(mutex_);
      travelling_ = false;
      const std::size_t before = pending_.size();
      progress();
      if (lost_) lose(*lost_);
      if (pending_.empty()) return;
      idle = pending_.size() < before ? 0 : idle + 1;
      if (idle % kBeats == kBeats - 1 && heartbeat_) beat();
    }
    if (idle > kEager)
      std::this_thread::sleep_for(std::chrono::microseconds(idle > 10 * kEager ? 500 : 50));
    else if (idle > 0)
      ::sched_yield();
  }
}

}  // namespace limpid::distribute
