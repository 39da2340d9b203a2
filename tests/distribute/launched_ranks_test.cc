// Which MPI started this process, by what its launcher left in the environment.
#include "limpid/distribute/launched_ranks.h"

#include <gtest/gtest.h>

#include <cstdlib>
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

}  // namespace
}  // namespace limpid::distribute
