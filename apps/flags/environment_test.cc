#include "apps/flags/environment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(EnvironmentTest, OtherVariablesAreNoBusinessOfOurs) {
  const char* const environment[] = {"PYMPI=1", "pympi_proto=tcp", "OMP_NUM_THREADS=2", nullptr};
  EXPECT_THAT(EnvironmentWarnings(environment), IsEmpty());
}

}  // namespace
}  // namespace dtnn
