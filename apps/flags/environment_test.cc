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
  EXPECT_THAT(EnvironmentWarnings(environment, Transport::kMpi),
              ElementsAre("environment: unknown variables: PYMPI_PRTO (did you mean PYMPI_PROTO?), "
                          "PYMPI_SSLKEY (did you mean PYMPI_SSL_KEY?), PYMPI_ZZZZ"));
}

TEST(EnvironmentTest, OneLineNamesAllThatHaveNoUseWithMpi) {
  const char* const environment[] = {"PYMPI_SIZE=2", "PYMPI_PROTO=mpi", "PYMPI_ADDR=x",
                                     "PYMPI_SSL_CA=a", nullptr};
  EXPECT_THAT(
      EnvironmentWarnings(environment, Transport::kMpi),
      ElementsAre(
          "environment: PYMPI_ADDR, PYMPI_SIZE, PYMPI_SSL_CA: have no effect, since ranks talk "
          "through MPI; PYMPI_PROTO=tcp, grpc or mqtt would use them"));
  EXPECT_THAT(EnvironmentWarnings(environment, Transport::kTcp), IsEmpty());
}

TEST(EnvironmentTest, AWrongNumberOfThreadsIsNamed) {
  for (const std::string value : {"", "abc", "0", "-2", "1025", "99999999999", "2.5", "4x"}) {
    const std::string variable = "OMP_NUM_THREADS=" + value;
    const char* const environment[] = {variable.c_str(), nullptr};
    EXPECT_THAT(
        EnvironmentWarnings(environment, Transport::kMpi),
        ElementsAre("environment: " + variable + ": must be a whole number from 1 to 1024; using " +
                    std::to_string(NumThreads())));
  }
  for (const char* variable :
       {"OMP_NUM_THREADS=1", "OMP_NUM_THREADS=1024", "OMP_NUM_THREADS=4,2"}) {
    const char* const environment[] = {variable, nullptr};
    EXPECT_THAT(EnvironmentWarnings(environment, Transport::kMpi), IsEmpty()) << variable;
  }
}

TEST(EnvironmentTest, OtherVariablesAreNoBusinessOfOurs) {
  const char* const environment[] = {"PYMPI=1", "pympi_proto=tcp", "OMP_NUM_THREADS=2", nullptr};
  EXPECT_THAT(EnvironmentWarnings(environment, Transport::kMpi), IsEmpty());
}

}  // namespace
}  // namespace dtnn
