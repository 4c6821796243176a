#include "apps/serve/metrics.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricsTest, IsWhatPrometheusReads) {
  Metrics metrics;
  metrics.CountRequest("net", 200);
  metrics.CountRequest("net", 200);
  metrics.CountRequest("", 404);
  metrics.CountPrediction("net", 0.001);
  metrics.CountPrediction("net", 0.0015);
  metrics.CountPrediction("net", 99);
  metrics.CountBatch("net", 32);
  metrics.CountBatch("net", 33);
  metrics.CountReload("net", false);
  const std::vector<Metrics::ModelState> states = {{.name = "a\"b", .version = 3, .queued = 7}};
  const std::string text = metrics.Text(states);
  for (const char* line :
       {"# TYPE dtnn_requests_total counter\n", "dtnn_requests_total{model=\"\",code=\"404\"} 1\n",
        "dtnn_requests_total{model=\"net\",code=\"200\"} 2\n",
        "# TYPE dtnn_request_seconds histogram\n",
        "dtnn_request_seconds_bucket{model=\"net\",le=\"5e-04\"} 0\n",
        "dtnn_request_seconds_bucket{model=\"net\",le=\"0.001\"} 1\n",
        "dtnn_request_seconds_bucket{model=\"net\",le=\"0.002\"} 2\n",
        "dtnn_request_seconds_bucket{model=\"net\",le=\"10\"} 2\n",
        "dtnn_request_seconds_bucket{model=\"net\",le=\"+Inf\"} 3\n",
        "dtnn_request_seconds_count{model=\"net\"} 3\n",
        "dtnn_request_seconds_sum{model=\"net\"} 99.0025\n",
        "dtnn_batch_samples_bucket{model=\"net\",le=\"32\"} 1\n",
        "dtnn_batch_samples_bucket{model=\"net\",le=\"64\"} 2\n",
        "dtnn_batch_samples_sum{model=\"net\"} 65\n", "dtnn_queued_samples{model=\"a\\\"b\"} 7\n",
        "dtnn_model_version{model=\"a\\\"b\"} 3\n",
        "dtnn_reloads_total{model=\"net\",result=\"failed\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("\n\n")));
}

}  // namespace
}  // namespace dtnn
