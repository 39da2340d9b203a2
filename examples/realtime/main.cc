// A network in an audio thread: 64 samples in, one number out, every 1.33 ms. The thread has a CPU
// and, where the system lets it, a real-time priority of its own; between the first block and the
// last it allocates nothing, which is counted, and takes no lock.
#include <limpid/limpid.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <span>
#include <thread>
#include <vector>

namespace lp = limpid;
using Clock = std::chrono::steady_clock;

// ---- every allocation of C++ is counted

std::atomic<long> allocations{0};

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

// ---- what the audio thread calls

constexpr std::size_t kBlock = 64;                    // samples, at 48 kHz
constexpr std::chrono::nanoseconds kPeriod{1333333};  // of a block

class Processor {
 public:
  // Compiles the network and allocates what its runs need.
  explicit Processor(const lp::Function& network) : workspace_(lp::compile(network)) {}

  float operator()(std::span<const float, kBlock> samples) noexcept {
    float result = 0;
    const void* inputs[] = {samples.data()};
    void* outputs[] = {&result};
    workspace_.run(inputs, outputs);
    return result;
  }

 private:
  lp::Workspace workspace_;
};

// ---- the thread

// On the first CPU that the process may use, and before all that is not real-time. Either may be
// refused; the thread then runs as any other.
bool become_realtime() {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  sched_getaffinity(0, sizeof allowed, &allowed);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  CPU_SET(cpu, &one);
  const sched_param priority{.sched_priority = 80};
  return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0 &&
         pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) == 0 &&
         mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
}

struct Report {
  bool realtime = false;
  long allocations = 0;
  std::vector<double> microseconds;  // of each block
  float last = 0;
};

void audio_thread(Processor& process, Report& report) {
  report.realtime = become_realtime();
  std::array<float, kBlock> samples{};
  const long allocated_before = allocations;
  auto due = Clock::now();
  for (std::size_t block = 0; block < report.microseconds.size(); ++block) {
    std::this_thread::sleep_until(due += kPeriod);
    for (std::size_t i = 0; i < kBlock; ++i)
      samples[i] = std::sin(0.05f * static_cast<float>(block * kBlock + i));

    const auto begin = Clock::now();
    report.last = process(samples);
    report.microseconds[block] =
        std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  report.allocations = allocations - allocated_before;
}

int main() {
  const auto net = lp::nn::mlp({kBlock, 64, 64, 1}, lp::relu);
  Processor process(lp::bind(net.function(), net.init(lp::Key{0})));

  Report report;
  report.microseconds.resize(500);
  std::thread(audio_thread, std::ref(process), std::ref(report)).join();

  auto& times = report.microseconds;
  std::sort(times.begin(), times.end());
  std::printf("result %.6f\n", static_cast<double>(report.last));
  std::printf("allocations between the blocks: %ld\n", report.allocations);
  std::printf("%s: median %.2f us, 99 %% %.2f us, longest %.2f us of %.0f us\n",
              report.realtime ? "real-time thread" : "thread without real-time priority",
              times[times.size() / 2], times[times.size() * 99 / 100], times.back(),
              std::chrono::duration<double, std::micro>(kPeriod).count());
}
