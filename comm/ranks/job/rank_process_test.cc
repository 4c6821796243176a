#include "comm/ranks/job/rank_process.h"

#include <cstdlib>
#include <sstream>
#include <string>

#include "comm/ranks/job/exit_code.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

// Without a function for warnings there is nobody to warn.
TEST(RankProcessTest, DefaultOptionsTakeAnEnvironmentThatDeservesAWarning) {
  setenv("DTNN_JOB_SECRET", std::string(40, 's').c_str(), 1);
  setenv("PYMPI_ADDR", "10.0.0.7", 1);
  setenv("DTNN_JOB_PLAIN", "yes", 1);
  std::ostringstream out, err;
  const absl::Status status =
      RunAsElasticRank({.transport = Transport::kTcp, .elastic = "no range"}, {}, out, err,
                       [](Communicator&, ElasticRank&) { return absl::OkStatus(); });
  EXPECT_EQ(ExitCodeOf(status), kExitUsage) << status;
}

}  // namespace
}  // namespace dtnn
