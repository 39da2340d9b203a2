// An MPI module without MPI, for tests of what loads one: this process is rank 0 of FAKE_MPI_SIZE,
// and the others answer at once, and leave when it leaves. With FAKE_MPI_PAUSE, the first sign of
// life takes longer than a second, as if the process had been suspended, and the next one of the
// others is late. With FAKE_MPI_FAILS=sent:1, sending a message of 1 byte fails; with received:5,
// receiving one of 5 bytes. With FAKE_MPI_HANGS, end() does not return.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "limpid/distribute/detail/mpi_module.h"

namespace {

constexpr std::uint64_t kHostLength = 4;  // of the others' host names

std::int64_t last_number = 0;
std::atomic<int> beats = 0;  // signs of life that were sent
std::atomic<bool> leaving = false;
bool late = false;
char request, lost_request;

void* request_of(const std::string& what, int bytes) {
  const char* const fails = std::getenv("FAKE_MPI_FAILS");
  return fails && what + std::to_string(bytes) == fails ? &lost_request : &request;
}

int start() { return 0; }
int rank() { return 0; }
int size() {
  const char* const text = std::getenv("FAKE_MPI_SIZE");
  return text ? std::atoi(text) : 1;
}

void* send(const void* data, int bytes, int, int) {
  if (bytes == sizeof last_number) std::memcpy(&last_number, data, sizeof last_number);
  if (bytes == 1 && beats++ == 0 && std::getenv("FAKE_MPI_PAUSE")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1050));
    late = true;
  }
  if (bytes == 1) leaving = *static_cast<const char*>(data) == 2;
  return request_of("sent:", bytes);
}

// Lengths, host names, and signs of life: 1, and 2 of a rank that leaves.
void* receive(void* data, int bytes, int, int) {
  if (bytes == sizeof kHostLength)
    std::memcpy(data, &kHostLength, sizeof kHostLength);
  else
    std::memset(data, leaving ? 2 : 1, static_cast<std::size_t>(bytes));
  return request_of("received:", bytes);
}

int test(void* of) {
  if (of == &lost_request) return -1;
  if (!late) return 1;
  late = false;
  return 0;
}

void end() {
  while (std::getenv("FAKE_MPI_HANGS")) std::this_thread::sleep_for(std::chrono::seconds(1));
}
void abort_all(int) {}

}  // namespace

extern "C" __attribute__((visibility("default")))
const limpid::distribute::detail::MpiModule limpid_mpi_module = {
    limpid::distribute::detail::kMpiModuleVersion + FAKE_MPI_NEWER,
    start,
    rank,
    size,
    send,
    receive,
    test,
    end,
    abort_all};

// The last number of 8 bytes that was sent, and how many signs of life.
extern "C" __attribute__((visibility("default"))) std::int64_t fake_mpi_sent() {
  return last_number;
}
extern "C" __attribute__((visibility("default"))) int fake_mpi_beats() { return beats; }
