#include "apps/flags/environment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EnvironmentTest, OneLineNamesAllUnknownVariables) {
  const char* const environment[] = {"HOME=/",        "PYMPI_PRTO=tcp", "MY_PYMPI_PROTO=x",
                                     "PYMPI_ZZZZ=\n", "PYMPI_SSLKEY=x", nullptr};
  EXPECT_THAT(EnvironmentWarnings(environment),
              ElementsAre("environment: unknown variables: PYMPI_PRTO (did you mean PYMPI_PROTO?), "
                          "PYMPI_SSLKEY (did you mean PYMPI_SSL_KEY?), PYMPI_ZZZZ"));
}

TEST(EnvironmentTest, OneLineNamesAllThatHaveNoUseYet) {
  const char* const environment[] = {"PYMPI_SIZE=2", "PYMPI_PROTO=tcp", nullptr};
  EXPECT_THAT(EnvironmentWarnings(environment),
              ElementsAre("environment: PYMPI_PROTO, PYMPI_SIZE: not available in this build yet; "
                          "ranks talk through MPI"));
}

TEST(EnvironmentTest, AWrongNumberOfThreadsIsNamed) {
  for (const std::string value : {"", "abc", "0", "-2", "1025", "99999999999", "2.5", "4x"}) {
    const std::string variable = "OMP_NUM_THREADS=" + value;
    const char* const environment[] = {variable.c_str(), nullptr};
    EXPECT_THAT(
        EnvironmentWarnings(environment),
        ElementsAre("environment: " + variable + ": must be a whole number from 1 to 1024; using " +
                    std::to_string(NumThreads())));
  }
  for (const char* variable :
       {"OMP_NUM_THREADS=1", "OMP_NUM_THREADS=1024", "OMP_NUM_THREADS=4,2"}) {
    const char* const environment[] = {variable, nullptr};
    EXPECT_THAT(EnvironmentWarnings(environment), IsEmpty()) << variable;
  }
}

TEST(EnvironmentTest, OtherVariablesAreNoBusinessOfOurs) {
  const char* const environment[] = {"PYMPI=1", "pympi_proto=tcp", "OMP_NUM_THREADS=2", nullptr};
  EXPECT_THAT(EnvironmentWarnings(environment), IsEmpty());
}

}  // namespace
}  // namespace dtnn
