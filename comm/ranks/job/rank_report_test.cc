#include "comm/ranks/job/rank_report.h"

#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

TEST(RankReportTest, NamesTheSlowestAndTheFastest) {
  const std::vector<double> shares = {0.04, 0.01, 0.02};
  EXPECT_EQ(FormatExposure(shares),
            "Exposed communication: 2.3% of the training time on average (1.0% on rank 1, the "
            "slowest; 4.0% on rank 0, the fastest)\n");
}

TEST(RankReportTest, OneRankIsNeitherSlowestNorFastest) {
  const std::vector<double> shares = {0.0213};
  EXPECT_EQ(FormatExposure(shares), "Exposed communication: 2.1% of the training time\n");
}

TEST(RankReportTest, EveryRankTellsOfItsOwnTime) {
  EXPECT_EQ(absl::OkStatus(), RunRanks(3, [](Communicator& communicator) -> absl::Status {
              const double rank = communicator.rank();
              DTNN_ASSIGN_OR_RETURN(const std::string text,
                                    DescribeExposure(communicator, 3 * rank, 4 + 2 * rank));
              EXPECT_EQ(text,
                        "Exposed communication: 41.7% of the training time on average (0.0% on "
                        "rank 0, the slowest; 75.0% on rank 2, the fastest)\n");
              // A run that had nothing left to train.
              DTNN_ASSIGN_OR_RETURN(const std::string none, DescribeExposure(communicator, 0, 0));
              EXPECT_NE(none.find(" 0.0% of"), std::string::npos) << none;
              return absl::OkStatus();
            }));
}

}  // namespace
}  // namespace dtnn
