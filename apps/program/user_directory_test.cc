// Every program that names files, as `bazel run` starts it: names are relative to the user's
// directory, so a program that cannot enter it does nothing.

#include <string>

#include "apps/testing/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

class UserDirectoryTest : public ::testing::TestWithParam<const char*> {};

TEST_P(UserDirectoryTest, IsEnteredFirst) {
  const std::string program = GetParam();
  const testing::Outcome outcome =
      testing::Launch("BUILD_WORKING_DIRECTORY=/no/such/folder " + program, "--help");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
  EXPECT_THAT(outcome.text, ::testing::StartsWith(program.substr(program.rfind('/') + 1) +
                                                  ": /no/such/folder: cannot change to this"));
}

INSTANTIATE_TEST_SUITE_P(
    Programs, UserDirectoryTest,
    ::testing::Values("apps/benchmark", "apps/aggregator/aggregator", "apps/best_of/best_of",
                      "apps/check_dataset/check_dataset", "apps/convert_imagenet/convert_imagenet",
                      "apps/export/export", "apps/import/import", "apps/inspect/inspect",
                      "apps/launch/launch", "apps/make_certificates/make_certificates",
                      "apps/predict/predict", "apps/quantize/quantize", "apps/report/report",
                      "apps/scale_model/scale_model", "apps/serve/serve", "apps/simulate/simulate",
                      "apps/sweep/sweep"));

}  // namespace
}  // namespace dtnn
