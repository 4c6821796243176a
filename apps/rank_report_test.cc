#include "apps/rank_report.h"

#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

TEST(RankReportTest, NamesTheSlowestAndTheFastest) {
  const std::vector<double> waited = {0.4, 0.1, 0.2};
  EXPECT_EQ(FormatExposure(waited, 10),
            "Exposed communication: 2.3% of the training time on average (1.0% on rank 1, the "
            "slowest; 4.0% on rank 0, the fastest)\n");
  EXPECT_NE(FormatExposure(waited, 0).find(" 0.0% of"), std::string::npos);
}

TEST(RankReportTest, AllRanksAreInIt) {
  EXPECT_EQ(absl::OkStatus(), RunRanks(3, [](Communicator& communicator) -> absl::Status {
              DTNN_ASSIGN_OR_RETURN(const std::string text,
                                    DescribeExposure(communicator, double(communicator.rank()), 4));
              EXPECT_EQ(text,
                        "Exposed communication: 25.0% of the training time on average (0.0% on "
                        "rank 0, the slowest; 50.0% on rank 2, the fastest)\n");
              return absl::OkStatus();
            }));
}

}  // namespace
}  // namespace dtnn
