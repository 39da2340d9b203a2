// Which MPI started this process, by what its launcher left in the environment, and the module that
// is loaded for it.
#include "limpid/distribute/launched_ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "limpid/core/error.h"
#include "tests/distribute/build_paths.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid::distribute {
namespace {

using limpid::testing::TemporaryFolder;
using Variables = std::initializer_list<std::pair<const char*, const char*>>;

// With these variables, and none of the others that a launcher sets.
std::string launcher_with(Variables variables) {
  for (const char* const name : {"LIMPID_MPI", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK",
                                 "PMIX_RANK", "SLURM_STEP_NUM_TASKS"})
    ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  return launcher_of_environment();
}

TEST(Launcher, IsKnownByItsVariables) {
  EXPECT_EQ(launcher_with({}), "");
  EXPECT_EQ(launcher_with({{"OMPI_COMM_WORLD_SIZE", "2"}}), "openmpi");
  EXPECT_EQ(launcher_with({{"PMI_SIZE", "2"}}), "mpich");
  EXPECT_EQ(launcher_with({{"OMPI_COMM_WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(launcher_with({{"PMI_SIZE", "1"}}), "");
}

TEST(Launcher, OfSrunIsTheInterfaceThatItWasToldToOffer) {
  EXPECT_EQ(launcher_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "0"}}), "openmpi");
  EXPECT_EQ(launcher_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_RANK", "0"}}), "mpich");
  EXPECT_EQ(launcher_with({{"SLURM_STEP_NUM_TASKS", "1"}}), "");
  EXPECT_THROW(launcher_with({{"SLURM_STEP_NUM_TASKS", "4"}}), Error);
}

// A process may be asked to train alone where a launcher has started it.
TEST(Launcher, IsWhatItIsSaidToBe) {
  EXPECT_EQ(launcher_with({{"LIMPID_MPI", "none"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), "");
  EXPECT_EQ(launcher_with({{"LIMPID_MPI", "mpich"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), "mpich");
  EXPECT_EQ(launcher_with({{"LIMPID_MPI", "openmpi"}}), "openmpi");
  EXPECT_THROW(launcher_with({{"LIMPID_MPI", "lam"}}), Error);
}

// join() where a module is in the folder, or none.
void expect_no_module(const std::filesystem::path& modules, const std::string& seconds) {
  ::setenv("LIMPID_MPI", "mpich", 1);
  ::setenv("LIMPID_MPI_MODULES", modules.c_str(), 1);
  ::setenv("LIMPID_RANK_TIMEOUT", seconds.c_str(), 1);
  expect_refused(ErrorCode::kUnsupported, [] { LaunchedRanks::join(); });
}

constexpr const char* kModule = "limpid-mpi-mpich.so";

TEST(Launcher, WaitsFrom1To86400Seconds) {
  for (const char* seconds :
       {"0", "-1", "86401", "1.5", " 5", "5s", "99999999999999999999", "", "1", "86400"})
    expect_no_module("/nowhere", seconds);
}

TEST(Launcher, SaysWhyAModuleIsNone) {
  const TemporaryFolder folder;
  const std::filesystem::path module = folder / kModule;
  std::ofstream(module) << "no library";
  expect_no_module(folder.path(), "");
  // A library, but not of ours.
  std::filesystem::remove(module);
  Dl_info standard{};
  ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "getenv"), &standard), 0);
  std::filesystem::create_symlink(std::filesystem::canonical(standard.dli_fname), module);
  expect_no_module(folder.path(), "");
  // The functions of another version may take other arguments.
  std::filesystem::remove(module);
  std::filesystem::copy_file(testing::kNewerFakeMpi, module);
  expect_no_module(folder.path(), "");
}

// fake_mpi.cc is the module that LaunchedRanks::join() loads, in an environment of `size`
// processes.
class FakeMpi {
 public:
  FakeMpi(const char* size, const char* timeout) {
    std::filesystem::copy_file(testing::kFakeMpi, module());
    ::setenv("LIMPID_MPI_MODULES", folder_.path().c_str(), 1);
    ::setenv("LIMPID_RANK_TIMEOUT", timeout, 1);
    ::setenv("FAKE_MPI_SIZE", size, 1);
  }
  ~FakeMpi() {
    for (const char* const name : {"LIMPID_MPI_MODULES", "LIMPID_RANK_TIMEOUT", "FAKE_MPI_SIZE",
                                   "FAKE_MPI_PAUSE", "FAKE_MPI_FAILS", "FAKE_MPI_HANGS"})
      ::unsetenv(name);
  }
  FakeMpi(const FakeMpi&) = delete;
  FakeMpi& operator=(const FakeMpi&) = delete;

  // What a function of the module returns.
  template <class T>
  T ask(const char* function) const {
    void* const library = ::dlopen(module().c_str(), RTLD_NOW);
    return reinterpret_cast<T (*)()>(::dlsym(library, function))();
  }

 private:
  std::filesystem::path module() const { return folder_ / kModule; }

  TemporaryFolder folder_;
};

// mpirun -n 1 inside of a step of four: srun has started mpirun's daemons.
TEST(Launcher, MayHaveOneProcessInAStepOfMore) {
  const FakeMpi fake("1", "");
  EXPECT_EQ(launcher_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_SIZE", "1"}, {"PMI_RANK", "0"}}),
            "mpich");
  const std::unique_ptr<LaunchedRanks> ranks = LaunchedRanks::join();
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->size(), 1);
  launcher_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_RANK", "0"}});
  EXPECT_THROW(LaunchedRanks::join(), Error) << "four processes that do not find each other";
}

// The first rank sends its timeout to the others.
TEST(Launcher, WaitsTenSecondsUnlessItIsTold) {
  for (const auto& [told, seconds] : {std::pair{"", 10}, {"600", 600}}) {
    const FakeMpi fake("2", told);
    launcher_with({{"PMI_SIZE", "2"}});
    LaunchedRanks::join();
    EXPECT_EQ(fake.ask<std::int64_t>("fake_mpi_sent"), seconds);
  }
}

// A process that was suspended does not know whether the others were silent. If it took them for
// dead, it would end this program.
TEST(Launcher, GoesOnAfterAPauseLongerThanItsTimeout) {
  const FakeMpi fake("2", "1");
  ::setenv("FAKE_MPI_PAUSE", "1", 1);
  launcher_with({{"PMI_SIZE", "2"}});
  const std::unique_ptr<LaunchedRanks> ranks = LaunchedRanks::join();
  while (fake.ask<int>("fake_mpi_beats") < 2)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Launcher, GivesSignsOfLifeAfterOneThatCouldNotBeSent) {
  const FakeMpi fake("2", "1");
  ::setenv("FAKE_MPI_FAILS", "sent:1", 1);
  launcher_with({{"PMI_SIZE", "2"}});
  const std::unique_ptr<LaunchedRanks> ranks = LaunchedRanks::join();
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (fake.ask<int>("fake_mpi_beats") < 3 && std::chrono::steady_clock::now() < enough)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(fake.ask<int>("fake_mpi_beats"), 3);
}

// Otherwise a training would go on with numbers that never came.
TEST(Launcher, AMessageThatCannotBeReceivedIsAnErrorOfItsRank) {
  const FakeMpi fake("3", "");
  ::setenv("FAKE_MPI_FAILS", "received:5", 1);
  launcher_with({{"PMI_SIZE", "3"}});
  const std::unique_ptr<LaunchedRanks> ranks = LaunchedRanks::join();
  std::vector<std::byte> bytes(5);
  const Communicator::Received received[] = {{2, bytes}};
  try {
    ranks->exchange({}, received);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kIo);
    EXPECT_TRUE(std::string(e.what()).starts_with("rank 2 on ")) << e.what();
  }
}

// The calling test, run in another process: its exit code, and what it printed.
struct Ended {
  int status = 0;
  std::string said;
};
Ended ended_alone() {
  const TemporaryFolder folder;
  const char* const test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  ::setenv("LIMPID_ALONE", "1", 1);
  const std::string command = fmt::format("'{}' --gtest_filter=Launcher.{} > '{}' 2>&1",
                                          std::filesystem::read_symlink("/proc/self/exe").string(),
                                          test, (folder / "said").string());
  const int status = std::system(command.c_str());
  ::unsetenv("LIMPID_ALONE");
  std::ifstream file(folder / "said");
  return {WEXITSTATUS(status), {std::istreambuf_iterator<char>(file), {}}};
}

TEST(Launcher, ARankThatIsHeardNoMoreEndsTheJob) {
  if (std::getenv("LIMPID_ALONE")) {
    const std::unique_ptr<LaunchedRanks> ranks = LaunchedRanks::join();
    std::this_thread::sleep_for(std::chrono::seconds(20));
    return;
  }
  const FakeMpi fake("2", "1");
  ::setenv("FAKE_MPI_FAILS", "received:1", 1);
  launcher_with({{"PMI_SIZE", "2"}});
  const Ended ended = ended_alone();
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.said.find(" has given no sign of life for 1 s; the job ends\n"),
            std::string::npos)
      << ended.said;
}

TEST(Launcher, AbortsWithItsCode) {
  if (std::getenv("LIMPID_ALONE")) LaunchedRanks::join()->abort(9);
  const FakeMpi fake("2", "");
  launcher_with({{"PMI_SIZE", "2"}});
  EXPECT_EQ(ended_alone().status, 9);
}

TEST(Launcher, EndsWithItsCodeEvenIfMpiDoesNotEnd) {
  if (std::getenv("LIMPID_ALONE")) {
    LaunchedRanks::join()->end(7);
    return;
  }
  const FakeMpi fake("2", "1");
  ::setenv("FAKE_MPI_HANGS", "1", 1);
  launcher_with({{"PMI_SIZE", "2"}});
  const Ended ended = ended_alone();
  EXPECT_EQ(ended.status, 7);
  EXPECT_NE(ended.said.find(" is done, but its MPI has not ended within 1 s; it exits\n"),
            std::string::npos)
      << ended.said;
}

// This program where an installation would have it, which is not where it was to be.
TEST(Launcher, FindsTheModulesOfAnInstallationThatWasMoved) {
  if (std::getenv("LIMPID_MOVED")) {
    EXPECT_TRUE(LaunchedRanks::join());
    return;
  }
  const TemporaryFolder folder;
  const std::filesystem::path program = folder / "bin/program";
  std::filesystem::create_directories(program.parent_path());
  const std::filesystem::path modules =
      (program.parent_path() / testing::kModulesFromProgram).lexically_normal();
  std::filesystem::create_directories(modules);
  std::filesystem::copy_file("/proc/self/exe", program);
  std::filesystem::copy_file(testing::kFakeMpi, modules / kModule);
  ::unsetenv("LIMPID_MPI_MODULES");
  ::setenv("LIMPID_RANK_TIMEOUT", "", 1);
  ::setenv("FAKE_MPI_SIZE", "1", 1);
  launcher_with({{"LIMPID_MPI", "mpich"}, {"LIMPID_MOVED", "1"}});
  const char* const test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string command = fmt::format("'{}' --gtest_filter=Launcher.{} > '{}'",
                                          program.string(), test, (folder / "said").string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  ::unsetenv("LIMPID_MOVED");
}

}  // namespace
}  // namespace limpid::distribute
