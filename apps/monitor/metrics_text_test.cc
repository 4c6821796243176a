#include "apps/monitor/metrics_text.h"

#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

TEST(MetricsTextTest, AFamilyIsItsHeadAndALinePerValue) {
  MetricsText text;
  text.Family("a_total", "counter", "So many.");
  text.Add({}, int64_t{1} << 60);
  text.Add({{"code", "200"}, {"model", "net"}}, int64_t{2});
  text.One("b", "gauge", "So much.", 0.25);
  EXPECT_EQ(text.text(),
            "# HELP a_total So many.\n# TYPE a_total counter\na_total 1152921504606846976\n"
            "a_total{code=\"200\",model=\"net\"} 2\n"
            "# HELP b So much.\n# TYPE b gauge\nb 0.25\n");
}

TEST(MetricsTextTest, NumbersThatAreNotFiniteAreThoseOfPrometheus) {
  MetricsText text;
  text.Family("x", "gauge", "X.");
  text.Add({}, double(NAN));
  text.Add({}, double(INFINITY));
  text.Add({}, double(-INFINITY));
  EXPECT_THAT(text.text(), HasSubstr("\nx NaN\nx +Inf\nx -Inf\n"));
}

TEST(MetricsTextTest, BucketsOfAHistogramCountAllUpToTheirBounds) {
  constexpr double kBounds[] = {0.5, 1};
  Histogram histogram(kBounds);
  for (const double value : {0.5, 0.6, 1.0, 7.0}) histogram.Add(value);
  MetricsText text;
  text.Family("s", "histogram", "S.");
  text.Add({{"phase", "p"}}, histogram);
  text.Add({}, Histogram(kBounds));
  EXPECT_THAT(text.text(), HasSubstr("s_bucket{phase=\"p\",le=\"0.5\"} 1\n"
                                     "s_bucket{phase=\"p\",le=\"1\"} 3\n"
                                     "s_bucket{phase=\"p\",le=\"+Inf\"} 4\n"
                                     "s_sum{phase=\"p\"} 9.1\ns_count{phase=\"p\"} 4\n"
                                     "s_bucket{le=\"0.5\"} 0\n"));
}

// Neither a line nor a label of its own.
TEST(MetricsTextTest, HostileLabelsStayOneValue) {
  MetricsText text;
  text.Family("x", "gauge", "X.");
  text.Add({{"name", "a\"} 1\nfake 2\n\\\x01\xff"}}, int64_t{3});
  text.Add({{"name", std::string(1000, 'n')}}, int64_t{4});
  const std::string& lines = text.text();
  EXPECT_EQ(std::ranges::count(lines, '\n'), 4);
  EXPECT_THAT(lines, HasSubstr("\nx{name=\"a\\\"} 1\\\\nfake 2\\\\n\\\\"));
  EXPECT_LT(lines.size(), 2 * MetricsText::kMostLabel);
}

}  // namespace
}  // namespace dtnn
