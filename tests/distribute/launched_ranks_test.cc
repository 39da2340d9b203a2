// Which MPI started this process, by what its launcher left in the environment.
#include "limpid/distribute/launched_ranks.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>

#include "limpid/core/error.h"

namespace limpid::distribute {
namespace {

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

// What join() says where a module is in the folder, or none.
std::string refusal(const std::filesystem::path& modules, const char* seconds) {
  ::setenv("LIMPID_MPI", "mpich", 1);
  ::setenv("LIMPID_MPI_MODULES", modules.c_str(), 1);
  ::setenv("LIMPID_RANK_TIMEOUT", seconds, 1);
  try {
    LaunchedRanks::join();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
    return e.what();
  }
  return "";
}

constexpr const char* kNoModule =
    "this process is one of several, but the module limpid-mpi-mpich.so cannot be loaded: ";

TEST(Launcher, WaitsFrom1To86400Seconds) {
  for (const char* seconds : {"0", "-1", "86401", "1.5", " 5", "5s", "99999999999999999999"})
    EXPECT_EQ(refusal("/nowhere", seconds),
              std::string("LIMPID_RANK_TIMEOUT: expected 1 to 86400 seconds, got ") + seconds);
  for (const char* seconds : {"", "1", "86400"})
    EXPECT_EQ(refusal("/nowhere", seconds), std::string(kNoModule) + "it is not installed");
}

TEST(Launcher, SaysWhyAModuleIsNone) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("modules" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path module = folder / "limpid-mpi-mpich.so";
  std::ofstream(module) << "no library";
  EXPECT_TRUE(refusal(folder, "").starts_with(kNoModule + module.string())) << refusal(folder, "");
  // A library, but not of ours.
  std::filesystem::remove(module);
  Dl_info standard{};
  ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "getenv"), &standard), 0);
  std::filesystem::create_symlink(std::filesystem::canonical(standard.dli_fname), module);
  const std::string said = refusal(folder, "");
  EXPECT_TRUE(said.starts_with(kNoModule)) << said;
  EXPECT_NE(said.find("undefined symbol: limpid_mpi_module"), std::string::npos) << said;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace limpid::distribute
